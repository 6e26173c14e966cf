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


def codec_for(wanted: Any) -> Codec:
    """Raises InputError for a type that has none."""
    if wanted in (Any, None) or typing.get_origin(wanted) in (dict, list) or wanted in _JSON_TYPES:
        return _json_of(wanted)
    if wanted is bytes:
        return BYTES
    if wanted is str:
        return TEXT
    if hasattr(wanted, "model_validate_json"):
        return Functions(_name(wanted), wanted.model_validate_json, _dump_pydantic)
    if hasattr(wanted, "FromString") and hasattr(wanted, "SerializeToString"):
        return Functions(_name(wanted), wanted.FromString, wanted.SerializeToString)
    if _is_for_msgspec(wanted):
        return _msgspec_codec(wanted)
    raise InputError(
        f"messages of type {_name(wanted)} cannot be read: right are bytes, str, dict, a data class, a msgspec.Struct, "
        "a pydantic model or a Protobuf message class; for all others give codec=."
    )


def split_optional(wanted: Any) -> tuple[Any, bool]:
    """`X` and True of `X | None`."""
    if typing.get_origin(wanted) not in (types.UnionType, typing.Union):
        return wanted, False
    rest = [each for each in typing.get_args(wanted) if each is not type(None)]
    if len(rest) != 1:
        raise InputError(f"a handler's message is of one type, perhaps or None, and not {wanted}.")
    return rest[0], len(typing.get_args(wanted)) == 2


def encode_any(value: Any) -> bytes | None:
    """Encode a value that a handler sends, by its type."""
    return None if value is None else codec_for(type(value)).encode(value)


def _name(wanted: Any) -> str:
    return str(getattr(wanted, "__name__", wanted))


def _json_of(wanted: Any) -> Codec:
    """A number is no object: the kind that was asked for is checked, what is in it is not."""
    kind = typing.get_origin(wanted) or wanted
    if kind in (Any, None):
        return JSON
    accepted = (int, float) if kind is float else kind

    def decode(data: bytes) -> Any:
        value = json.loads(data)
        if not isinstance(value, accepted):
            raise Undecodable(f"JSON of a {kind.__name__} was expected, this is a {type(value).__name__}")
        return value

    return Functions(f"JSON {kind.__name__}", decode, _to_json)


def _is_for_msgspec(wanted: Any) -> bool:
    return isinstance(wanted, type) and (
        hasattr(wanted, "__struct_fields__")
        or dataclasses.is_dataclass(wanted)
        or typing.is_typeddict(wanted)
        or (issubclass(wanted, tuple) and hasattr(wanted, "_fields"))
    )


def _msgspec_codec(wanted: type) -> Codec:
    try:
        msgspec_json = import_module("msgspec.json")
    except ImportError:
        raise missing_extra("service", f"the message type {_name(wanted)}") from None
    return Functions(_name(wanted), msgspec_json.Decoder(wanted).decode, msgspec_json.encode)


def _dump_pydantic(value: Any) -> bytes:
    text: str = value.model_dump_json()
    return text.encode()
