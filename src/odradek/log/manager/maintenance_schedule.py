"""Schedule of periodic jobs, as data.

The core has no thread and no timer. It keeps named jobs with their next due time on the monotonic clock; the driver
asks `next_due_ms`, waits that long in whatever way it likes, asks `due` and runs what it is given. A job that was
missed (a paused process) is due once, not once for every interval that passed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from odradek.common.failures import check

#: Java's Long.MAX_VALUE is how Kafka's settings say "never"; an interval of it leaves the job out.
NEVER_MS = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do. `in_worker` says whether it may take long and so belongs off the loop."""

    name: str
    interval_ms: int
    run: Callable[[], None]
    in_worker: bool = False


class Schedule:
    __slots__ = ("_due_ms", "_jobs")

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._due_ms: dict[str, int] = {}

    def add(self, job: Job, first_due_ms: int) -> None:
        """A job of the same name is replaced. An interval of `NEVER_MS` keeps the job but never calls it."""
        check(job.interval_ms > 0, f"{job.name}: an interval of {job.interval_ms} ms would never end")
        self._jobs[job.name] = job
        if job.interval_ms >= NEVER_MS:
            self._due_ms.pop(job.name, None)
        else:
            self._due_ms[job.name] = first_due_ms

    def remove(self, name: str) -> None:
        self._jobs.pop(name, None)
        self._due_ms.pop(name, None)

    def reschedule(self, name: str, due_ms: int) -> None:
        """Call the job at `due_ms` instead of when its interval would have it; its interval counts from there."""
        if name in self._jobs:
            self._due_ms[name] = due_ms

    def next_due_ms(self) -> int | None:
        """The earliest moment at which `due` has something; None if it never will."""
        return min(self._due_ms.values(), default=None)

    def due(self, now_ms: int) -> list[Job]:
        """The jobs whose time has come, longest overdue first. Each is set to its next time as it is handed out."""
        names = sorted((due_ms, name) for name, due_ms in self._due_ms.items() if due_ms <= now_ms)
        jobs = [self._jobs[name] for _, name in names]
        for job in jobs:
            self._due_ms[job.name] = now_ms + job.interval_ms
        return jobs

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs.values())
