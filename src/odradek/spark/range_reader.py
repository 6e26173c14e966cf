"""What a worker does: one range of one partition, read chunk by chunk and given to Spark as Arrow's record batches.

Records that are gone before they were read are data loss: the job fails, or, with `failOnDataLoss=false`, the range
goes on with what is left of it.
"""

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import InputPartition

from odradek.client.direct.ranges import DataLost, RangeRequest, read_range
from odradek.client.settings import consumer_settings
from odradek.spark.options import SourceOptions
from odradek.spark.places import is_read_committed, leaders_for
from odradek.spark.plain_errors import plain_errors
from odradek.spark.ranges import OffsetRange, split_ranges
from odradek.spark.schema import to_arrow
from odradek.spark.worker_process import spare_modules

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RangePartition(InputPartition):
    range: OffsetRange


def plan(options: SourceOptions, ranges: list[OffsetRange]) -> list[InputPartition]:
    """One for each task."""
    parts = split_ranges(ranges, partitions_min=options.partitions_min, records_max=options.records_per_partition_max)
    return [RangePartition(each) for each in parts]


def read(options: SourceOptions, partition: InputPartition) -> Iterator[Any]:
    """RecordBatches. Where nothing was planned Spark asks for one partition of its own making, which is empty."""
    if not isinstance(partition, RangePartition):
        return
    with plain_errors():
        yield from _read(options, partition.range)
    spare_modules("read")


def _read(options: SourceOptions, wanted: OffsetRange) -> Iterator[Any]:
    position = wanted.start
    leaders = leaders_for(consumer_settings(options.settings))
    while position < wanted.end:
        try:
            with closing(read_range(leaders, _request(options, wanted, position))) as chunks:
                for columns in chunks:
                    position = int(columns.offset[-1]) + 1
                    yield to_arrow(wanted.partition, columns, with_headers=options.include_headers)
                return
        except DataLost as lost:
            report_data_loss(options, lost.message)
            # Not behind the front of the log, but beyond its end: nothing is left of the range.
            position = lost.log_start_offset if lost.log_start_offset > position else wanted.end


def report_data_loss(options: SourceOptions, message: str) -> None:
    """Raises DataLost unless the job is to go on."""
    if options.fail_on_data_loss:
        instead = "failOnDataLoss=false goes on with what is left"
        raise DataLost(f"{message}: records may have been deleted before they were read; {instead}", -1)
    _log.warning("%s: records may have been missed, and failOnDataLoss=false goes on", message)


def _request(options: SourceOptions, wanted: OffsetRange, position: int) -> RangeRequest:
    settings = consumer_settings(options.settings)
    return RangeRequest(
        wanted.partition,
        position,
        wanted.end,
        is_read_committed=is_read_committed(settings),
        timeout_ms=options.poll_timeout_ms,
        check_crcs=settings.check_crcs,
    )
