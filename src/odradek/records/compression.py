"""The codecs of record batches, as Kafka frames them, with a bound on what comes out.

Whoever decompresses names the most bytes that may come out. The bound is kept before memory is: a size that the
compressed form declares is compared first, and a form that declares none is unfolded in chunks, which are kept up to a
few MiB and beyond that only counted; once the whole is known to fit, it is unfolded for good. A bomb costs time in
proportion to the limit, but never its memory.

What each codec is on the wire is told in its module under `odradek.records.codecs`.
"""

from enum import IntEnum

from odradek.common.ports import Buffer
from odradek.records.errors import UnsupportedCompression


class Compression(IntEnum):
    """The three lowest bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


#: As much as a request may carry uncompressed (`socket.request.max.bytes`): compression is no way around it.
DEFAULT_LIMIT_BYTES = 100 * 1024 * 1024

#: What whole batches of the usual sizes come to: they may be as alike within as they like.
_ANYTHING_UP_TO_BYTES = 4 * 1024 * 1024

#: Logs of one line repeated reach a few hundred; beyond this nothing was sent but the wish for memory.
_LARGEST_RATIO = 1_000

_MAGIC_V2 = 2


def compress(codec: Compression, data: Buffer, level: int | None = None, magic: int = 2) -> bytes:
    """`level` None is the codec's own default, as with Kafka's `compression.*.level`."""
    if codec == Compression.NONE:
        return bytes(data)
    if codec == Compression.GZIP:
        from odradek.records.codecs import gzip

        return gzip.compress(data, level)
    if codec == Compression.SNAPPY:
        from odradek.records.codecs import snappy

        return snappy.compress(data, level)
    if codec == Compression.LZ4:
        from odradek.records.codecs import lz4

        return lz4.compress(data, level, old_checksum=magic == 0)
    _refuse_old_zstd(magic)
    from odradek.records.codecs import zstd

    return zstd.compress(data, level)


def decompress(codec: Compression, data: Buffer, limit_bytes: int = DEFAULT_LIMIT_BYTES, magic: int = 2) -> bytes:
    """Raises ExpandedTooLarge beyond `limit_bytes`, InvalidRecord for what the codec cannot read."""
    if codec == Compression.NONE:
        return bytes(data)
    if codec == Compression.GZIP:
        from odradek.records.codecs import gzip

        return gzip.decompress(data, limit_bytes)
    if codec == Compression.SNAPPY:
        from odradek.records.codecs import snappy

        return snappy.decompress(data, limit_bytes)
    if codec == Compression.LZ4:
        from odradek.records.codecs import lz4

        return lz4.decompress(data, limit_bytes, old_checksum=magic == 0)
    _refuse_old_zstd(magic)
    from odradek.records.codecs import zstd

    return zstd.decompress(data, limit_bytes)


def unfolded_bytes_max(folded_bytes: int) -> int:
    """The most that a batch of a stranger may unfold to."""
    return min(DEFAULT_LIMIT_BYTES, max(_ANYTHING_UP_TO_BYTES, folded_bytes * _LARGEST_RATIO))


def _refuse_old_zstd(magic: int) -> None:
    if magic < _MAGIC_V2:
        raise UnsupportedCompression(f"zstd does not exist in batches of magic {magic}")
