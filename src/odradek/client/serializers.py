"""Keys and values as bytes. Pure.

A serializer is any callable from a value to bytes, a deserializer one from bytes to a value; None is never handed to
one: it has no bytes. What Java's clients call by the names of classes is here under those names too.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from odradek.common.failures import InputError

Serializer = Callable[[Any], bytes]
Deserializer = Callable[[bytes], Any]

_PACKAGE = "org.apache.kafka.common.serialization."


def as_bytes(value: Any) -> bytes:
    """The default: what is bytes already."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    kind = type(value).__name__
    raise InputError(f"{value!r:.100} is {kind}, not bytes: encode it, or set key_serializer or value_serializer.")


def from_bytes(data: bytes) -> bytes:
    """The default: bytes as they are."""
    return data


def _text(value: Any) -> bytes:
    return str(value).encode()


def _number(form: str) -> tuple[Serializer, Deserializer]:
    packer = struct.Struct(form)
    return packer.pack, lambda data: packer.unpack(data)[0]


_PAIRS: Mapping[str, tuple[Serializer, Deserializer]] = {
    "ByteArray": (as_bytes, from_bytes),
    "String": (_text, bytes.decode),
    "Short": _number(">h"),
    "Integer": _number(">i"),
    "Long": _number(">q"),
    "Float": _number(">f"),
    "Double": _number(">d"),
}


def serializer(given: object) -> Serializer | None:
    """What was given as one: a callable, or the name of one of Java's classes. None if it is neither."""
    pair = _pair(given, "Serializer")
    return pair[0] if pair else given if callable(given) else None


def deserializer(given: object) -> Deserializer | None:
    pair = _pair(given, "Deserializer")
    return pair[1] if pair else given if callable(given) else None


def _pair(given: object, suffix: str) -> tuple[Serializer, Deserializer] | None:
    if not isinstance(given, str):
        return None
    name = given.removeprefix(_PACKAGE)
    return _PAIRS.get(name.removesuffix(suffix)) if name.endswith(suffix) else None


def check_record(timestamp_ms: object, headers: Iterable[object]) -> None:
    """What no serializer has seen. Raises InputError."""
    if not isinstance(timestamp_ms, int):
        raise InputError(f"timestamp_ms={timestamp_ms!r}: a time is an int, in milliseconds since 1970.")
    for header in headers:
        match header:
            case (str(), bytes() | bytearray() | None) if isinstance(header, tuple):
                pass
            case _:
                raise InputError(f'{header!r} is no header: right is ("name", b"value"), or None for the value.')
