"""The index of handlers is what the handlers declare, in the order of the keys."""

import subprocess
import sys
from pathlib import Path

from odradek.api.dispatch.handler_index import SERVED

ROOT = Path(__file__).parents[3]


def test_the_index_is_up_to_date() -> None:
    completed = subprocess.run([sys.executable, ROOT / "tools" / "make_handler_index.py", "--check"], check=False)
    assert completed.returncode == 0, "run tools/make_handler_index.py"


def test_apis_are_in_the_order_of_their_keys() -> None:
    keys = [api.key for api in SERVED]
    assert keys == sorted(keys)
