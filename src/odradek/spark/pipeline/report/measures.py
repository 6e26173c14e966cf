"""The numbers and the lines of a report, from the samples of its runs. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from odradek.spark.pipeline.report.charts import Line, Point
from odradek.spark.pipeline.report.gaps import Gap
from odradek.spark.pipeline.report.runs import Run
from odradek.spark.pipeline.watch.history import FlowHistory

#: Points of a line: more than a screen shows are not needed.
_POINTS_MAX = 240
#: Time between two points of a line, at least.
_BUCKET_MIN_MS = 2_000
_SPARK_POINTS = 60
#: Between two batches there may be so much time before their line is broken.
_JOINED_MS = 15_000


@dataclass(slots=True)
class FlowTotals:
    flow: str
    rows_in: int = 0
    rows_out: int | None = None
    batches: int = 0
    batch_ms: int = 0
    longest_batch_ms: int = 0
    parts_ms: dict[str, int] = field(default_factory=dict)
    lag: int | None = None
    lag_max: int | None = None
    lag_ms_max: int | None = None
    state_rows: int = 0
    state_bytes: int = 0
    watermark_ms: int | None = None
    restarts: int = 0
    #: Rows read per second, from the start to the end of the report.
    rates: list[float | None] = field(default_factory=list)

    @property
    def mean_batch_ms(self) -> float | None:
        return self.batch_ms / self.batches if self.batches else None


@dataclass(frozen=True, slots=True)
class Lateness:
    """Age of the oldest unprocessed record of the flow that is furthest behind, over the time in which it is known."""

    p50_ms: float
    p95_ms: float
    max_ms: int
    #: Whether the largest is at least so large.
    is_minimum: bool


@dataclass(frozen=True, slots=True)
class Peak:
    records: int
    time_ms: int
    flow: str


def flow_totals(runs: Sequence[Run]) -> list[FlowTotals]:
    """Return the totals of all flows, by name."""
    totals_by_flow: dict[str, FlowTotals] = {}
    for sample in _samples(runs):
        totals = totals_by_flow.setdefault(sample.flow, FlowTotals(sample.flow))
        totals.rows_in += sample.rows_in
        if sample.rows_out is not None:
            totals.rows_out = (totals.rows_out or 0) + sample.rows_out
        totals.batches += sample.batches
        totals.batch_ms += sample.batch_ms
        totals.longest_batch_ms = max(totals.longest_batch_ms, sample.longest_batch_ms)
        for part, part_ms in sample.parts_ms.items():
            totals.parts_ms[part] = totals.parts_ms.get(part, 0) + part_ms
        if sample.lag is not None:
            totals.lag, totals.lag_max = sample.lag, max(totals.lag_max or 0, sample.lag)
        if sample.lag_ms is not None:
            totals.lag_ms_max = max(totals.lag_ms_max or 0, sample.lag_ms)
        totals.state_rows, totals.state_bytes = sample.state_rows, sample.state_bytes
        totals.watermark_ms = sample.watermark_ms or totals.watermark_ms
    for run in runs:
        for event in run.events:
            if event.KIND == "restart" and (restarted := totals_by_flow.get(getattr(event, "flow", ""))) is not None:
                restarted.restarts += 1
    by_flow: dict[str, list[FlowHistory]] = {}
    for sample in _samples(runs):
        by_flow.setdefault(sample.flow, []).append(sample)
    bucket_ms = _bucket_ms(runs, _SPARK_POINTS)
    for name, samples in by_flow.items():
        totals_by_flow[name].rates = _rates(samples, runs[0].start_ms, bucket_ms, runs[-1].end_ms, "rows_in")
    return [totals_by_flow[name] for name in sorted(totals_by_flow)]


def lateness(runs: Sequence[Run], pauses: Sequence[Gap]) -> Lateness | None:
    """Return the lateness without pauses, which would make it look better.

    None where no flow reads topics, or brokers never answered."""
    by_time = {time_ms: sample for time_ms, sample in _largest_lags(runs).items() if not _is_in(pauses, time_ms)}
    if not by_time:
        return None
    weighted = sorted((sample.lag_ms or 0, sample.interval_ms) for sample in by_time.values())
    largest = max(by_time.values(), key=lambda sample: sample.lag_ms or 0)
    return Lateness(
        _weighted_percentile(weighted, 0.5),
        _weighted_percentile(weighted, 0.95),
        largest.lag_ms or 0,
        largest.is_lag_minimum,
    )


def busy_ms(runs: Sequence[Run], pauses: Sequence[Gap]) -> int:
    """Return how long the pipeline had something to do."""
    paused_ms, until_ms = 0, runs[0].start_ms
    for gap in pauses:
        paused_ms += max(gap.end_ms - max(gap.start_ms, until_ms), 0)
        until_ms = max(until_ms, gap.end_ms)
    return max(runs[-1].end_ms - runs[0].start_ms - paused_ms, 0)


def _is_in(gaps: Sequence[Gap], time_ms: int) -> bool:
    return any(gap.start_ms <= time_ms <= gap.end_ms for gap in gaps)


def largest_lag(runs: Sequence[Run]) -> Peak | None:
    lagging = [sample for sample in _samples(runs) if sample.lag]
    if not lagging:
        return None
    largest = max(lagging, key=lambda sample: sample.lag or 0)
    return Peak(largest.lag or 0, largest.time_ms, largest.flow)


def _weighted_percentile(weighted: Sequence[tuple[int, int]], share: float) -> float:
    remaining = share * sum(weight for _, weight in weighted)
    for value, weight in weighted:
        remaining -= weight
        if remaining <= 0:
            return value
    return weighted[-1][0]


def _largest_lags(runs: Sequence[Run]) -> dict[int, FlowHistory]:
    """The sample of the flow that is furthest behind, by time."""
    largest: dict[int, FlowHistory] = {}
    for sample in _samples(runs):
        if sample.lag_ms is not None:
            previous = largest.get(sample.time_ms)
            if previous is None or (previous.lag_ms or 0) < sample.lag_ms:
                largest[sample.time_ms] = sample
    return largest


# Lines


def rate_line(runs: Sequence[Run], name: str, field_name: str) -> Line:
    """Rows per second of all flows; `field_name` is rows_in or rows_out."""
    start_ms, bucket_ms = runs[0].start_ms, _bucket_ms(runs)
    values = _rates(_samples(runs), start_ms, bucket_ms, runs[-1].end_ms, field_name)
    return Line(name, _points(values, bucket_ms))


def lag_line(runs: Sequence[Run], name: str) -> Line:
    values = [(sample.time_ms, float(sample.lag)) for sample in _samples(runs) if sample.lag is not None]
    return _largest_line(runs, name, values)


def late_line(runs: Sequence[Run], name: str) -> Line:
    """Return the age of the oldest unprocessed record, in seconds."""
    values = [(sample.time_ms, sample.lag_ms / 1_000) for sample in _samples(runs) if sample.lag_ms is not None]
    return _largest_line(runs, name, values)


def batch_line(runs: Sequence[Run], name: str) -> Line:
    """The longest batch, in seconds."""
    values = [(sample.time_ms, sample.longest_batch_ms / 1_000) for sample in _samples(runs) if sample.batches]
    return _largest_line(runs, name, values, _JOINED_MS)


def mean_batch_line(runs: Sequence[Run], name: str) -> Line:
    start_ms, bucket_ms = runs[0].start_ms, _bucket_ms(runs)
    count = _bucket_count(start_ms, bucket_ms, runs[-1].end_ms)
    batches, spent_ms = [0] * count, [0] * count
    for sample in _samples(runs):
        number = _bucket(sample.time_ms, start_ms, bucket_ms, count)
        batches[number] += sample.batches
        spent_ms[number] += sample.batch_ms
    values = [spent / ran / 1_000 if ran else None for spent, ran in zip(spent_ms, batches, strict=True)]
    return Line(name, _points(values, bucket_ms, _JOINED_MS))


def _largest_line(runs: Sequence[Run], name: str, values: Iterable[tuple[int, float]], joined_ms: int = 0) -> Line:
    start_ms, bucket_ms = runs[0].start_ms, _bucket_ms(runs)
    largest: list[float | None] = [None] * _bucket_count(start_ms, bucket_ms, runs[-1].end_ms)
    for time_ms, value in values:
        number = _bucket(time_ms, start_ms, bucket_ms, len(largest))
        largest[number] = max(largest[number] or 0.0, value)
    return Line(name, _points(largest, bucket_ms, joined_ms))


def _rates(
    samples: Iterable[FlowHistory], start_ms: int, bucket_ms: int, end_ms: int, field_name: str
) -> list[float | None]:
    """The rows of a batch are spread over the time that it took: otherwise the line would show when batches end."""
    rows: list[float | None] = [None] * _bucket_count(start_ms, bucket_ms, end_ms)
    for sample in samples:
        until = _bucket(sample.time_ms, start_ms, bucket_ms, len(rows))
        took_ms = max(sample.interval_ms, sample.batch_ms, bucket_ms)
        since = _bucket(sample.time_ms - took_ms, start_ms, bucket_ms, len(rows))
        known_since = _bucket(sample.time_ms - sample.interval_ms, start_ms, bucket_ms, len(rows))
        for number in range(min(known_since, until), until + 1):
            rows[number] = rows[number] or 0.0
        count = getattr(sample, field_name) or 0
        if count:
            share = count / (until - since + 1)
            for number in range(since, until + 1):
                rows[number] = (rows[number] or 0.0) + share
    return [None if count is None else count * 1_000 / bucket_ms for count in rows]


def _points(values: Sequence[float | None], bucket_ms: int, joined_ms: int = 0) -> list[Point]:
    """A line is broken where nothing is known for more than one bucket and for longer than `joined_ms`."""
    points: list[Point] = []
    unknown = 0
    for number, value in enumerate(values):
        if value is None:
            unknown += 1
            continue
        if points and unknown > 1 and unknown * bucket_ms > joined_ms:
            points.append(Point(number * bucket_ms / 1_000, None))
        unknown = 0
        points.append(Point((number + 0.5) * bucket_ms / 1_000, value))
    return points


def _bucket_ms(runs: Sequence[Run], points_max: int = _POINTS_MAX) -> int:
    longest_ms = max((sample.interval_ms for sample in _samples(runs)), default=0)
    duration_ms = runs[-1].end_ms - runs[0].start_ms
    return max(_BUCKET_MIN_MS, math.ceil(duration_ms / points_max), min(longest_ms, duration_ms // 20))


def _bucket_count(start_ms: int, bucket_ms: int, end_ms: int) -> int:
    return max((end_ms - start_ms) // bucket_ms + 1, 1)


def _bucket(time_ms: int, start_ms: int, bucket_ms: int, count: int) -> int:
    return min(max((time_ms - start_ms) // bucket_ms, 0), count - 1)


def _samples(runs: Sequence[Run]) -> list[FlowHistory]:
    return [sample for run in runs for sample in run.samples]
