"""The reader that Spark's streaming engine calls: where a stream begins, where the next micro-batch ends, its ranges.

It lives in one Python process on the driver for as long as the stream. Offsets are the connector's JSON, so that they
look the same in checkpoints and in progress reports.

Spark writes the end of a batch into the checkpoint before it runs the batch, but not the beginning of the first one.
It calls `initialOffset` twice for the first batch, before `latestOffset` and again before `partitions`, and once more
when that batch is repeated after a restart; it does not tell a Python source where the checkpoint is. A stream has one
initial offset nevertheless:

- A reader resolves it once.
- A partition that begins at the latest offset is empty in the first batch. Its beginning then is its end, which is in
  the checkpoint. The other kinds of beginnings are found again after a restart.
- The first batch has only partitions of the initial offset. Those that appear later are new to the second batch, which
  reads them from their beginning, however often the first one was repeated.
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
    Offsets,
    offsets_from_json,
    offsets_to_json,
)
from odradek.spark.options import SourceOptions
from odradek.spark.places import Places, StartingOffsets
from odradek.spark.plain_errors import plain_errors
from odradek.spark.portable import Portable
from odradek.spark.range_reader import plan, read, report_data_loss
from odradek.spark.ranges import OffsetRange, limit_rate, records_waiting

Json = Mapping[str, Mapping[str, int]]


class RefusingReader(DataSourceStreamReader, SupportsTriggerAvailableNow, metaclass=Portable):
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


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow, metaclass=Portable):
    """Names and arguments are Spark's."""

    def __init__(
        self, options: SourceOptions, places: Places | None = None, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._options = options
        self._clock_s = clock_s
        self._places = places or Places(options)
        settings = consumer_settings(options.settings)
        self._lag_group = None if options.lag_group is None else LagGroup(options.lag_group, settings)
        #: The initial offset, and the end of the first batch; None for a stream that goes on from its checkpoint.
        self._start: StartingOffsets | None = None
        self._first_end: Offsets | None = None
        self._latest: Offsets = {}
        #: Up to where trigger availableNow goes; None before it has been looked up.
        self._target: Offsets | None = None
        self._is_available_now = False
        #: When the last batch went that minOffsetsPerTrigger could have held back.
        self._triggered_s: float | None = None

    @plain_errors()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        if self._start is None:
            self._start = self._places.starting_offsets()
        return offsets_to_json(self._start.offsets)

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
        if self._start is None or self._first_end is not None or started != self._start.offsets:
            return offsets_to_json(self._end(started, self._latest, limit))
        self._first_end = self._end(started, self._latest_of_first_batch(self._start), limit)
        return offsets_to_json(self._first_end)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return offsets_to_json(self._latest) if self._latest else None

    @plain_errors()
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        started, ends = offsets_from_json(start), offsets_from_json(end)
        if self._start is not None and started == self._start.offsets:
            # After a restart Spark has the end of the first batch from the checkpoint, and has not called latestOffset.
            self._first_end = ends if self._first_end is None else self._first_end
            if ends == self._first_end:
                return plan(self._options, self._ranges_of_first_batch(self._start, ends))
        return plan(self._options, self._ranges(started, ends))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return read(self._options, partition)

    def commit(self, end: Json) -> None:
        self._tell(offsets_from_json(end))

    def _end(self, started: Offsets, latest: Offsets, limit: ReadLimit) -> Offsets:
        if isinstance(limit, ReadAllAvailable):
            return latest
        if self._is_held_back(started):
            return started
        if isinstance(limit, ReadMaxRows):
            begins = self._with_new(started, latest)
            ends = {partition: end for partition, end in latest.items() if partition in begins}
            return limit_rate(limit.max_rows, begins, ends)
        return latest

    def _latest_of_first_batch(self, start: StartingOffsets) -> Offsets:
        """Raise what is wrong with the beginning of a new stream before it is in the checkpoint."""
        if start.problem is not None:
            raise InputError(start.problem)
        latest = {
            partition: start.offsets[partition] if partition in start.at_latest else end
            for partition, end in self._latest.items()
            if partition in start.offsets
        }
        for loss in losses(start.offsets, start.offsets, latest):
            report_data_loss(self._options, loss)
        return latest

    def _ranges_of_first_batch(self, start: StartingOffsets, ends: Offsets) -> list[OffsetRange]:
        """When the batch is repeated after a restart, the initial offset was resolved again. A partition that begins
        beyond the end in the checkpoint was at its end, and empty, or all of it was deleted, which the next batch
        reports, since it begins at that end. Partitions without an end are new, and left to the next batch."""
        gone = [str(partition) for partition in sorted(ends) if partition not in start.offsets]
        if gone:
            report_data_loss(self._options, f"{', '.join(gone)}: not there any more")
        for partition in sorted(start.at_latest):
            if ends.get(partition, 0) > start.offsets[partition]:
                loss = f"{partition} went back from offset {ends[partition]} to {start.offsets[partition]}"
                report_data_loss(self._options, loss)
        return [
            OffsetRange(partition, start.offsets[partition], end)
            for partition, end in sorted(ends.items())
            if partition in start.offsets and partition not in start.at_latest
        ]

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
