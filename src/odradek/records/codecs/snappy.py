"""snappy, in the framing of the xerial library that Java clients use, or bare.

The framing: an 8-byte magic, version and oldest compatible version (4 bytes each), then blocks, each with its length in
4 bytes. Streams may follow one another. Snappy blocks declare their unfolded size, so the limit is kept before anything
is unfolded.
"""

import struct
from collections.abc import Iterator

import cramjam

from odradek.common.ports import Buffer
from odradek.records.codecs.bounded import refuse
from odradek.records.errors import InvalidRecord

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = _MAGIC + struct.pack(">ii", 1, 1)
_LENGTH = struct.Struct(">i")

#: What Java's writer puts into a block; readers reserve a block's unfolded size, so it is not for us to grow.
_BLOCK_BYTES = 32 * 1024

#: The element that stands for most bytes, 64, takes three: a block that declares a greater ratio is no snappy.
_LARGEST_RATIO = 22


def compress(data: Buffer, level: int | None) -> bytes:
    """Snappy has no levels."""
    parts = [_HEADER]
    with memoryview(data) as view:
        for start in range(0, len(view), _BLOCK_BYTES):
            block = bytes(cramjam.snappy.compress_raw(view[start : start + _BLOCK_BYTES]))
            parts += (_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def decompress(data: Buffer, limit_bytes: int) -> bytes:
    with memoryview(data) as view:
        blocks = list(_blocks(view)) if view[: len(_MAGIC)] == _MAGIC else [view]
        try:
            sizes = [_declared_size(block) for block in blocks]
            if sum(sizes) > limit_bytes:
                raise refuse(limit_bytes)
            return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in blocks)
        except cramjam.DecompressionError as error:
            raise InvalidRecord(f"snappy: {error}") from None


def _declared_size(block: memoryview) -> int:
    size = int(cramjam.snappy.decompress_raw_len(block))
    if size > len(block) * _LARGEST_RATIO:
        raise InvalidRecord(f"snappy: {len(block)} bytes that claim to unfold to {size}")
    return size


def _blocks(view: memoryview) -> Iterator[memoryview]:
    position, end = len(_HEADER), len(view)
    if end < position:
        raise InvalidRecord("snappy: the stream ends within its header")
    while position < end:
        if view[position : position + len(_MAGIC)] == _MAGIC:  # another stream follows
            position += len(_HEADER)
            continue
        if position + _LENGTH.size > end:
            raise InvalidRecord("snappy: the stream ends within a block's length")
        (length,) = _LENGTH.unpack_from(view, position)
        position += _LENGTH.size
        if not 0 < length <= end - position:
            raise InvalidRecord(f"snappy: a block of {length} bytes, but {end - position} are left")
        yield view[position : position + length]
        position += length
