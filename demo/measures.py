"""What the plots show, from the book and from when rows became visible in the tables. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from odradek.spark.pipeline.report.charts import Line, Point

_BUCKET_S = 2
_PERCENTILES = (50, 95, 99)

#: About as long as an update.
_OUT_WINDOW_S = 10


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Rows that became visible in a table together."""

    visible_ms: int
    #: When each of them was sent.
    sent_ms: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Percentiles:
    p50_s: float
    p95_s: float
    p99_s: float


def rate_in(acked_ms: Iterable[int], opened_ms: int) -> Line:
    """Acknowledged events a second."""
    counts = Counter((each - opened_ms) // (1_000 * _BUCKET_S) for each in acked_ms)
    # The last bucket is not full.
    points = [Point(_BUCKET_S * (number + 0.5), counts[number] / _BUCKET_S) for number in range(max(counts, default=0))]
    return Line("acknowledged by the brokers", points)


def rate_out(arrivals: Sequence[Arrivals], opened_ms: int) -> Line:
    """Rows that became visible in the last seconds: an update makes many of them visible at once."""
    counts: Counter[int] = Counter()
    for each in arrivals:
        counts[(each.visible_ms - opened_ms) // 1_000] += len(each.sent_ms)
    points = []
    for second in range(max(counts, default=-1) + 1):
        last = sum(counts[each] for each in range(second - _OUT_WINDOW_S + 1, second + 1))
        points.append(Point(second + 1.0, last / _OUT_WINDOW_S))
    return Line(f"visible in the tables, mean of {_OUT_WINDOW_S} s", points)


def latencies(arrivals: Sequence[Arrivals], opened_ms: int) -> list[Line]:
    """From being sent to being visible, by when it was sent."""
    sent, late = _sent_and_latency(arrivals)
    buckets = (sent - opened_ms) // (1_000 * _BUCKET_S)
    points: list[list[Point]] = [[] for _ in _PERCENTILES]
    for number in np.unique(buckets):
        values = np.percentile(late[buckets == number], _PERCENTILES)
        for line, value in zip(points, values, strict=True):
            line.append(Point(_BUCKET_S * (int(number) + 0.5), float(value) / 1_000))
    return [Line(f"p{each}", line) for each, line in zip(_PERCENTILES, points, strict=True)]


def overall(arrivals: Sequence[Arrivals]) -> Percentiles:
    _, late = _sent_and_latency(arrivals)
    if not len(late):
        return Percentiles(0.0, 0.0, 0.0)
    return Percentiles(*(float(each) / 1_000 for each in np.percentile(late, _PERCENTILES)))


def _sent_and_latency(arrivals: Sequence[Arrivals]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    if not arrivals:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    sent = np.concatenate([each.sent_ms for each in arrivals])
    late = np.concatenate([each.visible_ms - each.sent_ms for each in arrivals])
    return sent, late
