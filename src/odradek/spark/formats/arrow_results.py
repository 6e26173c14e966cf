"""Runs a decoder or an encoder of single values over Arrow arrays, in the workers of Spark.

What a decoder raises is the value's fault and becomes its error; other values of the array are not touched by it.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from odradek.spark.formats.registry import RegistryUnreachable
from odradek.spark.pyspark_features import utc_arrow_type

#: Characters of a reason: some quote the value, which may be large.
_REASON_MAX = 500


def decoding(make: Callable[[], Callable[[bytes], Any]], schema: StructType, column: Column) -> Column:
    """`struct<data, error>`. `make` is called in the worker, once for each array; it should remember."""
    result = StructType([StructField("data", schema), StructField("error", StringType())])

    def decode(values: pa.Array) -> pa.Array:
        return decoded_array(values, make(), utc_arrow_type(schema))

    # Spark computes what is deterministic again for each filter over it that it moves.
    found: Column = arrow_udf(decode, result).asNondeterministic()(column)
    return found


def encoding(make: Callable[[], Callable[[Any], bytes]], column: Column) -> Column:
    def encode(structs: pa.Array) -> pa.Array:
        encoded = make()
        return pa.array([None if each is None else encoded(each) for each in structs.to_pylist()], pa.binary())

    found: Column = arrow_udf(encode, BinaryType()).asNondeterministic()(column)
    return found


def decoded_array(values: pa.Array, decode: Callable[[bytes], Any], kind: pa.DataType) -> pa.Array:
    found: list[Any] = []
    errors: list[str | None] = []
    for value in values.to_pylist():
        data, error = (None, None) if value is None else _attempt(decode, value)
        found.append(data)
        errors.append(error)
    return pa.StructArray.from_arrays([_array(found, errors, kind), pa.array(errors, pa.string())], ["data", "error"])


def _attempt(decode: Callable[[bytes], Any], value: bytes) -> tuple[Any, str | None]:
    try:
        return decode(value), None
    except RegistryUnreachable:
        raise
    except Exception as error:  # noqa: BLE001 - broken bytes make decoders fail in many ways
        return None, why(error)


def _array(found: list[Any], errors: list[str | None], kind: pa.DataType) -> pa.Array:
    """All at once; one by one where a value is beyond its type, such as a decimal of too many digits."""
    try:
        return pa.array(found, kind)
    except (pa.ArrowException, OverflowError):
        arrays = []
        for place, data in enumerate(found):
            try:
                arrays.append(pa.array([data], kind))
            except (pa.ArrowException, OverflowError) as error:
                arrays.append(pa.nulls(1, kind))
                errors[place] = why(error)
        return pa.concat_arrays(arrays)


def why(error: Exception) -> str:
    said = str(error) or type(error).__name__
    known = said if isinstance(error, ValueError | OverflowError) and str(error) else f"{type(error).__name__}: {said}"
    return known[:_REASON_MAX]
