"""Lock of a project: two runs that write to the same checkpoints and tables would spoil them.

The lock is a file that the run keeps open, and with it Spark's driver and its JVM. When the run is killed those two end
soon after; a new run waits for that.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from odradek.common.failures import InputError
from odradek.spark.pipeline.process_ids import is_alive
from odradek.spark.pipeline.project import Project

#: For a JVM to notice that it is alone, and to end.
_PATIENCE_S = 60.0
_PAUSE_S = 0.1


@contextmanager
def alone(project: Project) -> Iterator[int]:
    """Yield the lock, to be passed to whatever must have ended before the next run begins. Raises InputError."""
    with (project.ours / "lock").open("a+") as lock:
        _take(lock, project)
        try:
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
        except OSError as error:
            raise InputError(f"{lock.name}: {error.strerror}") from None
        yield lock.fileno()


def _take(lock: IO[str], project: Project) -> None:
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        lock.seek(0)
        pid = lock.read().strip()
        if is_alive(int(pid or 0)) or time.monotonic() > deadline_s:
            raise InputError(f"{project.name} is already running, as process {pid}")
        time.sleep(_PAUSE_S)
