"""Columns of a sink: their required names and types, and their conversion for the builder of record batches.

They are those of Spark's Kafka connector: `value`, and optionally `key`, `headers`, `partition` and `topic`, which the
option `topic` replaces. Other columns are ignored. Error messages are the connector's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType, StructField, StructType

from odradek.common.failures import InputError
from odradek.records.columns.column_batches import ArrowRecords
from odradek.records.record_packer import Headers

_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))

_TEXT: tuple[DataType, ...] = (StringType(), BinaryType())

_ALLOWED: dict[str, tuple[DataType, ...]] = {
    "topic": (StringType(),),
    "key": _TEXT,
    "value": _TEXT,
    "headers": (_HEADERS,),
    "partition": (IntegerType(),),
}


@dataclass(frozen=True, slots=True, eq=False)
class TopicRows:
    """Indexes of the rows of one topic."""

    topic: str
    rows: NDArray[np.int64]


def check_schema(schema: StructType, topic: str | None) -> None:
    """Raise InputError unless the schema has the columns of a sink."""
    types = {field.name: field.dataType for field in schema.fields}
    duplicates = [name for name in _ALLOWED if schema.names.count(name) > 1]
    if duplicates:
        raise InputError(
            f"there is more than one column {duplicates[0]}; select or rename columns, so that only one remains"
        )
    if topic is None and "topic" not in types:
        raise InputError(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
        )
    if "value" not in types:
        raise InputError("Required attribute 'value' not found")
    for name, allowed in _ALLOWED.items():
        is_used = name in types and not (name == "topic" and topic is not None)
        if is_used and _type_name(types[name]) not in [_type_name(data_type) for data_type in allowed]:
            expected = " or ".join(data_type.simpleString() for data_type in allowed)
            raise InputError(
                f"{name} attribute unsupported type {types[name].simpleString()}. {name} must be a(n) {expected}"
            )


def _type_name(data_type: DataType) -> str:
    """Return the name of a type without nullability and collation."""
    if isinstance(data_type, ArrayType):
        return f"array<{_type_name(data_type.elementType)}>"
    if isinstance(data_type, StructType):
        return f"struct<{','.join(f'{field.name}:{_type_name(field.dataType)}' for field in data_type.fields)}>"
    return "string" if type(data_type) is StringType else data_type.simpleString()


def arrow_records(batch: pa.RecordBatch, timestamp_ms: int) -> ArrowRecords:
    """Return the records of a batch. All have the time at which they are written, as with the connector."""
    headers = _column(batch, "headers")
    return ArrowRecords(
        keys=_column(batch, "key"),
        values=_column(batch, "value"),
        timestamps=timestamp_ms,
        headers=None if headers is None else _headers(headers),
    )


def partition_column(batch: pa.RecordBatch) -> NDArray[np.int32] | None:
    """Return the partition of each row, -1 if it has none, or None if no row has one. Raise InputError."""
    column = _column(batch, "partition")
    if column is None:
        return None
    partitions: NDArray[np.int32] = column.fill_null(-1).to_numpy(zero_copy_only=False)
    negative = int(np.count_nonzero(partitions < 0)) - column.null_count
    if negative:
        raise InputError(f"partition is negative in {negative} row(s); expected a number from 0, or null")
    return partitions


def rows_by_topic(batch: pa.RecordBatch, topic: str | None) -> list[TopicRows]:
    """Group the rows by topic. Raise InputError for a row without a topic."""
    if topic is not None:
        return [TopicRows(topic, np.arange(batch.num_rows))]
    column = _column(batch, "topic")
    if column is None or column.null_count:
        raise InputError(
            "The Kafka message data sent to the producer contains a null topic. Use the `topic` option for setting a "
            "default topic."
        )
    encoded = column.dictionary_encode()
    topic_indexes: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False)
    return [
        TopicRows(name, np.flatnonzero(topic_indexes == index))
        for index, name in enumerate(encoded.dictionary.to_pylist())
    ]


def _column(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """Return a column, or None if it does not exist or has only nulls."""
    index = batch.schema.get_field_index(name)
    column = None if index < 0 else batch.column(index)
    return None if column is None or column.null_count == len(column) else column


def _headers(array: pa.Array) -> Sequence[Headers]:
    headers: list[Headers] = []
    for row in array.to_pylist():
        pairs = [(header and header["key"], header and header["value"]) for header in row or ()]
        if any(key is None for key, _ in pairs):
            raise InputError("a header has no key; the key must be a string, the value may be null")
        headers.append(pairs)
    return headers
