"""From bytes to what a handler wants, chosen by its annotation, and back for what it sends.

| type | bytes |
| --- | --- |
| bytes, str | as they are; UTF-8 |
| dict, list, int, float, bool, Any | JSON |
| msgspec.Struct, data class, TypedDict, NamedTuple | JSON, checked by msgspec (`odradek[service]`) |
| pydantic model | JSON, checked by pydantic |
| Protobuf message class | Protobuf |
| Avro | by `codec=AvroCodec("order.avsc")` |

`X | None` lets tombstones, records without a value, through as None; for others they are undecodable.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from odradek.common.extras import missing_extra
from odradek.common.failures import InputError


class Undecodable(Exception):
    """The bytes are no message of the type that the handler wants."""


class Codec(Protocol):
    @property
    def name(self) -> str:
        """For people: what it makes of bytes."""

    def decode(self, data: bytes) -> Any:
        """Whatever it raises says that the bytes are no such message."""

    def encode(self, value: Any) -> bytes:
        """For what a handler sends."""


@dataclass(frozen=True, slots=True)
class Functions:
    """A codec of two functions."""

    name: str
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]


_JSON_TYPES = (dict, list, int, float, bool)


def _to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


BYTES = Functions("bytes", bytes, bytes)
TEXT = Functions("str", lambda data: data.decode(), lambda text: str(text).encode())
JSON = Functions("JSON", json.loads, _to_json)


def codec_for(value_type: Any) -> Codec:
    """Raises InputError for a type that has none."""
    if value_type in (Any, None) or typing.get_origin(value_type) in (dict, list) or value_type in _JSON_TYPES:
        return _json_of(value_type)
    if value_type is bytes:
        return BYTES
    if value_type is str:
        return TEXT
    if hasattr(value_type, "model_validate_json"):
        return Functions(_name(value_type), value_type.model_validate_json, _dump_pydantic)
    if hasattr(value_type, "FromString") and hasattr(value_type, "SerializeToString"):
        return Functions(_name(value_type), value_type.FromString, value_type.SerializeToString)
    if _is_for_msgspec(value_type):
        return _msgspec_codec(value_type)
    raise InputError(
        f"messages of type {_name(value_type)} cannot be read. Expected bytes, str, dict, a data class, a "
        "msgspec.Struct, a pydantic model or a Protobuf message class; pass codec= for any other type."
    )


def split_optional(value_type: Any) -> tuple[Any, bool]:
    """`X` and True of `X | None`."""
    if typing.get_origin(value_type) not in (types.UnionType, typing.Union):
        return value_type, False
    rest = [member_type for member_type in typing.get_args(value_type) if member_type is not type(None)]
    if len(rest) != 1:
        raise InputError(f"a handler's message is of one type, perhaps or None, and not {value_type}.")
    return rest[0], len(typing.get_args(value_type)) == 2


def encode_any(value: Any) -> bytes | None:
    """Encode a value that a handler sends, by its type."""
    return None if value is None else codec_for(type(value)).encode(value)


def _name(value_type: Any) -> str:
    return str(getattr(value_type, "__name__", value_type))


def _json_of(value_type: Any) -> Codec:
    """A number is no object: the kind that was asked for is checked, what is in it is not."""
    kind = typing.get_origin(value_type) or value_type
    if kind in (Any, None):
        return JSON
    accepted = (int, float) if kind is float else kind

    def decode(data: bytes) -> Any:
        value = json.loads(data)
        if not isinstance(value, accepted):
            raise Undecodable(f"JSON of a {kind.__name__} was expected, this is a {type(value).__name__}")
        return value

    return Functions(f"JSON {kind.__name__}", decode, _to_json)


def _is_for_msgspec(value_type: Any) -> bool:
    return isinstance(value_type, type) and (
        hasattr(value_type, "__struct_fields__")
        or dataclasses.is_dataclass(value_type)
        or typing.is_typeddict(value_type)
        or (issubclass(value_type, tuple) and hasattr(value_type, "_fields"))
    )


def _msgspec_codec(value_type: type) -> Codec:
    try:
        msgspec_json = import_module("msgspec.json")
    except ImportError:
        raise missing_extra("service", f"the message type {_name(value_type)}") from None
    return Functions(_name(value_type), msgspec_json.Decoder(value_type).decode, msgspec_json.encode)


def _dump_pydantic(value: Any) -> bytes:
    text: str = value.model_dump_json()
    return text.encode()
