"""Conversion of Protobuf's types and messages to Spark's types and rows, and back.

| Protobuf | Spark |
| --- | --- |
| bool, string, bytes, float, double | BOOLEAN, STRING, BINARY, FLOAT, DOUBLE |
| int32, sint32, sfixed32; int64, sint64, sfixed64 | INT; BIGINT |
| uint32, fixed32; uint64, fixed64 | BIGINT; DECIMAL(20,0) |
| enum | STRING, its name; the number as text if it has no name |
| message, repeated, map | STRUCT, ARRAY, MAP |
| Timestamp, Duration | TIMESTAMP, INTERVAL DAY TO SECOND, in microseconds |
| BoolValue, Int32Value, … | the type of the value, nullable |
| Struct, Value, ListValue | STRING of JSON |

A field with presence (messages, `optional`, `oneof`) is null if it was not set; other fields have their defaults.
Fields whose message type has no fields are left out: Spark has no empty struct in tables. Recursive messages have no
type in Spark and are rejected.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from google.protobuf import json_format  # type: ignore[import-untyped]
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from odradek.common.failures import InputError

_PLAIN: dict[int, DataType] = {
    FieldDescriptor.TYPE_BOOL: BooleanType(),
    FieldDescriptor.TYPE_STRING: StringType(),
    FieldDescriptor.TYPE_BYTES: BinaryType(),
    FieldDescriptor.TYPE_FLOAT: FloatType(),
    FieldDescriptor.TYPE_DOUBLE: DoubleType(),
    **dict.fromkeys(
        (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32), IntegerType()
    ),
    **dict.fromkeys(
        (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64), LongType()
    ),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32), LongType()),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64), DecimalType(20, 0)),
}
_UNSIGNED_64 = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
_WRAPPERS = tuple(
    f"google.protobuf.{type_name}Value"
    for type_name in ("Bool", "String", "Bytes", "Float", "Double", "Int32", "Int64", "UInt32", "UInt64")
)
_JSON = ("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue")
_TIMESTAMP, _DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class ValueCodec:
    """Conversion of single values: an element, the value of a map, a field that is not repeated."""

    spark_type: DataType
    #: Converts Protobuf's value to a value for Arrow.
    read: Callable[[Any], Any]
    #: Converts Arrow's value to the value of a field. Messages are not assigned, but filled.
    assigned: Callable[[Any], Any] = _same
    fill: Callable[[Any, Any], None] | None = None


@dataclass(frozen=True, slots=True)
class _FieldCodec:
    """Conversion of one field of a message."""

    name: str
    spark_type: DataType
    #: Reads the field of a message.
    read: Callable[[Any], Any]
    write: Callable[[Any, Any], None]


def message_codec(descriptor: Any, above: tuple[str, ...] = ()) -> ValueCodec:
    """Return the conversion of a message. Raise InputError if Spark has no type for it."""
    name = descriptor.full_name
    if name in above:
        raise InputError(f"the message {name} is recursive; Spark has no such type")
    well_known = _well_known(name, descriptor)
    if well_known is not None:
        return well_known
    fields = [_field(field, (*above, name)) for field in descriptor.fields if not _is_empty(field.message_type)]
    readers = [(field.name, field.read) for field in fields]
    writers = {field.name: field.write for field in fields}

    def fill(message: Any, row: dict[str, Any]) -> None:
        for key, value in row.items():
            if key not in writers:
                raise ValueError(f"field {key} is not in message {name}")
            if value is not None:
                writers[key](message, value)

    return ValueCodec(
        StructType([StructField(field.name, field.spark_type) for field in fields]),
        lambda message: {key: read(message) for key, read in readers},
        fill=fill,
    )


def _is_empty(descriptor: Any) -> bool:
    return descriptor is not None and not descriptor.fields


def _field(field: Any, above: tuple[str, ...]) -> _FieldCodec:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return _map_field(field, above)
    codec = _codec(field, above)
    return _repeated_field(field.name, codec) if field.is_repeated else _single_field(field, codec)


def _codec(field: Any, above: tuple[str, ...]) -> ValueCodec:
    if field.message_type is not None:
        return message_codec(field.message_type, above)
    if field.type == FieldDescriptor.TYPE_ENUM:
        return _enum_codec(field.enum_type)
    if field.type in _UNSIGNED_64:
        return ValueCodec(_PLAIN[field.type], Decimal, int)
    return ValueCodec(_PLAIN[field.type], _same)


def _enum_codec(enum: Any) -> ValueCodec:
    names = {code: value.name for code, value in enum.values_by_number.items()}
    codes = {name: value.number for name, value in enum.values_by_name.items()}

    def code_of(name: str) -> int:
        if name in codes:
            return int(codes[name])
        if name.lstrip("-").isdecimal():
            return int(name)
        raise ValueError(f"{name} is not in enum {enum.full_name}")

    return ValueCodec(StringType(), lambda code: names.get(code) or str(code), code_of)


def _single_field(field: Any, codec: ValueCodec) -> _FieldCodec:
    name: str = field.name

    def read(message: Any) -> Any:
        return codec.read(getattr(message, name))

    def read_if_set(message: Any) -> Any:
        return codec.read(getattr(message, name)) if message.HasField(name) else None

    def write(message: Any, value: Any) -> None:
        if codec.fill is None:
            setattr(message, name, codec.assigned(value))
        else:
            inner = getattr(message, name)
            inner.SetInParent()
            codec.fill(inner, value)

    return _FieldCodec(name, codec.spark_type, read_if_set if field.has_presence else read, write)


def _repeated_field(name: str, codec: ValueCodec) -> _FieldCodec:
    def write(message: Any, values: Any) -> None:
        into = getattr(message, name)
        for value in values:
            if codec.fill is None:
                into.append(codec.assigned(value))
            else:
                codec.fill(into.add(), value)

    def read(message: Any) -> Any:
        return [codec.read(value) for value in getattr(message, name)]

    return _FieldCodec(name, ArrayType(codec.spark_type), read, write)


def _map_field(field: Any, above: tuple[str, ...]) -> _FieldCodec:
    name: str = field.name
    entry = field.message_type.fields_by_name
    keys, values = _codec(entry["key"], above), _codec(entry["value"], above)

    def read(message: Any) -> Any:
        return [(keys.read(key), values.read(value)) for key, value in getattr(message, name).items()]

    def write(message: Any, pairs: Any) -> None:
        into = getattr(message, name)
        for key, value in pairs:
            if values.fill is None:
                into[keys.assigned(key)] = values.assigned(value)
            else:
                values.fill(into[keys.assigned(key)], value)

    return _FieldCodec(name, MapType(keys.spark_type, values.spark_type), read, write)


def _well_known(name: str, descriptor: Any) -> ValueCodec | None:
    if name == _TIMESTAMP:
        return ValueCodec(TimestampType(), _in_us, fill=lambda message, value: _fill_us(message, (value - _EPOCH)))
    if name == _DURATION:
        return ValueCodec(DayTimeIntervalType(), _in_us, fill=_fill_us)
    if name in _WRAPPERS:
        inner = _codec(descriptor.fields_by_name["value"], ())
        return ValueCodec(
            inner.spark_type,
            lambda message: inner.read(message.value),
            fill=lambda message, value: setattr(message, "value", inner.assigned(value)),
        )
    if name in _JSON:
        return ValueCodec(StringType(), _to_json, fill=_fill_json)
    return None


def _in_us(message: Any) -> int:
    return int(message.seconds) * 1_000_000 + int(message.nanos) // 1_000


def _fill_us(message: Any, length: timedelta) -> None:
    """Set seconds and nanoseconds.

    In a duration both have the same sign; in a timestamp nanoseconds are not negative."""
    in_us = length // _MICROSECOND
    sign = -1 if in_us < 0 and message.DESCRIPTOR.full_name == _DURATION else 1
    seconds, rest = divmod(in_us * sign, 1_000_000)
    message.seconds, message.nanos = seconds * sign, rest * sign * 1_000


def _to_json(message: Any) -> str:
    return str(json_format.MessageToJson(message, indent=None))


def _fill_json(message: Any, text: str) -> None:
    json_format.Parse(text, message)
