"""Record batches as they lie on the wire and on disk, read without copying.

A `Batch` is a view of one whole batch inside somebody's buffer: its header is unpacked once, everything else is
derived when it is asked for. The same class stands for a message of the two older formats (magic 0 and 1); see
`odradek.records.legacy`.

Layout of magic 2, big-endian; the CRC-32C covers everything after itself:

    base_offset 8 | length 4 | leader_epoch 4 | magic 1 | crc 4 | attributes 2 | last_offset_delta 4 |
    base_timestamp 8 | max_timestamp 8 | producer_id 8 | producer_epoch 2 | base_sequence 4 | count 4 | records

`base_offset` and `leader_epoch` lie outside of the CRC on purpose: the leader writes them in place.

Reading and checking are separate: `read_batch` makes sure that there is a batch of a possible shape, `check` that its
bytes are undamaged, `records` (and `odradek.records.batch_walk`) that what the CRC covers makes sense.
"""

import struct
from collections.abc import Iterator

from odradek.common.ports import Buffer
from odradek.records.compression import DEFAULT_LIMIT_BYTES, Compression, decompress
from odradek.records.crc import crc32c
from odradek.records.decode import decode_records
from odradek.records.errors import CorruptRecord, IncompleteBatch, UnsupportedCompression
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

#: By magic: the smallest message of the old formats has null for key and value.
SMALLEST_BYTES = (OVERHEAD_BYTES + SMALLEST_LENGTH, OVERHEAD_BYTES + SMALLEST_LENGTH + 8, HEADER_BYTES)

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
            raise UnsupportedCompression(f"batch up to offset {self.last_offset}: no codec has the number {codec}")
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
        """Time after which the cleaner may drop tombstones or marker; it takes the place of the base timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    def check(self) -> None:
        """Raises CorruptRecord unless the bytes are the ones that were checksummed."""
        computed = crc32c(self.buffer[ATTRIBUTES_AT:])
        if computed != self.crc:
            raise CorruptRecord(
                f"batch at offset {self.base_offset}: stored CRC {self.crc:#010x}, computed {computed:#010x}"
            )

    def payload(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> bytes:
        """The bytes of the records, decompressed: a copy. ExpandedTooLarge beyond `limit_bytes`."""
        if not self.attributes & COMPRESSION_MASK:
            return bytes(self.buffer[HEADER_BYTES:])
        return decompress(self.compression, self.buffer[HEADER_BYTES:], limit_bytes)

    def records(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Iterator[Record]:
        """Every record in turn; InvalidRecord where there is none.

        A compressed batch that would unfold to more than `limit_bytes` raises ExpandedTooLarge before any record."""
        if not self.count:
            return iter(())
        return decode_records(
            self.payload(limit_bytes),
            self.count,
            self.base_offset,
            self.base_timestamp,
            self.max_timestamp if self.attributes & APPEND_TIME_BIT else None,
            self.base_sequence,
        )

    def __repr__(self) -> str:
        return f"Batch(offsets {self.base_offset}..{self.last_offset}, {self.size_bytes} bytes, magic {self.magic})"


def size_at(buffer: Buffer, position: int) -> int:
    """Size in bytes of the batch that starts here, of any format, from its first 12 bytes; it may be incomplete."""
    (length,) = _LENGTH.unpack_from(buffer, position + LENGTH_AT)
    if length < SMALLEST_LENGTH:
        raise CorruptRecord(f"batch at position {position}: its length of {length} is below {SMALLEST_LENGTH}")
    return int(length) + OVERHEAD_BYTES


def read_batch(buffer: Buffer, position: int = 0) -> Batch:
    """The batch that starts at `position`. Raises IncompleteBatch if it ends beyond the buffer, CorruptRecord if its
    length or magic is impossible. Its CRC is not looked at."""
    view = buffer if type(buffer) is memoryview else memoryview(buffer)
    return _read(view, position, len(view))


def read_batches(buffer: Buffer, position: int = 0, end: int | None = None) -> Iterator[Batch]:
    """Every whole batch between `position` and `end`, in order; an incomplete one at the end is left out."""
    view = buffer if type(buffer) is memoryview else memoryview(buffer)
    end = len(view) if end is None else min(end, len(view))
    while position < end:
        try:
            batch = _read(view, position, end)
        except IncompleteBatch:
            return
        yield batch
        position += batch.size_bytes


def offset_after(buffer: Buffer) -> int | None:
    """The offset that follows the last whole batch; None if there is none. The others are only skipped over."""
    last, position, end = -1, 0, len(buffer)
    while position + OVERHEAD_BYTES <= end:
        end_of_batch = position + size_at(buffer, position)
        if end_of_batch > end:
            break
        last, position = position, end_of_batch
    return read_batch(buffer, last).next_offset if last >= 0 else None


def _read(view: memoryview, position: int, end: int) -> Batch:
    if position + HEADER_BYTES <= end:
        fields = header_at(view, position)
        length = fields[1]
        batch_end = position + length + OVERHEAD_BYTES
        if fields[3] == MAGIC_V2 and length >= HEADER_BYTES - OVERHEAD_BYTES and batch_end <= end:
            return Batch(view[position:batch_end], fields)
    return _read_other(view, position, end)


def _read_other(view: memoryview, position: int, end: int) -> Batch:
    """Whatever is not a whole batch of magic 2: an older one, an incomplete one, or none."""
    if position + OVERHEAD_BYTES > end:
        raise IncompleteBatch(f"batch at position {position}: {end - position} bytes are too few for a header")
    size = size_at(view, position)
    if position + PREFIX_BYTES > end:
        raise IncompleteBatch(f"batch at position {position}: {end - position} bytes are too few for a header")
    magic = view[position + MAGIC_AT]
    if magic > MAGIC_V2:
        raise CorruptRecord(f"batch at position {position}: no format has the magic {magic}")
    smallest = SMALLEST_BYTES[magic]
    if size < smallest:
        raise CorruptRecord(f"batch at position {position}: {size} bytes, but magic {magic} needs {smallest}")
    if position + size > end:
        raise IncompleteBatch(f"batch at position {position}: {size} bytes, but {end - position} are left")
    from odradek.records.legacy import LegacyBatch  # its base is `Batch`; few processes ever meet one

    return LegacyBatch(view[position : position + size])
