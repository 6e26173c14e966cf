"""Conversion of Avro's types and values to Spark's. Pure, except for the names of Spark's types.

| Avro | Spark |
| --- | --- |
| boolean, int, long, float, double, bytes, string | BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, BINARY, STRING |
| record, array, map | STRUCT, ARRAY, MAP of STRING |
| enum, fixed | STRING, BINARY |
| null or another type | that type, nullable |
| int or long, float or double | BIGINT, DOUBLE |
| date, decimal, uuid | DATE, DECIMAL, STRING |
| timestamp-millis and -micros, local-timestamp-millis and -micros | TIMESTAMP, TIMESTAMP_NTZ |
| time-millis, time-micros | INT, BIGINT, as without the logical type |

Other unions, and recursive types, have no equivalent in Spark and are rejected.
"""

from collections.abc import Callable, Mapping
from datetime import time
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from odradek.common.failures import InputError

#: Named types by their full names, as fastavro collects them.
NamedTypes = Mapping[str, Any]
#: None if values need no conversion.
Conversion = Callable[[Any], Any] | None
#: Conversions of logical types.
LogicalConversions = Mapping[str, Callable[[Any], Any]]

_PLAIN: dict[str, DataType] = {
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "bytes": BinaryType(),
    "string": StringType(),
    "enum": StringType(),
    "fixed": BinaryType(),
}
_LOGICAL: dict[tuple[str, str], DataType] = {
    ("int", "date"): DateType(),
    ("long", "timestamp-millis"): TimestampType(),
    ("long", "timestamp-micros"): TimestampType(),
    ("long", "local-timestamp-millis"): TimestampNTZType(),
    ("long", "local-timestamp-micros"): TimestampNTZType(),
}
#: Unions of numbers that are represented by the wider type.
_WIDER: dict[frozenset[str], DataType] = {
    frozenset(("int", "long")): LongType(),
    frozenset(("float", "double")): DoubleType(),
}
_DECIMAL_DIGITS_MAX = 38


def spark_schema(schema: Any, named: NamedTypes) -> StructType:
    """Return the type of a record. Raise InputError if Spark has no such type."""
    data_type = _spark_type(schema, named, ())
    if not isinstance(data_type, StructType):
        raise InputError(f"the Avro schema is of type {_name(schema)}; expected a record")
    return data_type


def _spark_type(schema: Any, named: NamedTypes, above: tuple[str, ...]) -> DataType:
    if isinstance(schema, list):
        return _union_type(schema, named, above)
    if isinstance(schema, str):
        return _PLAIN[schema] if schema in _PLAIN else _spark_type(_referred(schema, named, above), named, above)
    avro_type = schema["type"]
    if isinstance(avro_type, dict | list):
        return _spark_type(avro_type, named, above)
    if avro_type == "record":
        inner = (*above, schema["name"])
        fields = schema["fields"]
        return StructType([StructField(field["name"], _spark_type(field["type"], named, inner)) for field in fields])
    if avro_type == "array":
        return ArrayType(_spark_type(schema["items"], named, above))
    if avro_type == "map":
        return MapType(StringType(), _spark_type(schema["values"], named, above))
    return _logical_type(schema, avro_type) or _spark_type(avro_type, named, above)


def _logical_type(schema: Mapping[str, Any], avro_type: str) -> DataType | None:
    logical = schema.get("logicalType", "")
    if logical == "decimal" and avro_type in ("bytes", "fixed"):
        precision, scale = schema["precision"], schema.get("scale", 0)
        if precision > _DECIMAL_DIGITS_MAX:
            raise InputError(f"a decimal of {precision} digits; Spark supports at most {_DECIMAL_DIGITS_MAX}")
        return DecimalType(precision, scale)
    if avro_type in ("enum", "fixed"):
        return _PLAIN[avro_type]
    return _LOGICAL.get((avro_type, logical))


def _union_type(members: list[Any], named: NamedTypes, above: tuple[str, ...]) -> DataType:
    types = [member for member in members if member != "null"]
    if len(types) == 1:
        return _spark_type(types[0], named, above)
    if all(isinstance(member, str) for member in types) and frozenset(types) in _WIDER:
        return _WIDER[frozenset(types)]
    union = " or ".join(map(_name, types)) or "null alone"
    raise InputError(f"Spark has no type for Avro's union of {union}; expected null and one other type")


def _referred(name: str, named: NamedTypes, above: tuple[str, ...]) -> Any:
    if name in above:
        raise InputError(f"the Avro type {name} is recursive; Spark has no such type")
    if name not in named:
        raise InputError(f"unknown Avro type {name}")
    return named[name]


def _name(schema: Any) -> str:
    return str(schema.get("name", schema["type"])) if isinstance(schema, dict) else str(schema)


def after_reading(schema: Any, named: NamedTypes) -> Conversion:
    """Return the conversion of values that fastavro has read to values for Arrow."""
    return _conversion(schema, named, {"uuid": str, "time-millis": _time_ms, "time-micros": _time_us}, None)


def before_writing(schema: Any, named: NamedTypes) -> Conversion:
    """Return the conversion of values from Arrow, with maps as lists of pairs, to values for fastavro."""
    return _conversion(schema, named, {}, dict)


def _conversion(schema: Any, named: NamedTypes, logical: LogicalConversions, pairs: Conversion) -> Conversion:
    def convert(schema: Any) -> Conversion:
        if isinstance(schema, list):
            return next(iter(filter(None, map(convert, schema))), None)
        if isinstance(schema, str):
            return convert(named[schema]) if schema in named else None
        avro_type = schema["type"]
        if isinstance(avro_type, dict | list):
            return convert(avro_type)
        if avro_type == "record":
            return _convert_fields({field["name"]: convert(field["type"]) for field in schema["fields"]})
        if avro_type == "array":
            return _convert_items(convert(schema["items"]))
        if avro_type == "map":
            return _convert_values(convert(schema["values"]), pairs)
        return logical.get(schema.get("logicalType", ""))

    return _unless_none(convert(schema))


def _unless_none(inner: Conversion) -> Conversion:
    return inner and (lambda value: None if value is None else inner(value))


def _convert_fields(fields: Mapping[str, Conversion]) -> Conversion:
    conversions = {name: field for name, inner in fields.items() if (field := _unless_none(inner)) is not None}

    def convert(record: dict[str, Any]) -> dict[str, Any]:
        for name, inner in conversions.items():
            if name in record:
                record[name] = inner(record[name])
        return record

    return convert if conversions else None


def _convert_items(inner: Conversion) -> Conversion:
    convert = _unless_none(inner)
    return convert and (lambda items: [convert(item) for item in items])


def _convert_values(inner: Conversion, pairs: Conversion) -> Conversion:
    convert = _unless_none(inner)
    if convert is None:
        return pairs
    return lambda values: {key: convert(value) for key, value in dict(values).items()}


def _time_ms(value: Any) -> Any:
    return _time_us(value) // 1_000 if isinstance(value, time) else value


def _time_us(value: Any) -> Any:
    if not isinstance(value, time):
        return value
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
