"""The prefix of values in the format of schema registries: it names the schema the value was written with. Pure.

It is a byte 0 and the schema id as four bytes (big endian). With Protobuf, the message indexes follow: the index of the
message in the file of the schema, then the index of the message nested in that one, and so on. They are zigzag varints
after their count; the most common value, the first message of a file, is a single 0.
"""

import struct
from dataclasses import dataclass

from odradek.common.failures import ProtocolError
from odradek.protocol.primitives import read_varint, write_varint

MAGIC = 0
_PREFIX = struct.Struct(">bi")

#: Messages are not nested deeper; a larger count means invalid data.
_INDEXES_MAX = 64


@dataclass(frozen=True, slots=True)
class Prefix:
    """The prefix of a value."""

    schema_id: int
    #: Position after it: that of the value, or with Protobuf of the indexes.
    end: int


def read_prefix(data: bytes) -> Prefix:
    """Read the prefix of a value. Raise ValueError if there is none."""
    if len(data) < _PREFIX.size:
        raise ValueError(f"{len(data)} bytes are too few for the prefix of a schema registry")
    magic, schema_id = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise ValueError(f"byte {data[0]} instead of 0 at the start of the prefix of a schema registry")
    return Prefix(schema_id, _PREFIX.size)


def encode_prefix(schema_id: int) -> bytes:
    return _PREFIX.pack(MAGIC, schema_id)


def read_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """Return the indexes, and the position of the value. Raise ValueError."""
    try:
        return _read_indexes(data, start)
    except ProtocolError as error:
        raise ValueError(f"invalid message indexes: {error}") from None


def _read_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    count, position = read_varint(data, start)
    if count == 0:
        return (0,), position
    if not 0 < count <= _INDEXES_MAX:
        raise ValueError(f"invalid count of message indexes: {count}")
    indexes = []
    for _ in range(count):
        index, position = read_varint(data, position)
        indexes.append(index)
    return tuple(indexes), position


def encode_indexes(indexes: tuple[int, ...]) -> bytes:
    if indexes == (0,):
        return b"\0"
    return b"".join(write_varint(value) for value in (len(indexes), *indexes))
