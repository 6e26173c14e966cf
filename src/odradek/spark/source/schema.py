"""The columns of the data source, which are those of Spark's Kafka connector, made of fetched chunks. Pure.

Nothing is made per record but the headers of those that have any, and only where headers are wanted. A record without
headers has null there, as in the connector. Times are milliseconds in Kafka and microseconds in Spark.
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
from odradek.records.columns import Columns

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

#: Microseconds have 64 bits.
_TIMESTAMP_MS_MAX = int(np.iinfo(np.int64).max) // 1000

_ARROW = pa.schema(_ARROW_FIELDS)
_ARROW_WITH_HEADERS = pa.schema((*_ARROW_FIELDS, _ARROW_HEADERS))


def spark_schema(*, with_headers: bool) -> StructType:
    return StructType([*_FIELDS, _HEADERS] if with_headers else [*_FIELDS])


def check_schema(schema: StructType, *, with_headers: bool) -> None:
    """Raises InputError for another schema than ours."""
    right = spark_schema(with_headers=with_headers)
    if schema != right:
        raise InputError(
            f"the columns cannot be chosen with a schema; leave it out and select among {', '.join(right.names)}"
        )


def to_arrow(partition: TopicPartition, columns: Columns, *, with_headers: bool) -> Any:
    """A RecordBatch with the columns of `spark_schema`."""
    count = len(columns)
    arrays = [
        columns.arrow_keys(),
        columns.arrow_values(),
        _repeated(partition.topic.encode(), count),
        _numbers(np.full(count, partition.partition, np.int32), pa.int32()),
        _numbers(columns.offset, pa.int64()),
        _numbers(_microseconds(partition, columns), pa.timestamp("us", tz="UTC")),
        _numbers(columns.timestamp_type.astype(np.int32), pa.int32()),
    ]
    if not with_headers:
        return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
    return pa.RecordBatch.from_arrays([*arrays, _headers(columns)], schema=_ARROW_WITH_HEADERS)


def _numbers(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Uncopied. `pyarrow.array` would load pandas into each worker first, to see whether it is given some of that."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _repeated(text: bytes, count: int) -> pa.Array:
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(len(text))
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(text * count)])


def _microseconds(partition: TopicPartition, columns: Columns) -> NDArray[np.int64]:
    """Raises InputError for times that Spark has none for, such as those of producers that count nanoseconds."""
    times = columns.timestamp
    far = np.flatnonzero((times > _TIMESTAMP_MS_MAX) | (times < -_TIMESTAMP_MS_MAX))
    if len(far):
        what = f"{partition}: offset {columns.offset[far[0]]} has timestamp {times[far[0]]}"
        raise InputError(f"{what}, in milliseconds beyond {_TIMESTAMP_MS_MAX}, the last that Spark has")
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
    """Bytes that are no UTF-8 become what Java makes of them."""
    return key if key.isascii() else key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
