"""The data source: `spark.read.format("odradek")`, `readStream`, `write` and `writeStream`.

Spark pickles a source with its options into Python processes of its own: one plans a batch read, one lives as long as a
stream and responds to the engine's calls (`StreamReader`), workers call `read` for each range. So the classes here hold
plain data; connections belong to the process (`odradek.spark.connections`).
"""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from odradek.common.failures import InputError
from odradek.spark.plain_errors import plain_errors
from odradek.spark.portable import Portable
from odradek.spark.pyspark_features import HAS_READ_LIMITS, DataSourceStreamArrowWriter
from odradek.spark.source.batch_reader import BatchReader
from odradek.spark.source.options import batch_options, include_headers, stream_options
from odradek.spark.source.schema import check_schema, spark_schema
from odradek.spark.worker_process import spare_modules


class OdradekDataSource(DataSource, metaclass=Portable):
    """The data source `odradek`; names and arguments of the methods are Spark's."""

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
        from odradek.spark.source.stream_reader import InvalidOptionsReader, StreamReader  # not loaded for a batch

        try:
            options = stream_options(self.options)
            check_schema(schema, with_headers=options.include_headers)
            if HAS_READ_LIMITS:
                return StreamReader(options)
            from odradek.spark.source.unlimited_reader import UnlimitedStreamReader

            return UnlimitedStreamReader(options)
        except InputError as error:
            return InvalidOptionsReader(str(error))

    @plain_errors()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from odradek.spark.sink.data_sink import batch_writer  # not loaded in the process of a reader

        return batch_writer(self.options, schema, overwrite)

    @plain_errors()
    def streamWriter(  # noqa: N802 - Spark's name
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamArrowWriter:
        from odradek.spark.sink.data_sink import stream_writer

        spare_modules("plan")  # each micro-batch creates a writer, and another one for its commit
        return stream_writer(self.options, schema, overwrite)
