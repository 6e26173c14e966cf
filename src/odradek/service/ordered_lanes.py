"""Ordered concurrency: messages of one lane one after the other, lanes side by side, all of it bounded. Pure.

A lane is a key of a partition, or the whole partition, or one message alone, as a handler's `order` says. `take` gives
the next message that may run: in the order in which they came, passing over lanes that are busy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from odradek.common.failures import check

Job = TypeVar("Job")


class Lanes(Generic[Job]):
    """Lanes of one handler."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        #: Lanes that have something to run and are not busy, in the order of their oldest message.
        self._ready: deque[Hashable] = deque()
        #: What waits in each lane; a lane that is busy stays here even if nothing waits.
        self._waiting: dict[Hashable, deque[Job]] = {}
        self._busy: set[Hashable] = set()
        self._queued = 0

    @property
    def running(self) -> int:
        return len(self._busy)

    @property
    def queued(self) -> int:
        return self._queued

    def add(self, lane: Hashable, job: Job) -> None:
        waiting = self._waiting.get(lane)
        if waiting is None:
            waiting = self._waiting[lane] = deque()
            self._ready.append(lane)
        waiting.append(job)
        self._queued += 1

    def take(self) -> tuple[Hashable, Job] | None:
        """None if nothing may run before something ends."""
        if not self._ready or len(self._busy) >= self._concurrency:
            return None
        lane = self._ready.popleft()
        self._busy.add(lane)
        self._queued -= 1
        return lane, self._waiting[lane].popleft()

    def done(self, lane: Hashable) -> None:
        check(lane in self._busy, f"lane {lane!r} is not busy")
        self._busy.remove(lane)
        if self._waiting[lane]:
            self._ready.append(lane)
        else:
            del self._waiting[lane]
