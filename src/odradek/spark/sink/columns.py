"""Columns of a sink: which there must be, of which types, and how a builder of batches wants Arrow's arrays of them.

They are those of Spark's Kafka connector: `value`, and if they are there `key`, `headers`, `partition` and `topic`, of
which the option `topic` takes the place. Other columns are ignored. What is wrong is said in the connector's words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType, StructField, StructType

from odradek.common.failures import InputError
from odradek.records.column_batches import ArrowRecords
from odradek.records.pack import Headers

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
    """The rows of one topic: by their numbers."""

    topic: str
    rows: NDArray[np.int64]


def check_schema(schema: StructType, topic: str | None) -> None:
    """Raises InputError."""
    types = {each.name: each.dataType for each in schema.fields}
    doubled = [name for name in _ALLOWED if schema.names.count(name) > 1]
    if doubled:
        raise InputError(f"there is more than one column {doubled[0]}; select or rename, so that one is left")
    if topic is None and "topic" not in types:
        raise InputError(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
        )
    if "value" not in types:
        raise InputError("Required attribute 'value' not found")
    for name, allowed in _ALLOWED.items():
        is_used = name in types and not (name == "topic" and topic is not None)
        if is_used and _plain(types[name]) not in [_plain(each) for each in allowed]:
            right = " or ".join(each.simpleString() for each in allowed)
            raise InputError(
                f"{name} attribute unsupported type {types[name].simpleString()}. {name} must be a(n) {right}"
            )


def _plain(kind: DataType) -> str:
    """Whether something may be null, or is collated, makes no difference."""
    if isinstance(kind, ArrayType):
        return f"array<{_plain(kind.elementType)}>"
    if isinstance(kind, StructType):
        return f"struct<{','.join(f'{each.name}:{_plain(each.dataType)}' for each in kind.fields)}>"
    return "string" if type(kind) is StringType else kind.simpleString()


def arrow_records(batch: pa.RecordBatch, timestamp_ms: int) -> ArrowRecords:
    """All records have the time at which they are written, as the connector's have."""
    headers = _column(batch, "headers")
    return ArrowRecords(
        keys=_column(batch, "key"),
        values=_column(batch, "value"),
        timestamps=timestamp_ms,
        headers=None if headers is None else _headers(headers),
    )


def partition_column(batch: pa.RecordBatch) -> NDArray[np.int32] | None:
    """The partitions that rows ask for, -1 where they ask for none; None where no row asks. Raises InputError."""
    column = _column(batch, "partition")
    if column is None:
        return None
    found: NDArray[np.int32] = column.fill_null(-1).to_numpy(zero_copy_only=False)
    negative = int(np.count_nonzero(found < 0)) - column.null_count
    if negative:
        raise InputError(f"partition is negative in {negative} row(s); right would be a number from 0 on, or null")
    return found


def rows_by_topic(batch: pa.RecordBatch, topic: str | None) -> list[TopicRows]:
    """Raises InputError for a row without a topic."""
    if topic is not None:
        return [TopicRows(topic, np.arange(batch.num_rows))]
    column = _column(batch, "topic")
    if column is None or column.null_count:
        raise InputError(
            "The Kafka message data sent to the producer contains a null topic. Use the `topic` option for setting a "
            "default topic."
        )
    encoded = column.dictionary_encode()
    numbers: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False)
    return [
        TopicRows(name, np.flatnonzero(numbers == number)) for number, name in enumerate(encoded.dictionary.to_pylist())
    ]


def _column(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """None where all are null as well."""
    at = batch.schema.get_field_index(name)
    found = None if at < 0 else batch.column(at)
    return None if found is None or found.null_count == len(found) else found


def _headers(array: pa.Array) -> Sequence[Headers]:
    found: list[Headers] = []
    for row in array.to_pylist():
        pairs = [(each and each["key"], each and each["value"]) for each in row or ()]
        if any(key is None for key, _ in pairs):
            raise InputError("a header has no key; right would be a string, and the value may be null")
        found.append(pairs)
    return found
