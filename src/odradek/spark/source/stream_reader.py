"""The reader that Spark's streaming engine calls for the start of a stream, the end of a micro-batch and its ranges.

It lives in one Python process on the driver for as long as the stream runs. Offsets are in the connector's JSON, so
that they look the same in checkpoints and in progress reports.

Spark writes the end of a batch into the checkpoint before it runs the batch, but not the beginning of the first one.
It calls `initialOffset` twice for the first batch, before `latestOffset` and again before `partitions`, and once more
when that batch is repeated after a restart; a Python source does not learn the location of the checkpoint. A stream
nevertheless has one initial offset:

- A reader resolves it once.
- A partition that begins at the latest offset is empty in the first batch. Its beginning then is its end, which is in
  the checkpoint. Other beginnings resolve to the same offsets after a restart.
- The first batch has only partitions of the initial offset. Partitions that appear later are new to the second batch,
  which reads them from their beginning, however often the first one was repeated.

Offsets have the ids of their topics (`StreamOffset`). A topic with another id than at the end of the last batch was
deleted and created again: that is data loss, and with `failOnDataLoss=false` the next batch reads the new topic from
its beginning. Tasks read a range only from the topic with the id that it was planned for.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from odradek.client.direct.ranges import replaced_text
from odradek.client.settings.settings import consumer_settings
from odradek.common.failures import InputError
from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.spark.plain_errors import plain_errors
from odradek.spark.portable import Portable
from odradek.spark.pyspark_features import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from odradek.spark.source.lag_group import LagGroup
from odradek.spark.source.offset_limits import Offsets, StreamOffset, offsets_from_json
from odradek.spark.source.offset_resolver import OffsetResolver, StartingOffsets
from odradek.spark.source.options import SourceOptions
from odradek.spark.source.range_reader import plan_grouped, read, report_data_loss, report_replaced_topic
from odradek.spark.source.ranges import OffsetRange, limit_rate, records_waiting

Json = Mapping[str, Mapping[str, int]]


class InvalidOptionsReader(DataSourceStreamReader, SupportsTriggerAvailableNow, metaclass=Portable):
    """Reader that raises the problem with the options in the first call.

    If creating the reader failed instead, Spark would not show the reason, but an error from stopping the query. Spark
    4.1 calls `latestOffset` without arguments."""

    def __init__(self, problem: str) -> None:
        self._problem = problem

    @plain_errors()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        raise InputError(self._problem)

    @plain_errors()
    def latestOffset(self, start: Json | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:  # noqa: N802
        raise InputError(self._problem)

    @plain_errors()
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        raise InputError(self._problem)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        raise InputError(self._problem)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        pass


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow, metaclass=Portable):
    """Reader of one stream; names and arguments of the methods are Spark's."""

    def __init__(
        self,
        options: SourceOptions,
        resolver: OffsetResolver | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._clock_s = clock_s
        self._resolver = resolver or OffsetResolver(options)
        settings = consumer_settings(options.settings)
        self._lag_group = None if options.lag_group is None else LagGroup(options.lag_group, settings)
        #: The initial offset, and the end of the first batch; None for a stream that continues from its checkpoint.
        self._start: StartingOffsets | None = None
        self._first_end: StreamOffset | None = None
        self._latest = StreamOffset({})
        #: The end of a stream with trigger availableNow; None before it has been looked up.
        self._target: StreamOffset | None = None
        self._is_available_now = False
        #: Time of the last batch to which minOffsetsPerTrigger applied.
        self._triggered_s: float | None = None

    @plain_errors()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        if self._start is None:
            self._start = self._resolver.starting_offsets()
        return self._start.stream_offset.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of the options. Spark has no limit with minimum and maximum: `_is_held_back` applies the
        minimum."""
        if self._options.offsets_per_trigger_max is not None:
            return ReadMaxRows(self._options.offsets_per_trigger_max)
        if self._options.offsets_per_trigger_min is not None:
            return ReadMinRows(self._options.offsets_per_trigger_min)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._is_available_now = True

    @plain_errors()
    def latestOffset(self, start: Json, limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        started = StreamOffset.from_json(start)
        self._latest = self._look_up(started)
        current = self._without_replaced(started, self._latest.topic_ids)
        self._commit_lag(current.offsets)
        if self._start is None or self._first_end is not None or started != self._start.stream_offset:
            return self._end(started, current.offsets, self._latest.offsets, limit).to_json()
        latest = self._latest_of_first_batch(self._start, current.offsets)
        self._first_end = self._end(started, current.offsets, latest, limit)
        return self._first_end.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return self._latest.to_json() if self._latest.offsets else None

    @plain_errors()
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        started, ends = StreamOffset.from_json(start), StreamOffset.from_json(end)
        if self._start is not None and started == self._start.stream_offset:
            # After a restart Spark has the end of the first batch from the checkpoint, and has not called latestOffset.
            self._first_end = ends if self._first_end is None else self._first_end
            if ends == self._first_end:
                return plan_grouped(self._options, self._ranges_of_first_batch(self._start, ends))
        return plan_grouped(self._options, self._ranges(started, ends))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return read(self._options, partition)

    def commit(self, end: Json) -> None:
        self._commit_lag(offsets_from_json(end))

    def _end(self, started: StreamOffset, current: Offsets, latest: Offsets, limit: ReadLimit) -> StreamOffset:
        """Return the end of a batch that begins at `current`, which is `started` without topics that were replaced."""
        if not isinstance(limit, ReadAllAvailable):
            if self._is_held_back(current):
                return started
            if isinstance(limit, ReadMaxRows):
                begins = self._with_new(current, latest)
                ends = {partition: end for partition, end in latest.items() if partition in begins}
                return self._latest.at(limit_rate(limit.max_rows, begins, ends))
        return self._latest.at(latest)

    def _latest_of_first_batch(self, start: StartingOffsets, current: Offsets) -> Offsets:
        """Raise a problem with the beginning of a new stream before it is in the checkpoint. Topics that were replaced
        since the initial offset was resolved are left out, and so are new to the second batch."""
        if start.problem is not None:
            raise InputError(start.problem)
        latest = {
            partition: start.offsets[partition] if partition in start.at_latest else end
            for partition, end in self._latest.offsets.items()
            if partition in current
        }
        for loss in losses(current, current, latest):
            report_data_loss(self._options, loss)
        return latest

    def _ranges_of_first_batch(self, start: StartingOffsets, ends: StreamOffset) -> list[OffsetRange]:
        """Return the ranges of the first batch, which may be repeated after a restart.

        In that case the initial offset was resolved again. A partition that begins beyond the end in the checkpoint was
        empty, or all its records were deleted, which the next batch reports, since it begins at that end. Partitions
        without an end are new, and left to the next batch, and so are topics that were created again, if data loss does
        not fail the stream."""
        current = self._without_replaced(ends, start.topic_ids)
        removed = [str(partition) for partition in sorted(current.offsets) if partition not in start.offsets]
        if removed:
            report_data_loss(self._options, f"{', '.join(removed)}: no longer exists")
        for partition in sorted(start.at_latest):
            if current.offsets.get(partition, 0) > start.offsets[partition]:
                loss = f"{partition} was reset from offset {current.offsets[partition]} to {start.offsets[partition]}"
                report_data_loss(self._options, loss)
        begins = {
            partition: offset
            for partition, offset in start.offsets.items()
            if partition in current.offsets and partition not in start.at_latest
        }
        return _offset_ranges(begins, ends)

    def _without_replaced(self, offset: StreamOffset, topic_ids: Mapping[str, bytes]) -> StreamOffset:
        """Leave out topics that were deleted and created again. Raise DataLost unless the stream is to continue."""
        replaced = offset.replaced_topics(topic_ids)
        for topic in replaced:
            report_replaced_topic(self._options, replaced_text(topic, offset.topic_ids[topic], topic_ids[topic]))
        return offset.without(replaced)

    def _commit_lag(self, processed: Offsets) -> None:
        if self._lag_group is not None:
            self._lag_group.commit(processed)

    def _look_up(self, started: StreamOffset) -> StreamOffset:
        if not self._is_available_now:
            return self._resolver.latest(started)
        if self._target is None:
            self._target = self._resolver.latest(started)
        return self._target

    def _is_held_back(self, started: Offsets) -> bool:
        """Return whether a batch waits for minOffsetsPerTrigger. With availableNow it does not: the stream would end
        without the remaining records."""
        at_least = self._options.offsets_per_trigger_min
        if at_least is None or self._is_available_now:
            return False
        now_s = self._clock_s()
        has_waited = self._triggered_s is None or now_s - self._triggered_s >= self._options.trigger_delay_max_ms / 1000
        if not has_waited and records_waiting(started, self._latest.offsets) < at_least:
            return True
        self._triggered_s = now_s
        return False

    def _ranges(self, started: StreamOffset, ends: StreamOffset) -> list[OffsetRange]:
        current = self._without_replaced(started, ends.topic_ids).offsets
        begins = self._with_new(current, ends.offsets)
        for loss in losses(current, begins, ends.offsets):
            report_data_loss(self._options, loss)
        return _offset_ranges(begins, ends)

    def _with_new(self, started: Offsets, ends: Offsets) -> dict[TopicPartition, int]:
        """Add new partitions, which begin at their earliest offsets."""
        new = [partition for partition in ends if partition not in started]
        return {**started, **(self._resolver.earliest(new) if new else {})}


def _offset_ranges(begins: Offsets, ends: StreamOffset) -> list[OffsetRange]:
    return [
        OffsetRange(partition, begins[partition], end, ends.topic_ids.get(partition.topic, ZERO_UUID))
        for partition, end in sorted(ends.offsets.items())
        if partition in begins
    ]


def losses(started: Offsets, begins: Offsets, ends: Offsets) -> Iterator[str]:
    """Yield a message for each loss of records in a batch. `begins` has the offsets of `started`, and the earliest
    offsets of new partitions."""
    removed = [str(part) for part in sorted({**started, **ends}) if part not in ends or part not in begins]
    if removed:
        yield f"{', '.join(removed)}: no longer exists"
    for partition, begin in sorted(begins.items()):
        if partition not in started and begin:
            yield f"{partition} is new and begins at offset {begin}"
        if ends.get(partition, begin) < begin:
            yield f"{partition} was reset from offset {begin} to {ends[partition]}"
