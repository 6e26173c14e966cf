"""docs/settings.md is what the tables of settings say today."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "make_settings_page.py", "--check"], check=False)
    assert done.returncode == 0, "run tools/make_settings_page.py"
