"""Rate limit for new connections: `max.connection.creation.rate`.

Who comes too soon is not refused but waits, in the backlog. A second's worth may come at once, so that clients that
start together are not held up; what they took in advance is made up for before the next one is let in.
"""

from odradek.network.limits import UNLIMITED


class CreationRate:
    """Shared by the listeners that it is for."""

    __slots__ = ("_allowance", "_seen_s", "per_second")

    def __init__(self, per_second: int = UNLIMITED) -> None:
        self.per_second = per_second
        self._allowance = float(per_second)
        self._seen_s = 0.0

    def taken(self, now_s: float) -> float:
        """One was let in: for how many seconds nobody else may be."""
        if self.per_second >= UNLIMITED:
            return 0.0
        elapsed_s, self._seen_s = max(0.0, now_s - self._seen_s), now_s
        self._allowance = min(float(self.per_second), self._allowance + elapsed_s * self.per_second) - 1
        return max(0.0, -self._allowance / self.per_second)
