"""Spark's driver as a child process: commands go in as lines, events come out as lines, read by a thread of their own.

It ends when its standard input does, and its JVM with it; `odradek.spark.pipeline.driver` is the other side.
"""

import json
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import IO

from odradek.common.failures import check
from odradek.spark.pipeline import events
from odradek.spark.pipeline.driver import Job


@dataclass(frozen=True, slots=True)
class DriverEvent:
    """A driver reported an event."""

    driver: "DriverProcess"
    event: events.Event


@dataclass(frozen=True, slots=True)
class DriverExited:
    """A driver has ended: nothing more comes from it."""

    driver: "DriverProcess"


class DriverProcess:
    def __init__(
        self,
        command: Sequence[str],
        job: Job,
        log: IO[bytes] | None,
        deliver: Callable[[DriverEvent | DriverExited], None],
    ) -> None:
        """`deliver` is called by another thread."""
        self._deliver = deliver
        inherited = () if job.kept_fd is None else (job.kept_fd,)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            pass_fds=inherited,
            start_new_session=True,  # Ctrl-C in a terminal is for us
        )
        threading.Thread(target=self._listen, daemon=True).start()
        self.command(json.dumps(asdict(job)))

    @property
    def pid(self) -> int:
        return self._process.pid

    def command(self, line: str) -> None:
        """A driver that is gone does not hear it; that it is gone, `deliver` is told."""
        check(self._process.stdin is not None, "the driver has a pipe")
        with suppress(BrokenPipeError):
            self._process.stdin.write(line + "\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]

    def wait(self, timeout_s: float) -> bool:
        """Return whether it has ended in time."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        self._process.kill()

    def reap(self) -> int:
        """Close what belongs to a driver that has ended, or ends now; return its exit status."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        return self._process.wait()

    def _listen(self) -> None:
        check(self._process.stdout is not None, "the driver has a pipe")
        with suppress(ValueError):  # the stream was closed meanwhile
            for line in self._process.stdout or ():
                self._deliver(DriverEvent(self, events.from_line(line)))
        self._deliver(DriverExited(self))
