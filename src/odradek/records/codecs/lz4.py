"""lz4: one frame of independent blocks; what follows the frame is ignored, as Java does.

Blocks that depend on one another are refused: Java clients cannot read them. The first clients, those of magic 0,
computed the header's checksum over the frame's magic number too; for their messages it is written so, and not looked at
on reading.
"""

import struct
from collections.abc import Iterator

import lz4.frame

from odradek.common.ports import Buffer
from odradek.records.codecs.bounded import CHUNK_BYTES, collect, refuse
from odradek.records.errors import InvalidRecord

_MAGIC = struct.pack("<I", 0x184D2204)
_FLAGS_AT = 4
_CONTENT_SIZE_AT = 6
_CONTENT_SIZE = struct.Struct("<Q")

_INDEPENDENT_BIT = 0x20
_CONTENT_SIZE_BIT = 0x08
_DICTIONARY_BIT = 0x01
_SHORTEST_FRAME_BYTES = 7

_MASK = 0xFFFFFFFF
_PRIME_1, _PRIME_2, _PRIME_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME_4, _PRIME_5 = 0x27D4EB2F, 0x165667B1


def compress(data: Buffer, level: int | None, *, old_checksum: bool = False) -> bytes:
    frame = lz4.frame.compress(
        data,
        compression_level=lz4.frame.COMPRESSIONLEVEL_MIN if level is None else level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    if not old_checksum:
        return bytes(frame)
    return _with_checksum(memoryview(frame), frame[:_CONTENT_SIZE_AT])


def decompress(data: Buffer, limit_bytes: int, *, old_checksum: bool = False) -> bytes:
    with memoryview(data) as view:
        header_end = _check_header(view, limit_bytes)
        if not old_checksum:
            return collect(lambda: _unfold(view), limit_bytes)
        with memoryview(_with_checksum(view, bytes(view[_FLAGS_AT : header_end - 1]))) as renewed:
            return collect(lambda: _unfold(renewed), limit_bytes)


def _check_header(view: memoryview, limit_bytes: int) -> int:
    """Return the end of the header, including its checksum."""
    if len(view) < _SHORTEST_FRAME_BYTES or view[:_FLAGS_AT] != _MAGIC:
        raise InvalidRecord("lz4: no frame begins here")
    flags = view[_FLAGS_AT]
    if not flags & _INDEPENDENT_BIT:
        raise InvalidRecord("lz4: blocks that depend on one another are not part of Kafka's format")
    if flags & _DICTIONARY_BIT:
        raise InvalidRecord("lz4: dictionaries are not part of Kafka's format")
    if not flags & _CONTENT_SIZE_BIT:
        return _SHORTEST_FRAME_BYTES
    if len(view) < _SHORTEST_FRAME_BYTES + _CONTENT_SIZE.size:
        raise InvalidRecord("lz4: the frame ends within its header")
    if _CONTENT_SIZE.unpack_from(view, _CONTENT_SIZE_AT)[0] > limit_bytes:
        raise refuse(limit_bytes)
    return _SHORTEST_FRAME_BYTES + _CONTENT_SIZE.size


def _unfold(view: memoryview) -> Iterator[bytes]:
    context = lz4.frame.create_decompression_context()
    position = 0
    finished = False
    while not finished:
        try:
            chunk, consumed, finished = lz4.frame.decompress_chunk(context, view[position:], max_length=CHUNK_BYTES)
        except RuntimeError as error:
            raise InvalidRecord(f"lz4: {error}") from None
        position += consumed
        if not chunk and not finished and position >= len(view):
            raise InvalidRecord("lz4: the stream ends within its frame")
        yield chunk


def _with_checksum(frame: memoryview, covered: bytes) -> bytes:
    """The frame with the header checksum that belongs to these bytes."""
    header_end = _SHORTEST_FRAME_BYTES + (_CONTENT_SIZE.size if frame[_FLAGS_AT] & _CONTENT_SIZE_BIT else 0)
    checksum = bytes([xxh32(covered) >> 8 & 0xFF])
    return b"".join((frame[: header_end - 1], checksum, frame[header_end:]))


def xxh32(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes: a frame's header is never longer."""
    value = _PRIME_5 + len(data)
    position = 0
    while position + 4 <= len(data):
        value = value + int.from_bytes(data[position : position + 4], "little") * _PRIME_3 & _MASK
        value = _rotate(value, 17) * _PRIME_4 & _MASK
        position += 4
    for byte in data[position:]:
        value = value + byte * _PRIME_5 & _MASK
        value = _rotate(value, 11) * _PRIME_1 & _MASK
    value = (value ^ value >> 15) * _PRIME_2 & _MASK
    value = (value ^ value >> 13) * _PRIME_3 & _MASK
    return value ^ value >> 16


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK
