"""The codecs of record batches, as Kafka frames them, with a bound on what comes out.

Whoever decompresses names the most bytes that may come out. The bound is kept before memory is: a size that the
compressed form declares is compared first, and a form that declares none is unfolded in chunks. Output up to
`KEPT_WHILE_MEASURING_BYTES` is kept as it comes; beyond that the rest is only counted, and unfolded for good in a
second pass once it is known to fit. A bomb therefore costs time in proportion to the limit, but never its memory.

What each codec is on the wire:

* gzip: one or more members. What follows the last member and is none is ignored, as Java does.
* snappy: the xerial framing (a 16-byte header, then blocks with their lengths) is written, since Java clients read
  nothing else of more than one block; bare snappy, which librdkafka writes, is accepted.
* lz4: one frame of independent blocks. Under magic 0 and 1 the header's checksum is wrong by convention (it covers
  the frame's magic number too) and is ignored on reading.
* zstd: any number of frames, with or without their content's size. Not in magic 0 and 1.
"""

from collections.abc import Callable, Iterator
from enum import IntEnum

from odradek.common.ports import Buffer
from odradek.records.errors import ExpandedTooLarge, InvalidRecord, UnsupportedCompression


class Compression(IntEnum):
    """The three lowest bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


#: As much as a request may carry uncompressed (`socket.request.max.bytes`): compression is no way around it.
DEFAULT_LIMIT_BYTES = 100 * 1024 * 1024


def compress(codec: Compression, data: Buffer, level: int | None = None, magic: int = 2) -> bytes:
    """`level` None is the codec's own default, as with Kafka's `compression.*.level`."""
    raise NotImplementedError


def decompress(codec: Compression, data: Buffer, limit_bytes: int = DEFAULT_LIMIT_BYTES, magic: int = 2) -> bytes:
    """Raises ExpandedTooLarge beyond `limit_bytes`, InvalidRecord for what the codec cannot read."""
    raise NotImplementedError
