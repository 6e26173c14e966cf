"""Queue times and durations of operations. The controller has one thread; these show whether it keeps up."""

from collections import deque
from dataclasses import dataclass, field

#: Events in the averages: a few minutes of a busy controller.
_WINDOW = 1_000

#: `controller.performance.always.log.threshold.ms`
ALWAYS_LOG_MS = 2_000


@dataclass(frozen=True, slots=True)
class SlowEvent:
    name: str
    queue_ms: int
    elapsed_ms: int


@dataclass(slots=True)
class Performance:
    always_log_ms: int = ALWAYS_LOG_MS
    events: int = 0
    timed_out: int = 0
    max_queue_ms: int = 0
    slowest: SlowEvent | None = None
    _queue_ms: deque[int] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    _elapsed_ms: deque[int] = field(default_factory=lambda: deque(maxlen=_WINDOW))

    def record_timeout(self) -> None:
        self.timed_out += 1

    def record(self, name: str, queue_ms: int, elapsed_ms: int) -> SlowEvent | None:
        """Record an event, and return it if it was slow enough for a log line."""
        self.events += 1
        self._queue_ms.append(queue_ms)
        self._elapsed_ms.append(elapsed_ms)
        self.max_queue_ms = max(self.max_queue_ms, queue_ms)
        event = SlowEvent(name, queue_ms, elapsed_ms)
        if self.slowest is None or elapsed_ms > self.slowest.elapsed_ms:
            self.slowest = event
        return event if elapsed_ms >= self.always_log_ms else None

    @property
    def average_queue_ms(self) -> float:
        return sum(self._queue_ms) / len(self._queue_ms) if self._queue_ms else 0.0

    @property
    def average_elapsed_ms(self) -> float:
        return sum(self._elapsed_ms) / len(self._elapsed_ms) if self._elapsed_ms else 0.0
