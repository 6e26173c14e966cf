"""Messages of the two older formats, byte by byte."""

import struct
import zlib

from odradek.records.compression import Compression, compress


def message(
    offset: int,
    magic: int,
    key: bytes | None,
    value: bytes | None,
    *,
    attributes: int = 0,
    timestamp: int = -1,
) -> bytes:
    covered = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    for part in (key, value):
        covered += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return struct.pack(">qiI", offset, len(covered) + 4, zlib.crc32(covered)) + covered


def wrapper(
    magic: int, offset: int, inner: list[bytes], codec: Compression, *, attributes: int = 0, **rest: int
) -> bytes:
    folded = compress(codec, b"".join(inner), magic=magic)
    return message(offset, magic, None, folded, attributes=codec | attributes, **rest)
