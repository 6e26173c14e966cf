"""Rows per second of a flow, over the time that passes and not only while its batches run. Pure."""

from collections import deque
from dataclasses import dataclass, field

#: Rates are means of about this time: shorter than a minute, so that a change shows soon; longer than most batches.
_WINDOW_MS = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    rows_in_per_s: float = 0.0
    rows_out_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Batch:
    ended_ms: int
    rows_in: int
    rows_out: int


@dataclass(slots=True)
class Rates:
    """The batches of one flow. `began_ms`: when the flow was first heard of."""

    began_ms: int
    _batches: deque[_Batch] = field(default_factory=deque)

    def add(self, ended_ms: int, rows_in: int, rows_out: int) -> None:
        self._batches.append(_Batch(ended_ms, rows_in, rows_out))

    def at(self, now_ms: int, *, is_idle: bool) -> Rate:
        """Return the rows of the batches that ended in the window, per second since the batch before them.

        A flow whose batches take longer than the window has the rate of its last batch. While the next batch is due the
        time since the last one does not count; when it takes longer than those before it, the rate falls. A flow that
        has nothing to read has none.
        """
        batches = self._batches
        retained = 0 if is_idle else 1
        while len(batches) > retained and batches[0].ended_ms <= now_ms - _WINDOW_MS:
            self.began_ms = batches.popleft().ended_ms
        if not batches:
            return Rate()
        took_ms = batches[-1].ended_ms - self.began_ms
        counted_ms = (
            now_ms - self.began_ms if is_idle else max(took_ms, now_ms - self.began_ms - took_ms // len(batches))
        )
        seconds = max(counted_ms, 1) / 1_000
        return Rate(
            round(sum(batch.rows_in for batch in batches) / seconds, 1),
            round(sum(batch.rows_out for batch in batches) / seconds, 1),
        )
