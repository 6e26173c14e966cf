"""Record batches as they lie on the wire and on disk, read without copying.

A `Batch` is a view of one whole batch inside somebody's buffer: its header is unpacked once, everything else is
derived when it is asked for. The same class stands for a message of the two older formats (magic 0 and 1); see
`odradek.records.legacy`.

Layout of magic 2, big-endian; the CRC-32C covers everything after itself:

    base_offset 8 | length 4 | leader_epoch 4 | magic 1 | crc 4 | attributes 2 | last_offset_delta 4 |
    base_timestamp 8 | max_timestamp 8 | producer_id 8 | producer_epoch 2 | base_sequence 4 | count 4 | records

`base_offset` and `leader_epoch` lie outside of the CRC on purpose: the leader writes them in place.

Reading and checking are separate: `read_batch` makes sure that there is a batch of a possible shape, `check` that its
bytes are undamaged, `records` (and `odradek.records.walk`) that what the CRC covers makes sense.
"""

import struct
from collections.abc import Iterator

from crc32c import crc32c

from odradek.common.ports import Buffer
from odradek.records.compression import DEFAULT_LIMIT_BYTES, Compression, decompress
from odradek.records.errors import CorruptRecord, IncompleteBatch, InvalidRecord, UnsupportedCompression
from odradek.records.record import NO_SEQUENCE, Header, Record, TimestampType, add_to_sequence

__all__ = [
    "HEADER",
    "HEADER_BYTES",
    "OVERHEAD_BYTES",
    "PREFIX_BYTES",
    "Batch",
    "Compression",
    "Header",
    "Record",
    "TimestampType",
    "header_at",
    "read_batch",
    "read_batches",
    "size_at",
]

MAGIC_V2 = 2

#: The header of magic 2, in the order of `Batch.__init__`; `length` counts the bytes after itself.
HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size  # 61

#: Base offset and length: what comes before the bytes that `length` counts, in every format.
OVERHEAD_BYTES = 12

#: Up to and with the magic byte, which lies at the same place in every format: enough to know a batch's size and kind.
PREFIX_BYTES = 17

#: `header_at(buffer, position)`: all fields of a header of magic 2 as a tuple, for walks over millions of batches.
#: (base_offset, length, leader_epoch, magic, crc, attributes, last_offset_delta, base_timestamp, max_timestamp,
#: producer_id, producer_epoch, base_sequence, count); the size of the batch is length + OVERHEAD_BYTES.
header_at = HEADER.unpack_from

LENGTH_AT = 8
LEADER_EPOCH_AT = 12
MAGIC_AT = 16
CRC_AT = 17
ATTRIBUTES_AT = 21
LAST_OFFSET_DELTA_AT = 23
BASE_TIMESTAMP_AT = 27
MAX_TIMESTAMP_AT = 35

COMPRESSION_MASK = 0x07
APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_LEADER_EPOCH = -1

#: The smallest message of magic 0: CRC, magic, attributes and two lengths. No batch of any format is shorter.
SMALLEST_LENGTH = 14

_LENGTH = struct.Struct(">i")
_CODECS = tuple(Compression)


class Batch:
    """One whole batch; `buffer` is a view of exactly its bytes."""

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "buffer",
        "count",
        "crc",
        "last_offset_delta",
        "leader_epoch",
        "magic",
        "max_timestamp",
        "producer_epoch",
        "producer_id",
        "size_bytes",
    )

    def __init__(self, buffer: memoryview, fields: tuple[int, ...]) -> None:
        """`fields` as `header_at` gives them."""
        self.buffer = buffer
        (
            self.base_offset,
            length,
            self.leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        ) = fields
        self.size_bytes = length + OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return add_to_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression(self) -> Compression:
        """Raises UnsupportedCompression for the three numbers that name no codec."""
        codec = self.attributes & COMPRESSION_MASK
        if codec >= len(_CODECS):
            raise UnsupportedCompression(f"batch at offset {self.base_offset}: no codec has the number {codec}")
        return _CODECS[codec]

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & APPEND_TIME_BIT else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the cleaner may drop this batch's tombstones or marker; it takes the place of the base timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    def check(self) -> None:
        """Raises CorruptRecord unless the bytes are the ones that were checksummed."""
        computed = crc32c(self.buffer[ATTRIBUTES_AT:])
        if computed != self.crc:
            raise CorruptRecord(
                f"batch at offset {self.base_offset}: stored CRC {self.crc:#010x}, computed {computed:#010x}"
            )

    def payload(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> bytes:
        """The bytes of the records, decompressed: a copy."""
        raise NotImplementedError

    def records(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Iterator[Record]:
        """Every record in turn; InvalidRecord where there is none.

        A compressed batch that would unfold to more than `limit_bytes` raises ExpandedTooLarge before any record."""
        raise NotImplementedError


def size_at(buffer: Buffer, position: int) -> int:
    """Size in bytes of the batch that starts here, of any format, from its first 12 bytes; it may be incomplete."""
    (length,) = _LENGTH.unpack_from(buffer, position + LENGTH_AT)
    if length < SMALLEST_LENGTH:
        raise CorruptRecord(f"batch at position {position}: its length of {length} is below {SMALLEST_LENGTH}")
    return int(length) + OVERHEAD_BYTES


def read_batch(buffer: Buffer, position: int = 0) -> Batch:
    """The batch that starts at `position`. Raises IncompleteBatch if it ends beyond the buffer, CorruptRecord if its
    length or magic is impossible. Its CRC is not looked at."""
    raise NotImplementedError


def read_batches(buffer: Buffer, position: int = 0, end: int | None = None) -> Iterator[Batch]:
    """Every whole batch between `position` and `end`, in order; an incomplete one at the end is left out."""
    raise NotImplementedError
