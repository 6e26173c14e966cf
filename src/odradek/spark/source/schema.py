"""The columns of the data source, those of Spark's Kafka connector, built from fetched chunks. Pure.

Python objects are created for no record, except for the headers if they are requested. A record without headers has
null in that column, as in the connector. Timestamps are in milliseconds in Kafka and in microseconds in Spark.
"""

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.records.columns.record_columns import Columns

_FIELDS = (
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
)
_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_HEADERS = StructField("headers", ArrayType(_HEADER))

_ARROW_FIELDS = (
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.timestamp("us", tz="UTC")),
    pa.field("timestampType", pa.int32()),
)
_ARROW_HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
_ARROW_HEADERS = pa.field("headers", pa.list_(pa.field("element", _ARROW_HEADER)))

#: Spark stores microseconds in 64 bits.
_TIMESTAMP_MS_MAX = int(np.iinfo(np.int64).max) // 1000

_ARROW = pa.schema(_ARROW_FIELDS)
_ARROW_WITH_HEADERS = pa.schema((*_ARROW_FIELDS, _ARROW_HEADERS))


def spark_schema(*, with_headers: bool) -> StructType:
    return StructType([*_FIELDS, _HEADERS] if with_headers else [*_FIELDS])


def check_schema(schema: StructType, *, with_headers: bool) -> None:
    """Raise InputError for another schema than `spark_schema`."""
    expected = spark_schema(with_headers=with_headers)
    if schema != expected:
        raise InputError(
            f"a schema cannot be set for this source; omit it, and select from the columns {', '.join(expected.names)}"
        )


def to_arrow(partition: TopicPartition, columns: Columns, *, with_headers: bool) -> Any:
    """Return a RecordBatch with the columns of `spark_schema`."""
    count = len(columns)
    arrays = [
        columns.arrow_keys(),
        columns.arrow_values(),
        _repeated(partition.topic.encode(), count),
        _numeric_array(np.full(count, partition.partition, np.int32), pa.int32()),
        _numeric_array(columns.offset, pa.int64()),
        _numeric_array(_microseconds(partition, columns), pa.timestamp("us", tz="UTC")),
        _numeric_array(columns.timestamp_type.astype(np.int32), pa.int32()),
    ]
    if not with_headers:
        return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
    return pa.RecordBatch.from_arrays([*arrays, _headers(columns)], schema=_ARROW_WITH_HEADERS)


def _numeric_array(values: NDArray[Any], arrow_type: pa.DataType) -> pa.Array:
    """Wrap the values without a copy. `pyarrow.array` would import pandas in each worker."""
    return pa.Array.from_buffers(arrow_type, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _repeated(text: bytes, count: int) -> pa.Array:
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(len(text))
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(text * count)])


def _microseconds(partition: TopicPartition, columns: Columns) -> NDArray[np.int64]:
    """Raise InputError for timestamps out of Spark's range, such as those of producers that send nanoseconds."""
    times = columns.timestamp
    out_of_range = np.flatnonzero((times > _TIMESTAMP_MS_MAX) | (times < -_TIMESTAMP_MS_MAX))
    if len(out_of_range):
        first = out_of_range[0]
        raise InputError(
            f"{partition}: the timestamp of offset {columns.offset[first]} is {times[first]} ms; Spark's range ends at "
            f"{_TIMESTAMP_MS_MAX} ms"
        )
    return times * 1000


def _headers(columns: Columns) -> Any:
    has_headers = columns.has_headers()
    counts = np.zeros(len(columns) + 1, np.int32)
    keys: list[str] = []
    values: list[bytes | None] = []
    for index in np.flatnonzero(has_headers).tolist():
        headers = columns.headers(index)
        counts[index + 1] = len(headers)
        keys += [_text(header.key) for header in headers]
        values += [header.value for header in headers]
    pairs = pa.StructArray.from_arrays([pa.array(keys, pa.string()), pa.array(values, pa.binary())], type=_ARROW_HEADER)
    offsets = pa.array(np.cumsum(counts, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, pairs, type=_ARROW_HEADERS.type, mask=pa.array(~has_headers))


def _text(key: str) -> str:
    """Replace bytes that are not UTF-8 as Java does."""
    return key if key.isascii() else key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
