"""Timers as data: a heap of deadlines that a driver polls.

Most deadlines are cancelled before they come (a session that lives, a write that is committed). One that is cancelled
stays in the heap until it comes up or the dead outnumber the living.
"""

import heapq
from collections.abc import Callable

#: Dead deadlines that are tolerated besides as many as there are live ones.
_SPARE = 64


class Deadline:
    __slots__ = ("action", "at_ms", "sequence")

    def __init__(self, at_ms: int, sequence: int, action: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.sequence = sequence
        #: None when it has come, or will not come.
        self.action: Callable[[], None] | None = action

    def __lt__(self, other: "Deadline") -> bool:
        return (self.at_ms, self.sequence) < (other.at_ms, other.sequence)


class Deadlines:
    def __init__(self) -> None:
        self._heap: list[Deadline] = []
        self._live = 0
        self._sequence = 0
        #: Told when `next_ms` has come nearer.
        self.on_nearer: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return self._live

    @property
    def next_ms(self) -> int | None:
        """Time of the earliest deadline."""
        heap = self._heap
        while heap and heap[0].action is None:
            heapq.heappop(heap)
        return heap[0].at_ms if heap else None

    def add(self, at_ms: int, action: Callable[[], None]) -> Deadline:
        self._sequence += 1
        deadline = Deadline(at_ms, self._sequence, action)
        heapq.heappush(self._heap, deadline)
        self._live += 1
        if self._heap[0] is deadline:
            self.on_nearer()
        return deadline

    def cancel(self, deadline: Deadline) -> None:
        """Nothing happens if it has come already."""
        if deadline.action is None:
            return
        deadline.action = None
        self._live -= 1
        if len(self._heap) > 2 * self._live + _SPARE:
            self._heap = [kept for kept in self._heap if kept.action is not None]
            heapq.heapify(self._heap)

    def run(self, now_ms: int) -> None:
        """Run the timers that are due, in order. Timers that they add run with the next call."""
        last = self._sequence
        while self._heap and self._heap[0].at_ms <= now_ms and self._heap[0].sequence <= last:
            deadline = heapq.heappop(self._heap)
            action, deadline.action = deadline.action, None
            if action is not None:
                self._live -= 1
                action()
