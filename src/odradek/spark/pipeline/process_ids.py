"""Processes by their ids, which are those of a driver, a JVM or another run, and not of children of this process."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

#: How long a process that was killed may take to be gone.
_KILL_TIMEOUT_S = 30.0
_PAUSE_S = 0.05


def is_alive(pid: int) -> bool:
    """Return whether the process exists and is not a zombie, which holds no files and no locks."""
    if pid <= 0:
        return False
    is_foreign = False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        is_foreign = True  # it exists, and /proc may hide it (hidepid)
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return is_foreign or not Path("/proc/self/stat").exists()  # a system without /proc cannot say more
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


def end_process(pid: int) -> None:
    """Kill a process that is not a child of this one, and wait until it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    deadline_s = time.monotonic() + _KILL_TIMEOUT_S
    while is_alive(pid) and time.monotonic() < deadline_s:
        time.sleep(_PAUSE_S)
