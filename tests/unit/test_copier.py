"""A copier whose client waits without end is not waited for: it ends, and says where it was."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]

STUCK = """
import threading
from support.loads.copier import ended_if_stuck

def wait_without_end():
    threading.Event().wait()

with ended_if_stuck(60):
    pass
with ended_if_stuck(0.2):
    wait_without_end()
"""


def test_who_is_stuck_ends_and_says_where() -> None:
    done = subprocess.run([sys.executable, "-c", STUCK], cwd=TESTS, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "wait_without_end" in done.stderr
