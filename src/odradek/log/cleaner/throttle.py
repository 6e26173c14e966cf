"""A limit on bytes per second that says how long to wait, and never waits itself.

The caller reports what it moved; once an interval is full the rate so far is compared with the limit, and the answer
is the pause that brings the average back to it. Kafka's cleaner counts reads and writes together, shared by all its
threads; so does this. Two threads that report in the same instant may lose a report, which an average can bear.
"""

from odradek.common.failures import check

#: How long bytes are gathered before the rate is judged: short enough to be smooth, long enough to be cheap.
CHECK_INTERVAL_MS = 300

_MS_IN_SECOND = 1000


class Throttle:
    __slots__ = ("_observed_bytes", "_period_start_ms", "bytes_per_second")

    def __init__(self, bytes_per_second: float, now_ms: int) -> None:
        """`bytes_per_second` may be infinite; `now_ms` is the monotonic clock here and everywhere below."""
        check(bytes_per_second > 0, "a rate of zero would wait for ever")
        self.bytes_per_second = bytes_per_second
        self._period_start_ms = now_ms
        self._observed_bytes = 0

    def observe(self, moved_bytes: int, now_ms: int) -> int:
        """Milliseconds to pause before moving more; 0 most of the time."""
        self._observed_bytes += moved_bytes
        elapsed_ms = now_ms - self._period_start_ms
        if elapsed_ms <= CHECK_INTERVAL_MS or not self._observed_bytes:
            return 0
        due_ms = self._observed_bytes * _MS_IN_SECOND / self.bytes_per_second
        pause_ms = max(0, round(due_ms - elapsed_ms))
        # The next period begins when the pause is over, so that the pause is not counted as idle time.
        self._period_start_ms = now_ms + pause_ms
        self._observed_bytes = 0
        return pause_ms
