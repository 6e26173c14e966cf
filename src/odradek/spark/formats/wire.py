"""How schema registries frame values: which schema they were written with stands before them. Pure.

A byte 0, the schema's id as four bytes (big endian), the value. Protobuf has the message's indexes between the two:
which message of the schema's file it is, then which message nested in that one, and so on. They are zigzag varints,
their number first; the commonest, the first message of a file, is a single 0.
"""

import struct
from dataclasses import dataclass

from odradek.common.failures import ProtocolError
from odradek.protocol.primitives import read_varint, write_varint

MAGIC = 0
_PREFIX = struct.Struct(">bi")

#: Messages are not nested deeper; a larger number of indexes is garbage.
_INDEXES_MAX = 64


@dataclass(frozen=True, slots=True)
class Framed:
    schema_id: int
    #: Where the value begins, or with Protobuf the indexes.
    start: int


def unframed(data: bytes) -> Framed:
    """Raises ValueError for what is not framed."""
    if len(data) < _PREFIX.size:
        raise ValueError(f"{len(data)} bytes are too few for a registry's prefix")
    magic, schema_id = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise ValueError(f"byte {data[0]} where a registry's prefix begins with 0")
    return Framed(schema_id, _PREFIX.size)


def prefix(schema_id: int) -> bytes:
    return _PREFIX.pack(MAGIC, schema_id)


def read_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """The indexes, and where the value begins. Raises ValueError."""
    try:
        return _read_indexes(data, start)
    except ProtocolError as error:
        raise ValueError(f"no message indexes: {error}") from None


def _read_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    count, at = read_varint(data, start)
    if count == 0:
        return (0,), at
    if not 0 < count <= _INDEXES_MAX:
        raise ValueError(f"{count} message indexes")
    found = []
    for _ in range(count):
        index, at = read_varint(data, at)
        found.append(index)
    return tuple(found), at


def write_indexes(indexes: tuple[int, ...]) -> bytes:
    if indexes == (0,):
        return b"\0"
    return b"".join(write_varint(number) for number in (len(indexes), *indexes))
