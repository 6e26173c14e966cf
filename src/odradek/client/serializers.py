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
    type_name = type(value).__name__
    raise InputError(f"{value!r:.100} is {type_name}, not bytes: encode it, or set key_serializer or value_serializer.")


def from_bytes(data: bytes) -> bytes:
    """The default: bytes as they are."""
    return data


def _text(value: Any) -> bytes:
    return str(value).encode()


def _struct_pair(form: str) -> tuple[Serializer, Deserializer]:
    packer = struct.Struct(form)
    return packer.pack, lambda data: packer.unpack(data)[0]


_PAIRS: Mapping[str, tuple[Serializer, Deserializer]] = {
    "ByteArray": (as_bytes, from_bytes),
    "String": (_text, bytes.decode),
    "Short": _struct_pair(">h"),
    "Integer": _struct_pair(">i"),
    "Long": _struct_pair(">q"),
    "Float": _struct_pair(">f"),
    "Double": _struct_pair(">d"),
}


def serializer(setting: object) -> Serializer | None:
    """Return the serializer of a setting, a callable or the name of a Java class; None if it is neither."""
    pair = _pair(setting, "Serializer")
    return pair[0] if pair else setting if callable(setting) else None


def deserializer(setting: object) -> Deserializer | None:
    pair = _pair(setting, "Deserializer")
    return pair[1] if pair else setting if callable(setting) else None


def _pair(setting: object, suffix: str) -> tuple[Serializer, Deserializer] | None:
    if not isinstance(setting, str):
        return None
    name = setting.removeprefix(_PACKAGE)
    return _PAIRS.get(name.removesuffix(suffix)) if name.endswith(suffix) else None


def check_record(timestamp_ms: object, headers: Iterable[object]) -> None:
    """Check the parts of a record that have no serializer. Raises InputError."""
    if not isinstance(timestamp_ms, int):
        raise InputError(f"timestamp_ms={timestamp_ms!r}: expected an int, in milliseconds since 1970.")
    for header in headers:
        match header:
            case (str(), bytes() | bytearray() | None) if isinstance(header, tuple):
                pass
            case _:
                raise InputError(f'{header!r} is not a header. Expected ("name", b"value"), or None for the value.')
