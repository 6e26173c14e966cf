"""The reader of `spark.read`: resolves the limits of a batch read once, when Spark plans it."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from odradek.common.ids import ZERO_UUID
from odradek.spark.plain_errors import plain_errors
from odradek.spark.portable import Portable
from odradek.spark.source.offset_resolver import OffsetResolver
from odradek.spark.source.options import SourceOptions
from odradek.spark.source.range_reader import plan, read
from odradek.spark.source.ranges import OffsetRange


class BatchReader(DataSourceReader, metaclass=Portable):
    """Reads the partitions of a batch read."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    @plain_errors()
    def partitions(self) -> list[InputPartition]:
        resolver = OffsetResolver(self._options)
        starts = resolver.resolve(self._options.starting, "startingOffsets")
        ends = resolver.resolve(self._options.ending, "endingOffsets")
        ids = resolver.topic_ids(dict.fromkeys(partition.topic for partition in ends))
        ranges = [
            OffsetRange(partition, start, ends[partition], ids.get(partition.topic, ZERO_UUID))
            for partition, start in sorted(starts.items())
            if partition in ends
        ]
        return plan(self._options, ranges)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return read(self._options, partition)
