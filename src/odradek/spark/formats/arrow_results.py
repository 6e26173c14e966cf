"""Runs a decoder or an encoder of single values over Arrow arrays, in the workers of Spark.

An exception of the decoder becomes the error of that value; other values of the array are not affected.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from odradek.client.schema_registry.registry import RegistryUnreachable
from odradek.spark.pyspark_features import utc_arrow_type

#: Characters of an error: some quote the value, which may be large.
_ERROR_CHARACTERS_MAX = 500


def decoding(make: Callable[[], Callable[[bytes], Any]], schema: StructType, column: Column) -> Column:
    """Return `struct<data, error>`. `make` is called in the worker, once for each array; it should cache its result."""
    result = StructType([StructField("data", schema), StructField("error", StringType())])

    def decode(values: pa.Array) -> pa.Array:
        return decoded_array(values, make(), utc_arrow_type(schema))

    # Spark evaluates deterministic expressions again for each filter that it pushes below them.
    decoded: Column = arrow_udf(decode, result).asNondeterministic()(column)
    return decoded


def encoding(make: Callable[[], Callable[[Any], bytes]], column: Column) -> Column:
    """Return the column encoded as binary. `make` is called in the worker, once for each array."""

    def encode(structs: pa.Array) -> pa.Array:
        encode_value = make()
        return pa.array(
            [None if struct is None else encode_value(struct) for struct in structs.to_pylist()], pa.binary()
        )

    encoded: Column = arrow_udf(encode, BinaryType()).asNondeterministic()(column)
    return encoded


def decoded_array(values: pa.Array, decode: Callable[[bytes], Any], arrow_type: pa.DataType) -> pa.Array:
    """Return an Arrow array of `struct<data, error>`."""
    decoded: list[Any] = []
    errors: list[str | None] = []
    for value in values.to_pylist():
        data, error = (None, None) if value is None else _attempt(decode, value)
        decoded.append(data)
        errors.append(error)
    return pa.StructArray.from_arrays(
        [_array(decoded, errors, arrow_type), pa.array(errors, pa.string())], ["data", "error"]
    )


def _attempt(decode: Callable[[bytes], Any], value: bytes) -> tuple[Any, str | None]:
    try:
        return decode(value), None
    except RegistryUnreachable:
        raise
    except Exception as error:  # noqa: BLE001 - invalid bytes make decoders fail in many ways
        return None, error_text(error)


def _array(values: list[Any], errors: list[str | None], arrow_type: pa.DataType) -> pa.Array:
    """Convert all values at once, or one by one if a value exceeds its type, such as a decimal of too many digits."""
    try:
        return pa.array(values, arrow_type)
    except (pa.ArrowException, OverflowError):
        arrays = []
        for index, value in enumerate(values):
            try:
                arrays.append(pa.array([value], arrow_type))
            except (pa.ArrowException, OverflowError) as error:
                arrays.append(pa.nulls(1, arrow_type))
                errors[index] = error_text(error)
        return pa.concat_arrays(arrays)


def error_text(error: Exception) -> str:
    """Return the message of an exception, with its type unless it was raised for the value."""
    message = str(error) or type(error).__name__
    is_plain = isinstance(error, ValueError | OverflowError) and str(error)
    text = message if is_plain else f"{type(error).__name__}: {message}"
    return text[:_ERROR_CHARACTERS_MAX]
