"""The writing half of the data source: rows of Spark become records of a topic.

Spark makes a writer on the driver for every batch, sends it to the tasks, and each task calls `write` with its rows as
Arrow record batches. What `write` returns goes back to the driver, to `commit` or to `abort`.
"""

from collections.abc import Mapping

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter
from pyspark.sql.types import StructType


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
    """Of `df.write`. Raises InputError."""
    raise NotImplementedError


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
    """Of `df.writeStream`. Raises InputError."""
    raise NotImplementedError
