"""The data source: `spark.read.format("odradek")`, `readStream`, `write` and `writeStream`.

Spark pickles a source with its options into Python processes of its own: one plans a batch read, one lives as long as a
stream and answers the engine's questions (`StreamReader`), workers call `read` for each range. So what is kept here is
plain data; connections belong to the process (`places.leaders_of`).
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from odradek.common.failures import InputError
from odradek.common.ids import ZERO_UUID
from odradek.spark.options import SourceOptions, batch_options, include_headers, stream_options
from odradek.spark.places import Places
from odradek.spark.plain_errors import plain_errors
from odradek.spark.portable import Portable
from odradek.spark.pyspark_features import HAS_READ_LIMITS, DataSourceStreamArrowWriter
from odradek.spark.range_reader import plan, read
from odradek.spark.ranges import OffsetRange
from odradek.spark.schema import check_schema, spark_schema
from odradek.spark.worker_process import spare_modules


class OdradekDataSource(DataSource, metaclass=Portable):
    @classmethod
    def name(cls) -> str:
        return "odradek"

    @plain_errors()
    def schema(self) -> StructType:
        return spark_schema(with_headers=include_headers(self.options))

    @plain_errors()
    def reader(self, schema: StructType) -> DataSourceReader:
        options = batch_options(self.options)
        check_schema(schema, with_headers=options.include_headers)
        return BatchReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from odradek.spark.stream_reader import RefusingReader, StreamReader  # one that reads a batch need not load it

        try:
            options = stream_options(self.options)
            check_schema(schema, with_headers=options.include_headers)
            if HAS_READ_LIMITS:
                return StreamReader(options)
            from odradek.spark.unlimited_reader import UnlimitedStreamReader

            return UnlimitedStreamReader(options)
        except InputError as error:
            return RefusingReader(str(error))

    @plain_errors()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from odradek.spark.sink import batch_writer  # a reader's process need not load it

        return batch_writer(self.options, schema, overwrite)

    @plain_errors()
    def streamWriter(  # noqa: N802 - Spark's name
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamArrowWriter:
        from odradek.spark.sink import stream_writer

        spare_modules("plan")  # each micro-batch asks for a writer, and again when it commits
        return stream_writer(self.options, schema, overwrite)


class BatchReader(DataSourceReader, metaclass=Portable):
    """Limits are resolved once, when Spark plans the read."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    @plain_errors()
    def partitions(self) -> list[InputPartition]:
        places = Places(self._options)
        starts = places.resolve(self._options.starting, "startingOffsets")
        ends = places.resolve(self._options.ending, "endingOffsets")
        ids = places.topic_ids(dict.fromkeys(partition.topic for partition in ends))
        ranges = [
            OffsetRange(partition, start, ends[partition], ids.get(partition.topic, ZERO_UUID))
            for partition, start in sorted(starts.items())
            if partition in ends
        ]
        return plan(self._options, ranges)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return read(self._options, partition)
