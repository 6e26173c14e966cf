"""Processes and their children, to be killed without a word."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it has ended
                # The name stands in parentheses, and may hold anything; the parent comes after the state.
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == pid:
                    found.append(int(entry.name))
    return found


def descendants(pid: int) -> list[int]:
    """Children before their own children."""
    found = children(pid)
    for each in found:
        found.extend(children(each))
    return found


def command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def kill(*pids: int) -> None:
    """kill -9; one that is gone already is no matter."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_tree(pid: int) -> None:
    """It, and all that it started, however they have grouped themselves."""
    kill(pid, *descendants(pid))
