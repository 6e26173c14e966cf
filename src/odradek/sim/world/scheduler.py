"""Virtual time: events in the order of their times, ties in the order they were scheduled.

Nothing in a simulation waits; the clock jumps from one event to the next. The order depends on nothing but the seed.
"""

import heapq
from collections.abc import Callable
from zlib import crc32


class Exhausted(AssertionError):
    """A condition did not hold within the limits of simulated time or events."""


class Scheduler:
    def __init__(self) -> None:
        self.now_ms = 0
        self.events = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._digest = 0

    def at(self, time_ms: int, action: Callable[[], None]) -> None:
        """Schedule an action; one in the past happens now."""
        self._sequence += 1
        heapq.heappush(self._queue, (max(time_ms, self.now_ms), self._sequence, action))

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        self.at(self.now_ms + delay_ms, action)

    def every(self, period_ms: Callable[[], int], action: Callable[[], None]) -> None:
        """Repeat an action; the period is computed each time."""

        def again() -> None:
            action()
            self.after(period_ms(), again)

        self.after(period_ms(), again)

    def trace(self, line: str) -> None:
        """Record an event. The digest of all of them is what two runs are compared by."""
        self._digest = crc32(line.encode(), self._digest)

    @property
    def digest(self) -> str:
        return f"{self._digest:08x}"

    def step(self) -> None:
        self.now_ms, _, action = heapq.heappop(self._queue)
        self.events += 1
        action()

    def run_for(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while self._queue and self._queue[0][0] <= end_ms:
            self.step()
        self.now_ms = end_ms

    def run_until(
        self, condition: Callable[[], bool], what: str, *, limit_ms: int = 120_000, limit_events: int = 500_000
    ) -> int:
        """Run until the condition holds. Return the simulated duration in milliseconds."""
        began_ms, last_event = self.now_ms, self.events + limit_events
        while not condition():
            if not self._queue or self._queue[0][0] > began_ms + limit_ms or self.events >= last_event:
                raise Exhausted(f"not within {limit_ms} ms and {limit_events} events: {what}")
            self.step()
        return self.now_ms - began_ms
