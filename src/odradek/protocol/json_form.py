"""Kafka's own JSON form of messages, as its tools print and read them.

Names in camelCase; bytes and records as base64; uuids in Kafka's text; a tagged field only when it is not at its
default. Unknown tagged fields have no place in it. Kafka's own converters write every `records` field as empty; so
does `to_json(..., records=False)`, while by default the content is there, and a message survives the way and back.
"""

import base64
import binascii
from collections.abc import Sequence
from sys import modules
from typing import Any, TypeVar, cast

from odradek.common.ids import uuid_from_text, uuid_to_text
from odradek.protocol.codec import check_version, schema_of
from odradek.protocol.encode_errors import INTEGER_BITS, explain, integer_range, is_default
from odradek.protocol.errors import InvalidMessage, UnsupportedVersion
from odradek.protocol.message import Message
from odradek.protocol.schema import Field, Schema

M = TypeVar("M", bound=Message)
T = TypeVar("T")

Json = dict[str, object]


def to_json(message: Message, version: int, *, records: bool = True) -> Json:
    """Raises UnsupportedVersion for what the version cannot say, InvalidMessage for what none could."""
    check_version(type(message), version)
    schema = schema_of(type(message))
    return _Writer(message, schema, version, records).struct(message, schema.fields)


def from_json(message_class: type[M], version: int, value: object) -> M:
    """Raises InvalidMessage, naming the path to what is wrong."""
    check_version(message_class, version)
    schema = schema_of(message_class)
    return cast(M, _Reader(message_class, schema, version).struct(value, schema.name, schema.fields, ""))


class _Writer:
    def __init__(self, root: Message, schema: Schema, version: int, records: bool) -> None:
        self.root = root
        self.schema = schema
        self.version = version
        self.records = records

    def struct(self, value: Message, fields: Sequence[Field]) -> Json:
        out: Json = {}
        for field in fields:
            inner = getattr(value, field.name)
            if self.version not in field.versions:
                if not field.ignorable and not is_default(self.schema, field, inner):
                    raise explain(self.root, self.schema, self.version)
            elif field.tag is None or not is_default(self.schema, field, inner):
                out[field.json_name] = self._field(inner, field)
        return out

    def _field(self, value: Any, field: Field) -> object:
        if value is None:
            if self.version not in field.nullable:
                raise explain(self.root, self.schema, self.version)
            return None
        if field.is_array:
            return [self._element(element, field) for element in value]
        return self._element(value, field)

    def _element(self, value: Any, field: Field) -> object:
        if field.is_struct:
            return self.struct(value, self.schema.structs[field.element])
        if field.element == "uuid":
            return uuid_to_text(value)
        if field.element == "records" and not self.records:
            return ""
        if field.element in ("bytes", "records"):
            return base64.b64encode(value).decode()
        return cast(object, value)


class _Reader:
    def __init__(self, message_class: type[Message], schema: Schema, version: int) -> None:
        self.classes = vars(modules[message_class.__module__])
        self.schema = schema
        self.version = version

    def struct(self, value: object, name: str, fields: Sequence[Field], path: str) -> Message:
        if not isinstance(value, dict):
            raise self._wrong(path.rstrip(".") or name, value, "an object")
        message = cast(Message, self.classes[name]())
        left = dict(value)
        for field in fields:
            where = path + field.json_name
            if field.json_name in left:
                setattr(message, field.name, self._field(left.pop(field.json_name), field, where))
            elif self.version in field.versions and field.tag is None:
                raise InvalidMessage(f"{self.schema.name}: {where} is missing; version {self.version} needs it")
        if left:
            names = ", ".join(f"{path}{key}" for key in left)
            raise InvalidMessage(f"{self.schema.name} has no field {names}")
        return message

    def _field(self, value: object, field: Field, where: str) -> object:
        read = self._value(value, field, where)
        if self.version not in field.versions and not field.ignorable and not is_default(self.schema, field, read):
            text = f"{self.schema.name} version {self.version} cannot carry {where}"
            raise UnsupportedVersion(text, field=where, version=self.version)
        return read

    def _value(self, value: object, field: Field, where: str) -> object:
        if value is None:
            # A field that this version lacks may hold what some version can.
            if field.nullable.last < field.nullable.first:
                raise InvalidMessage(f"{self.schema.name}: {where} must not be null")
            return None
        if not field.is_array:
            return self._element(value, field, where)
        if not isinstance(value, list):
            raise self._wrong(where, value, "an array")
        return [self._element(element, field, f"{where}[{index}]") for index, element in enumerate(value)]

    def _element(self, value: object, field: Field, where: str) -> object:
        type_ = field.element
        if field.is_struct:
            return self.struct(value, type_, self.schema.structs[type_], where + ".")
        if type_ in INTEGER_BITS:
            first, last = integer_range(type_)
            if not isinstance(value, int) or isinstance(value, bool) or not first <= value <= last:
                raise self._wrong(where, value, f"an integer from {first} to {last}")
            return value
        if type_ == "bool":
            return self._typed(value, bool, where, "true or false")
        if type_ == "float64":
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise self._wrong(where, value, "a number")
            return float(value)
        text = self._typed(value, str, where, "a string")
        return text if type_ == "string" else self._binary(text, type_, where)

    def _typed(self, value: object, type_: type[T], where: str, expected: str) -> T:
        if not isinstance(value, type_):
            raise self._wrong(where, value, expected)
        return value

    def _binary(self, text: str, type_: str, where: str) -> bytes:
        try:
            if type_ == "uuid":
                return uuid_from_text(text)
            return base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error) as error:
            raise InvalidMessage(f"{self.schema.name}: {where}: {error}") from None

    def _wrong(self, where: str, value: object, expected: str) -> InvalidMessage:
        text = repr(value)
        excerpt = text if len(text) <= 60 else text[:57] + "..."
        return InvalidMessage(f"{self.schema.name}: {where} is {excerpt}; it must be {expected}")
