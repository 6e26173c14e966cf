"""The writing half of the data source: rows of Spark become records of a topic.

Spark makes a writer on the driver for every batch, sends it to the tasks, and each task calls `write` with its rows as
Arrow record batches. What `write` returns goes back to the driver, to `commit` or to `abort`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from odradek.common.failures import InputError
from odradek.spark.sink_columns import check_schema
from odradek.spark.sink_options import SinkOptions, sink_options
from odradek.spark.sink_task import TaskWriter


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
    """Of `df.write`. Raises InputError."""
    if overwrite:
        raise InputError("mode overwrite: a topic cannot be overwritten; right would be mode append")
    return _BatchWriter(_checked(options, schema))


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
    """Of `df.writeStream`, in any output mode. Raises InputError."""
    return _StreamWriter(_checked(options, schema))


def _checked(given: Mapping[str, str], schema: StructType) -> SinkOptions:
    options = sink_options(given)
    check_schema(schema, options.topic)
    return options


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    """What a task has done."""

    record_count: int


def _write(options: SinkOptions, batches: Iterator[pa.RecordBatch]) -> Written:
    writer = TaskWriter(options)
    writer.write(batches)
    return Written(writer.record_count)


class _BatchWriter(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _write(self._options, iterator)


class _StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _write(self._options, iterator)
