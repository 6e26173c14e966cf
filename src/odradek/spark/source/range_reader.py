"""Plans the tasks of a read, and reads the ranges of a task into Arrow record batches.

Records that were deleted before they were read are data loss: the job fails, or, with `failOnDataLoss=false`, reading
continues with the rest of the range.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import InputPartition

from odradek.client.direct.ranges import RangeRequest, read_ranges
from odradek.client.settings.settings import consumer_settings
from odradek.errors import DataLost, OffsetsDeleted, TopicReplaced
from odradek.spark.connections import consumer_leaders
from odradek.spark.plain_errors import plain_errors
from odradek.spark.source.offset_resolver import is_read_committed
from odradek.spark.source.options import SourceOptions
from odradek.spark.source.ranges import OffsetRange, group_ranges, split_ranges
from odradek.spark.source.schema import to_arrow
from odradek.spark.worker_process import spare_modules

_log = logging.getLogger(__name__)


#: A task of a stream has about this many records, if ranges are so small that several fit into it. Planning and
#: starting a task with its Python worker costs 20 to 50 ms, as much as reading several thousand records.
RECORDS_PER_TASK = 10_000


@dataclass(frozen=True)
class RangesPartition(InputPartition):
    """Ranges of different partitions, read by one task."""

    ranges: tuple[OffsetRange, ...]


def plan(options: SourceOptions, ranges: list[OffsetRange]) -> list[InputPartition]:
    """Return the tasks of a batch read: at least one for each range that has records."""
    return [RangesPartition((offset_range,)) for offset_range in _split(options, ranges)]


def plan_grouped(options: SourceOptions, ranges: list[OffsetRange]) -> list[InputPartition]:
    """Return the tasks of a micro-batch. Small ranges share a task: a micro-batch often has too few records to be
    worth a task for each topic partition."""
    grouped = group_ranges(
        _split(options, ranges),
        records_per_task=RECORDS_PER_TASK,
        partitions_min=options.partitions_min,
        records_max=options.records_per_partition_max,
    )
    return [RangesPartition(group) for group in grouped]


def _split(options: SourceOptions, ranges: list[OffsetRange]) -> list[OffsetRange]:
    return split_ranges(ranges, partitions_min=options.partitions_min, records_max=options.records_per_partition_max)


def read(options: SourceOptions, partition: InputPartition) -> Iterator[Any]:
    """Yield RecordBatches. If nothing was planned, Spark reads one partition of its own class, which is empty."""
    if not isinstance(partition, RangesPartition):
        return
    with plain_errors():
        yield from _read(options, partition.ranges)
    spare_modules("read")


def _read(options: SourceOptions, ranges: Sequence[OffsetRange]) -> Iterator[Any]:
    ends = {offset_range.partition: offset_range.end for offset_range in ranges}
    positions = {offset_range.partition: offset_range.start for offset_range in ranges}
    leaders = consumer_leaders(consumer_settings(options.settings))
    while requests := [
        _request(options, offset_range, positions[offset_range.partition])
        for offset_range in ranges
        if positions[offset_range.partition] < offset_range.end
    ]:
        try:
            with closing(read_ranges(leaders, requests)) as chunks:
                for partition, columns in chunks:
                    positions[partition] = int(columns.offset[-1]) + 1
                    yield to_arrow(partition, columns, with_headers=options.include_headers)
                return
        except OffsetsDeleted as lost:
            report_data_loss(options, lost.message)
            # If the offset lies beyond the end of the log, nothing is left of the range.
            start, end = lost.log_start_offset, ends[lost.partition]
            positions[lost.partition] = start if start > positions[lost.partition] else end
        except TopicReplaced as replaced:
            report_replaced_topic(options, replaced.message)
            positions[replaced.partition] = ends[replaced.partition]


def report_data_loss(options: SourceOptions, message: str) -> None:
    """Raise DataLost unless the job is to continue."""
    if options.fail_on_data_loss:
        advice = "failOnDataLoss=false continues with the remaining records"
        raise DataLost(f"{message}: records may have been deleted before they were read; {advice}")
    _log.warning("%s: records may have been missed, and failOnDataLoss=false continues", message)


def report_replaced_topic(options: SourceOptions, message: str) -> None:
    """Raise DataLost unless the job is to continue."""
    if options.fail_on_data_loss:
        raise DataLost(
            f"{message}. Records of the previous topic that were not read are lost. To read the new topic from its "
            "beginning set failOnDataLoss=false, or start with a new checkpoint"
        )
    _log.warning("%s; failOnDataLoss=false reads the new topic from its beginning", message)


def _request(options: SourceOptions, offset_range: OffsetRange, position: int) -> RangeRequest:
    settings = consumer_settings(options.settings)
    return RangeRequest(
        offset_range.partition,
        position,
        offset_range.end,
        offset_range.topic_id,
        is_read_committed=is_read_committed(settings),
        timeout_ms=options.poll_timeout_ms,
        check_crcs=settings.check_crcs,
    )
