"""What the engine of Spark's streams asks: where the stream begins, how far the next micro-batch goes, its ranges.

It lives in one Python process on the driver for as long as the stream. Offsets are the connector's JSON, so that they
look the same in checkpoints and in progress reports.

Spark writes the end of a batch into the checkpoint before it runs it, but not the beginning of the first batch: it asks
for that again after a crash, when `latest` is somewhere else. So a stream that begins at the latest offsets begins with
an empty batch: its end stands in the checkpoint, and the next one begins there, whatever `latest` is by then.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from odradek.client.settings import consumer_settings
from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.spark.lag import LagGroup
from odradek.spark.limits import (
    AllSince,
    At,
    Everywhere,
    Limit,
    Offsets,
    Since,
    Special,
    offsets_from_json,
    offsets_to_json,
)
from odradek.spark.options import SourceOptions
from odradek.spark.places import Places
from odradek.spark.plain_errors import plain_errors
from odradek.spark.range_reader import plan, read, report_data_loss
from odradek.spark.ranges import OffsetRange, limit_rate, records_waiting

Json = Mapping[str, Mapping[str, int]]


class RefusingReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says what is wrong with the options as soon as Spark asks where the stream begins or goes on. If there were
    no reader at all, Spark 4.2 would not say why, but fail at stopping it."""

    def __init__(self, what: str) -> None:
        self._what = what

    @plain_errors()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        raise InputError(self._what)

    @plain_errors()
    def latestOffset(self, start: Json, limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        raise InputError(self._what)

    @plain_errors()
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        raise InputError(self._what)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        raise InputError(self._what)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        pass


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Names and arguments are Spark's."""

    def __init__(
        self, options: SourceOptions, places: Places | None = None, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._options = options
        self._clock_s = clock_s
        self._places = places or Places(options)
        settings = consumer_settings(options.settings)
        self._lag_group = None if options.lag_group is None else LagGroup(options.lag_group, settings)
        #: Where the stream begins, if this process has said so, and it was at the latest offsets.
        self._beginning: Offsets | None = None
        self._has_begun = False
        self._latest: Offsets = {}
        #: Up to where trigger availableNow goes; None before it has been looked up.
        self._target: Offsets | None = None
        self._is_available_now = False
        #: When the last batch went that minOffsetsPerTrigger could have held back.
        self._triggered_s: float | None = None

    @plain_errors()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        found = self._places.resolve(self._options.starting, "startingOffsets")
        if begins_at_latest(self._options.starting):
            self._beginning = found
        return offsets_to_json(found)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Spark has none that is both: what is said of the least is looked up in the options."""
        if self._options.offsets_per_trigger_max is not None:
            return ReadMaxRows(self._options.offsets_per_trigger_max)
        if self._options.offsets_per_trigger_min is not None:
            return ReadMinRows(self._options.offsets_per_trigger_min)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._is_available_now = True

    @plain_errors()
    def latestOffset(self, start: Json, limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        started = offsets_from_json(start)
        self._tell(started)
        self._latest = self._look_up(started)
        if started == self._beginning and not self._has_begun:
            self._has_begun = True
            return offsets_to_json(started)
        if isinstance(limit, ReadAllAvailable):
            return offsets_to_json(self._latest)
        if self._is_held_back(started):
            return offsets_to_json(started)
        if isinstance(limit, ReadMaxRows):
            begins = self._with_new(started, self._latest)
            ends = {partition: end for partition, end in self._latest.items() if partition in begins}
            return offsets_to_json(limit_rate(limit.max_rows, begins, ends))
        return offsets_to_json(self._latest)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return offsets_to_json(self._latest) if self._latest else None

    @plain_errors()
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        started, ends = offsets_from_json(start), offsets_from_json(end)
        if self._is_first_again(started, ends):
            return []
        return plan(self._options, self._ranges(started, ends))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return read(self._options, partition)

    def commit(self, end: Json) -> None:
        self._tell(offsets_from_json(end))

    def _is_first_again(self, started: Offsets, ends: Offsets) -> bool:
        """Whether it is the first batch, after a crash: it ends where `latest` was then. Spark has that end from the
        checkpoint and has not asked for another; of a later batch such an end would be a loss."""
        went_back = any(ends.get(each, -1) < offset for each, offset in started.items())
        return started == self._beginning and not self._has_begun and went_back

    def _tell(self, done: Offsets) -> None:
        if self._lag_group is not None:
            self._lag_group.tell(done)

    def _look_up(self, started: Offsets) -> Offsets:
        if not self._is_available_now:
            return self._places.latest(started)
        if self._target is None:
            self._target = self._places.latest(started)
        return self._target

    def _is_held_back(self, started: Offsets) -> bool:
        """Whether a batch waits for minOffsetsPerTrigger. availableNow would end without what is left, so that it does
        not wait."""
        at_least = self._options.offsets_per_trigger_min
        if at_least is None or self._is_available_now:
            return False
        now_s = self._clock_s()
        has_waited = self._triggered_s is None or now_s - self._triggered_s >= self._options.trigger_delay_max_ms / 1000
        if not has_waited and records_waiting(started, self._latest) < at_least:
            return True
        self._triggered_s = now_s
        return False

    def _ranges(self, started: Offsets, ends: Offsets) -> list[OffsetRange]:
        begins = self._with_new(started, ends)
        for loss in losses(started, begins, ends):
            report_data_loss(self._options, loss)
        return [OffsetRange(each, begins[each], end) for each, end in sorted(ends.items()) if each in begins]

    def _with_new(self, started: Offsets, ends: Offsets) -> dict[TopicPartition, int]:
        """Partitions that are new begin at their earliest offsets."""
        new = [each for each in ends if each not in started]
        return {**started, **(self._places.earliest(new) if new else {})}


def begins_at_latest(limit: Limit) -> bool:
    if isinstance(limit, At):
        return Special.LATEST in limit.offsets.values()
    if isinstance(limit, Since | AllSince):
        return limit.falls_back
    return limit == Everywhere(Special.LATEST)


def losses(started: Offsets, begins: Offsets, ends: Offsets) -> Iterator[str]:
    """What a batch cannot read any more. `begins` has what was `started`, and the earliest offsets of what is new."""
    gone = [str(each) for each in sorted({**started, **ends}) if each not in ends or each not in begins]
    if gone:
        yield f"{', '.join(gone)}: not there any more"
    for partition, begin in sorted(begins.items()):
        if partition not in started and begin:
            yield f"{partition} is new and begins at offset {begin}"
        if ends.get(partition, begin) < begin:
            yield f"{partition} went back from offset {begin} to {ends[partition]}"
