"""Messages to bytes and back.

For each message and version there is a function each way, written as source by `encoding` and `decoding` when it is
first used, and kept. A body is only the message; lengths of frames and headers are `framing` and `requests`.

Whatever the bytes are, decoding gives a message or raises ProtocolError. Encoding raises UnsupportedVersion when the
version cannot say what the message holds, and InvalidMessage when no version could. Both raise UnsupportedVersion for a
version that the message does not have.
"""

import struct
from collections.abc import Callable
from typing import TypeVar

from odradek.common.failures import ProtocolError
from odradek.common.ports import Buffer
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.message import Message
from odradek.protocol.schema import Schema, parse_schema

M = TypeVar("M", bound=Message)


class NotEncodable(Exception):
    """Raised by an encoder: some value cannot be written in this version."""


_NOT_WRITABLE = (NotEncodable, struct.error, AttributeError, TypeError, ValueError)

_Decoder = Callable[[Buffer, int], tuple[M, int]]
_Encoder = Callable[[Message, Callable[[Buffer], None]], None]

_SCHEMAS: dict[type[Message], Schema] = {}
_DECODERS: dict[type[Message], dict[int, _Decoder[Message]]] = {}
_ENCODERS: dict[type[Message], dict[int, _Encoder]] = {}


def encode(message: Message, version: int) -> bytes:
    """The body's bytes."""
    try:
        encoder = _ENCODERS[type(message)][version]
    except KeyError:
        encoder = _new_encoder(type(message), version)
    pieces: list[Buffer] = []
    try:
        encoder(message, pieces.append)
        return b"".join(pieces)
    except _NOT_WRITABLE as error:
        raise _explained(message, version) from error


def encode_parts(message: Message, version: int) -> list[Buffer]:
    """The same in pieces, in order; `records` are among them as they are, uncopied."""
    try:
        encoder = _ENCODERS[type(message)][version]
    except KeyError:
        encoder = _new_encoder(type(message), version)
    pieces: list[Buffer] = []
    try:
        encoder(message, pieces.append)
    except _NOT_WRITABLE as error:
        raise _explained(message, version) from error
    return pieces


def size(message: Message, version: int) -> int:
    """Return the size in bytes of the encoded message."""
    return sum(map(len, encode_parts(message, version)))


def decode(message_class: type[M], version: int, buffer: Buffer, position: int = 0) -> M:
    """The message from `position` to the end of the buffer; bytes that are left over raise as any other flaw does."""
    message, end = decoder(message_class, version)(buffer, position)
    if end != len(buffer):
        raise ProtocolError(f"{message_class.__name__} v{version}: {len(buffer) - end} bytes are left over")
    return message


def decode_prefix(message_class: type[M], version: int, buffer: Buffer, position: int = 0) -> tuple[M, int]:
    """The message that starts at `position`, and where it ends."""
    return decoder(message_class, version)(buffer, position)


def decoder(message_class: type[M], version: int) -> _Decoder[M]:
    """The function behind `decode_prefix`, for callers that keep it."""
    try:
        return _DECODERS[message_class][version]  # type: ignore[return-value]
    except KeyError:
        return _new_decoder(message_class, version)


def schema_of(message_class: type[Message]) -> Schema:
    schema = _SCHEMAS.get(message_class)
    if schema is None:
        schema = _SCHEMAS[message_class] = parse_schema(message_class.SCHEMA)
    return schema


def check_version(message_class: type[Message], version: int) -> None:
    first, last = message_class.VERSIONS
    if not first <= version <= last:
        name = message_class.__name__
        raise UnsupportedVersion(f"{name} has versions {first} to {last}, not {version}", version=version)


def _new_decoder(message_class: type[M], version: int) -> _Decoder[M]:
    # Imported here: a process that only looks at names and keys never needs the generators.
    from odradek.protocol.decoding import build_decoder

    check_version(message_class, version)
    built = build_decoder(message_class, schema_of(message_class), version)
    _DECODERS.setdefault(message_class, {})[version] = built
    return built


def _new_encoder(message_class: type[Message], version: int) -> _Encoder:
    from odradek.protocol.encoding import build_encoder

    check_version(message_class, version)
    built = build_encoder(schema_of(message_class), version)
    _ENCODERS.setdefault(message_class, {})[version] = built
    return built


def _explained(message: Message, version: int) -> Exception:
    from odradek.protocol.encode_errors import explain

    return explain(message, schema_of(type(message)), version)
