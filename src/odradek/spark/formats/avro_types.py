"""Avro's types as Spark's, and values between them. Pure but for the names of Spark's types.

| Avro | Spark |
| --- | --- |
| boolean, int, long, float, double, bytes, string | BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, BINARY, STRING |
| record, array, map | STRUCT, ARRAY, MAP of STRING |
| enum, fixed | STRING, BINARY |
| null or something | that, nullable |
| int or long, float or double | BIGINT, DOUBLE |
| date, decimal, uuid | DATE, DECIMAL, STRING |
| timestamp-millis and -micros, local-timestamp-millis and -micros | TIMESTAMP, TIMESTAMP_NTZ |
| time-millis, time-micros | INT, BIGINT, as without their logical type |

Other unions, and types that contain themselves, have no type in Spark and are refused.
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

#: By their full names, as fastavro collects them.
Named = Mapping[str, Any]
#: None where values are right as they are.
Conversion = Callable[[Any], Any] | None
#: Of values of logical types.
Logical = Mapping[str, Callable[[Any], Any]]

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
#: Of unions that are one wider type.
_WIDER: dict[frozenset[str], DataType] = {
    frozenset(("int", "long")): LongType(),
    frozenset(("float", "double")): DoubleType(),
}
_DECIMAL_DIGITS_MAX = 38


def spark_schema(schema: Any, named: Named) -> StructType:
    """Raises InputError where Spark has no such type."""
    found = _spark_type(schema, named, ())
    if not isinstance(found, StructType):
        raise InputError(f"the Avro schema is one of {_name(schema)}, and a record is needed")
    return found


def _spark_type(schema: Any, named: Named, above: tuple[str, ...]) -> DataType:
    if isinstance(schema, list):
        return _union_type(schema, named, above)
    if isinstance(schema, str):
        return _PLAIN[schema] if schema in _PLAIN else _spark_type(_referred(schema, named, above), named, above)
    kind = schema["type"]
    if isinstance(kind, dict | list):
        return _spark_type(kind, named, above)
    if kind == "record":
        inner = (*above, schema["name"])
        fields = schema["fields"]
        return StructType([StructField(each["name"], _spark_type(each["type"], named, inner)) for each in fields])
    if kind == "array":
        return ArrayType(_spark_type(schema["items"], named, above))
    if kind == "map":
        return MapType(StringType(), _spark_type(schema["values"], named, above))
    return _logical_type(schema, kind) or _spark_type(kind, named, above)


def _logical_type(schema: Mapping[str, Any], kind: str) -> DataType | None:
    logical = schema.get("logicalType", "")
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = schema["precision"], schema.get("scale", 0)
        if precision > _DECIMAL_DIGITS_MAX:
            raise InputError(f"a decimal of {precision} digits: Spark has at most {_DECIMAL_DIGITS_MAX}")
        return DecimalType(precision, scale)
    if kind in ("enum", "fixed"):
        return _PLAIN[kind]
    return _LOGICAL.get((kind, logical))


def _union_type(members: list[Any], named: Named, above: tuple[str, ...]) -> DataType:
    found = [each for each in members if each != "null"]
    if len(found) == 1:
        return _spark_type(found[0], named, above)
    if all(isinstance(each, str) for each in found) and frozenset(found) in _WIDER:
        return _WIDER[frozenset(found)]
    said = " or ".join(map(_name, found)) or "null alone"
    raise InputError(f"Spark has no type for Avro's union of {said}; right is null and one other type")


def _referred(name: str, named: Named, above: tuple[str, ...]) -> Any:
    if name in above:
        raise InputError(f"the Avro type {name} contains itself; Spark has no such type")
    if name not in named:
        raise InputError(f"there is no Avro type {name}")
    return named[name]


def _name(schema: Any) -> str:
    return str(schema.get("name", schema["type"])) if isinstance(schema, dict) else str(schema)


def after_reading(schema: Any, named: Named) -> Conversion:
    """From what fastavro gives to what Arrow takes."""
    return _conversion(schema, named, {"uuid": str, "time-millis": _time_ms, "time-micros": _time_us}, None)


def before_writing(schema: Any, named: Named) -> Conversion:
    """From what Arrow gives, maps as lists of pairs, to what fastavro takes."""
    return _conversion(schema, named, {}, dict)


def _conversion(schema: Any, named: Named, logical: Logical, pairs: Conversion) -> Conversion:
    def of(schema: Any) -> Conversion:
        if isinstance(schema, list):
            return next(iter(filter(None, map(of, schema))), None)
        if isinstance(schema, str):
            return of(named[schema]) if schema in named else None
        kind = schema["type"]
        if isinstance(kind, dict | list):
            return of(kind)
        if kind == "record":
            return _each_field({each["name"]: of(each["type"]) for each in schema["fields"]})
        if kind == "array":
            return _each_item(of(schema["items"]))
        if kind == "map":
            return _each_value(of(schema["values"]), pairs)
        return logical.get(schema.get("logicalType", ""))

    return _unless_none(of(schema))


def _unless_none(inner: Conversion) -> Conversion:
    return inner and (lambda value: None if value is None else inner(value))


def _each_field(fields: Mapping[str, Conversion]) -> Conversion:
    converted = {name: each for name, inner in fields.items() if (each := _unless_none(inner)) is not None}

    def convert(record: dict[str, Any]) -> dict[str, Any]:
        for name, inner in converted.items():
            if name in record:
                record[name] = inner(record[name])
        return record

    return convert if converted else None


def _each_item(inner: Conversion) -> Conversion:
    each = _unless_none(inner)
    return each and (lambda items: [each(item) for item in items])


def _each_value(inner: Conversion, pairs: Conversion) -> Conversion:
    each = _unless_none(inner)
    if each is None:
        return pairs
    return lambda values: {key: each(value) for key, value in dict(values).items()}


def _time_ms(value: Any) -> Any:
    return _time_us(value) // 1_000 if isinstance(value, time) else value


def _time_us(value: Any) -> Any:
    if not isinstance(value, time):
        return value
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
