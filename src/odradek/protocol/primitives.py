"""Variable-length integers, the one primitive that `struct` does not know.

Unsigned varints carry lengths, counts and tags of flexible messages; the signed ones (zigzag) are the record format's.
Seven bits a byte, lowest first, the high bit says that more follow. A padded form (more bytes than needed) is accepted
as Kafka accepts it, up to the width of the type; anything longer is refused.

`position` is where to read; the pair that comes back is the value and the position after it.
"""

from typing import NoReturn

from odradek.common.failures import ProtocolError
from odradek.common.ports import Buffer

#: Bytes that the widest 32-bit and 64-bit varint take.
VARINT_BYTES_MAX = 5
VARLONG_BYTES_MAX = 10

_UINT32_MAX = 0xFFFF_FFFF
_UINT64_MAX = 0xFFFF_FFFF_FFFF_FFFF

#: Encodings of 0 to 127: nearly every length and count in practice.
SMALL_UVARINTS = tuple(bytes((value,)) for value in range(128))


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """An unsigned 32-bit varint."""
    return _read(buffer, position, VARINT_BYTES_MAX, _UINT32_MAX)


def read_uvarlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """An unsigned 64-bit varint."""
    return _read(buffer, position, VARLONG_BYTES_MAX, _UINT64_MAX)


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """A signed 32-bit varint (zigzag)."""
    value, position = _read(buffer, position, VARINT_BYTES_MAX, _UINT32_MAX)
    return (value >> 1) ^ -(value & 1), position


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """A signed 64-bit varint (zigzag)."""
    value, position = _read(buffer, position, VARLONG_BYTES_MAX, _UINT64_MAX)
    return (value >> 1) ^ -(value & 1), position


def write_uvarint(value: int) -> bytes:
    """`value` is not negative; the caller knows the width that its type allows."""
    if value < 128:
        return SMALL_UVARINTS[value]
    if value < 1 << 14:
        return bytes((value & 127 | 128, value >> 7))
    if value < 1 << 21:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_varint(value: int) -> bytes:
    """Zigzag of a signed 32-bit integer."""
    return write_uvarint((value << 1) ^ (value >> 31))


def write_varlong(value: int) -> bytes:
    """Zigzag of a signed 64-bit integer."""
    return write_uvarint((value << 1) ^ (value >> 63))


def uvarint_bytes(value: int) -> int:
    """Return the size in bytes of the unsigned varint."""
    return max(1, (value.bit_length() + 6) // 7)


def varint_bytes(value: int) -> int:
    """Return the size in bytes of the varint."""
    return uvarint_bytes((value << 1) ^ (value >> 31))


def varlong_bytes(value: int) -> int:
    """Return the size in bytes of the varlong."""
    return uvarint_bytes((value << 1) ^ (value >> 63))


def _read(buffer: Buffer, position: int, bytes_max: int, value_max: int) -> tuple[int, int]:
    value = shift = 0
    end = len(buffer)
    for index in range(position, position + bytes_max):
        if index >= end:
            raise ProtocolError(f"a varint at byte {position} goes beyond the end of the message")
        byte = buffer[index]
        value |= (byte & 127) << shift
        if byte < 128:
            if value > value_max:
                _overlong(position)
            return value, index + 1
        shift += 7
    return _overlong(position)


def _overlong(position: int) -> NoReturn:
    raise ProtocolError(f"a varint at byte {position} is longer than its type allows")
