"""Taking records out of a batch without decoding the ones that stay.

Compaction asks three things of a record: its offset, its key, and whether it has a value. `scan` reads just those, and
where each record begins. A batch that loses records is then put together from ranges of its own payload: offset deltas
stay valid because the base offset stays, and timestamps do too unless the base timestamp must change. It changes when
the first record goes (the base is always the first record's time), when a delete horizon takes its place, and for
append time, where all records count from the time of the batch; only then are the deltas written anew.

What never changes: base and last offset, so that the last sequence of a producer stays computable; producer id, epoch
and sequence; leader epoch; transactional and control flags; codec. Formats before magic 2 become magic 2 when they are
touched.
"""

from collections.abc import Iterator, Sequence

from crc32c import crc32c

from odradek.common.failures import check
from odradek.records.batch import (
    APPEND_TIME_BIT,
    ATTRIBUTES_AT,
    CRC_AT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    MAGIC_V2,
    OVERHEAD_BYTES,
    Batch,
)
from odradek.records.builder import BatchBuilder, varint
from odradek.records.compression import Compression, compress
from odradek.records.errors import InvalidRecord
from odradek.records.record import NO_TIMESTAMP, Record, TimestampType


class Rows:
    """The records of many batches as columns; row numbers run on from batch to batch."""

    __slots__ = ("has_value", "keyless", "keys", "offsets", "starts")

    def __init__(self) -> None:
        self.offsets: list[int] = []
        #: Empty for a record without a key; `keyless` has the row numbers of those.
        self.keys: list[bytes] = []
        self.keyless: list[int] = []
        self.has_value: list[bool] = []
        #: Where the record begins in its batch's payload.
        self.starts: list[int] = []


class ScannedBatch:
    """A batch whose records are rows `first_row` up to `end_row` of its `Rows`."""

    __slots__ = ("batch", "end_row", "first_row", "legacy_records", "payload")

    def __init__(self, batch: Batch, rows: Rows, limit_bytes: int) -> None:
        self.batch = batch
        self.first_row = len(rows.offsets)
        self.payload = b""
        self.legacy_records: list[Record] = []
        if batch.magic >= MAGIC_V2:
            self.payload = batch.payload(limit_bytes)
            scan_payload(self.payload, batch.count, batch.base_offset, rows)
        else:
            self.legacy_records = list(batch.records(limit_bytes))
            _add_records(self.legacy_records, rows)
        self.end_row = len(rows.offsets)


def scan_payload(data: bytes, count: int, base_offset: int, rows: Rows) -> None:
    """Hot loop: 0.7 µs a record. Numbers are zigzag varints, most of them one byte; a negative length is odd."""
    offsets, keys, has_value, starts = rows.offsets, rows.keys, rows.has_value, rows.starts
    position, end = 0, len(data)
    try:
        for _ in range(count):
            starts.append(position)
            length = data[position]
            position += 1
            if length >= 0x80:
                length, position = _unsigned(data, position - 1)
            record_end = position + (length >> 1)
            position += 1  # attributes, unused
            while data[position] >= 0x80:  # timestamp delta: not needed here
                position += 1
            delta = data[position + 1]
            position += 2
            if delta >= 0x80:
                delta, position = _unsigned(data, position - 1)
            offsets.append(base_offset + (delta >> 1))
            key_size = data[position]
            position += 1
            if key_size >= 0x80:
                key_size, position = _unsigned(data, position - 1)
            if key_size & 1:
                rows.keyless.append(len(keys))
                keys.append(b"")
            else:
                key_end = position + (key_size >> 1)
                keys.append(data[position:key_end])
                position = key_end
            has_value.append(not data[position] & 1)
            if position >= record_end:
                raise InvalidRecord(f"record at offset {offsets[-1]}: its key reaches beyond it")
            position = record_end
    except IndexError:
        raise InvalidRecord(f"batch at offset {base_offset}: it ends within a record") from None
    if position != end:
        raise InvalidRecord(f"batch at offset {base_offset}: {end - position} bytes after its last record")


def _unsigned(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[position]) >= 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
        position += 1
    return value | byte << shift, position + 1


def _add_records(records: Sequence[Record], rows: Rows) -> None:
    for record in records:
        if record.key is None:
            rows.keyless.append(len(rows.keys))
        rows.offsets.append(record.offset)
        rows.keys.append(record.key or b"")
        rows.has_value.append(record.value is not None)
        rows.starts.append(0)


def keep_records(scanned: ScannedBatch, rows: Rows, kept: Sequence[int], delete_horizon_ms: int | None) -> bytes:
    """The batch with only the rows in `kept`, at least one. `delete_horizon_ms` is a new horizon to stamp; one that the
    batch already has stays."""
    batch = scanned.batch
    check(len(kept) > 0, "a batch without records is made by empty_batch")
    if batch.magic < MAGIC_V2:
        return _converted(batch, [scanned.legacy_records[row - scanned.first_row] for row in kept], delete_horizon_ms)
    horizon_ms = batch.delete_horizon_ms if delete_horizon_ms is None else delete_horizon_ms
    appended = bool(batch.attributes & APPEND_TIME_BIT)
    times = _timestamps(scanned, rows, kept)
    if horizon_ms is not None:
        base_timestamp = horizon_ms
    else:
        base_timestamp = times[0]
    if base_timestamp == batch.base_timestamp and not appended:
        payload = b"".join(_ranges(scanned, rows, kept))
    else:
        payload = b"".join(_restamped(scanned, rows, kept, [time - base_timestamp for time in times]))
    max_timestamp = batch.max_timestamp if appended else max(NO_TIMESTAMP, *times)
    attributes = batch.attributes & ~DELETE_HORIZON_BIT | (DELETE_HORIZON_BIT if horizon_ms is not None else 0)
    return _assemble(batch, attributes, base_timestamp, max_timestamp, len(kept), payload)


def _converted(batch: Batch, records: Sequence[Record], delete_horizon_ms: int | None) -> bytes:
    """An older format as magic 2. It had no last offset of its own that a producer could miss."""
    appended = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    builder = BatchBuilder(
        base_offset=records[0].offset,
        compression=batch.compression,
        timestamp_type=TimestampType.LOG_APPEND_TIME if appended else TimestampType.CREATE_TIME,
        append_time_ms=batch.max_timestamp if appended else None,
        delete_horizon_ms=delete_horizon_ms,
    )
    for record in records:
        builder.append(record.timestamp, record.key, record.value, record.headers, record.offset)
    return builder.build()


def _assemble(
    batch: Batch, attributes: int, base_timestamp: int, max_timestamp: int, count: int, payload: bytes
) -> bytes:
    """A header with the fields that stay and those that changed, before the payload in the batch's own codec."""
    if batch.compression is not Compression.NONE:
        payload = compress(batch.compression, payload)
    built = bytearray(HEADER_BYTES)
    HEADER.pack_into(
        built,
        0,
        batch.base_offset,
        HEADER_BYTES + len(payload) - OVERHEAD_BYTES,
        batch.leader_epoch,
        MAGIC_V2,
        0,
        attributes,
        batch.last_offset_delta,
        base_timestamp,
        max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        count,
    )
    crc = crc32c(payload, crc32c(built[ATTRIBUTES_AT:]))
    built[CRC_AT:ATTRIBUTES_AT] = crc.to_bytes(4, "big")
    return b"".join((built, payload))


def _end_of(scanned: ScannedBatch, rows: Rows, row: int) -> int:
    return rows.starts[row + 1] if row + 1 < scanned.end_row else len(scanned.payload)


def _ranges(scanned: ScannedBatch, rows: Rows, kept: Sequence[int]) -> Iterator[bytes]:
    """The bytes of the kept rows; neighbours in one piece."""
    first = last = kept[0]
    for row in kept[1:]:
        if row != last + 1:
            yield scanned.payload[rows.starts[first] : _end_of(scanned, rows, last)]
            first = row
        last = row
    yield scanned.payload[rows.starts[first] : _end_of(scanned, rows, last)]


def _timestamps(scanned: ScannedBatch, rows: Rows, kept: Sequence[int]) -> list[int]:
    batch, data = scanned.batch, scanned.payload
    if batch.attributes & APPEND_TIME_BIT:
        return [batch.max_timestamp] * len(kept)
    times = []
    for row in kept:
        position = rows.starts[row]
        while data[position] >= 0x80:
            position += 1
        delta, _ = _unsigned(data, position + 2)
        times.append(batch.base_timestamp + ((delta >> 1) ^ -(delta & 1)))
    return times


def _restamped(scanned: ScannedBatch, rows: Rows, kept: Sequence[int], deltas: Sequence[int]) -> Iterator[bytes]:
    """The kept rows with other timestamp deltas, and so with other lengths."""
    data = scanned.payload
    for row, delta in zip(kept, deltas, strict=True):
        position = rows.starts[row]
        while data[position] >= 0x80:
            position += 1
        attributes = data[position + 1 : position + 2]
        position += 2
        while data[position] >= 0x80:
            position += 1
        rest = data[position + 1 : _end_of(scanned, rows, row)]
        stamp = varint(delta)
        yield varint(1 + len(stamp) + len(rest)) + attributes + stamp + rest
