"""Taking records out of a batch without decoding the ones that stay.

Compaction asks three things of a record: its offset, its key, and whether it has a value. `Rows` has those for all
records of many batches as arrays, with the place of each record in their unfolded payloads. A batch that loses records
is then put together from ranges of its own payload: offset deltas stay valid because the base offset stays, and
timestamps do too unless the base timestamp must change. It changes when the first record goes (the base is always the
first record's time), when a delete horizon takes its place, and for append time, where all records count from the time
of the batch; only then are the deltas written anew.

What never changes: base and last offset, so that the last sequence of a producer stays computable; producer id, epoch
and sequence; leader epoch; transactional and control flags; codec. Formats before magic 2 become magic 2 when they are
touched.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

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
    read_batch,
)
from odradek.records.batch_walk import record_ends
from odradek.records.builder import BatchBuilder, varint
from odradek.records.columns.layout import lay_out
from odradek.records.compression import Compression, compress
from odradek.records.crc import crc32c
from odradek.records.record import NO_TIMESTAMP, Record, TimestampType

Int64s = npt.NDArray[np.int64]


class Rows:
    """The records of `batches` as columns: those of batch i are rows `bounds[i]` up to `bounds[i + 1]`.

    `starts`, `ends` and `key_starts` are positions in `data`; a key or value length of -1 is null."""

    __slots__ = (
        "batches",
        "bounds",
        "data",
        "ends",
        "key_lengths",
        "key_starts",
        "offsets",
        "starts",
        "timestamps",
        "value_lengths",
    )

    def __init__(self, batches: Sequence[Batch], limit_bytes: int) -> None:
        """`limit_bytes` bounds what each batch may unfold to. Raises `InvalidRecord` for what is no set of records."""
        self.batches = [batch if batch.magic >= MAGIC_V2 else _renewed(batch, limit_bytes) for batch in batches]
        payloads = [batch.payload(limit_bytes) for batch in self.batches]
        self.data = b"".join(payloads)
        starts: list[int] = []
        ends: list[int] = []
        position = 0
        for batch, payload in zip(self.batches, payloads, strict=True):
            found = record_ends(self.data, position, position + len(payload), batch.count)
            if found:
                starts.append(position)
                starts += found[:-1]
                ends += found
            position += len(payload)
        counts = np.array([batch.count for batch in self.batches], dtype=np.int64)
        self.bounds = [0, *np.cumsum(counts).tolist()]
        self.starts = np.array(starts, dtype=np.int64)
        self.ends = np.array(ends, dtype=np.int64)
        layout = lay_out(self.data, self.starts, self.ends)
        self.offsets = np.repeat(_column(self.batches, "base_offset"), counts) + layout.offset_delta
        self.timestamps = np.repeat(_column(self.batches, "base_timestamp"), counts) + layout.timestamp_delta
        self.key_starts, self.key_lengths = layout.key_start, layout.key_length
        self.value_lengths = layout.value_length

    def __len__(self) -> int:
        return len(self.offsets)


def _column(batches: Sequence[Batch], name: str) -> Int64s:
    return np.array([getattr(batch, name) for batch in batches], dtype=np.int64)


def _renewed(batch: Batch, limit_bytes: int) -> Batch:
    """A message of an older format as a batch of magic 2 with the same records."""
    return read_batch(_converted(batch, list(batch.records(limit_bytes)), None))


def _converted(batch: Batch, records: Sequence[Record], delete_horizon_ms: int | None) -> bytes:
    """It has no producer who could miss an offset, so it reaches from the first record that is left to the last."""
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


def keep_records(original: Batch, rows: Rows, kept: Int64s, delete_horizon_ms: int | None) -> bytes:
    """`original`, a batch of `rows`, with only the rows in `kept`, at least one. `delete_horizon_ms` is a new horizon
    to stamp; one that the batch already has stays."""
    check(len(kept) > 0, "a batch without records is made by empty_batch")
    batch = rows.batches[bisect_right(rows.bounds, int(kept[0])) - 1]
    if original.magic < MAGIC_V2:
        wanted = frozenset(rows.offsets[kept].tolist())
        return _converted(original, [r for r in batch.records() if r.offset in wanted], delete_horizon_ms)
    horizon_ms = batch.delete_horizon_ms if delete_horizon_ms is None else delete_horizon_ms
    appended = bool(batch.attributes & APPEND_TIME_BIT)
    times = np.full(len(kept), batch.max_timestamp) if appended else rows.timestamps[kept]
    base_timestamp = int(times[0]) if horizon_ms is None else horizon_ms
    if base_timestamp == batch.base_timestamp and not appended:
        payload = b"".join(_ranges(rows, kept))
    else:
        payload = b"".join(_restamped(rows, kept, times - base_timestamp))
    return _assemble(
        batch,
        attributes=batch.attributes & ~DELETE_HORIZON_BIT | (DELETE_HORIZON_BIT if horizon_ms is not None else 0),
        base_timestamp=base_timestamp,
        max_timestamp=max(NO_TIMESTAMP, int(times.max())),
        count=len(kept),
        payload=payload,
    )


def _assemble(
    batch: Batch, *, attributes: int, base_timestamp: int, max_timestamp: int, count: int, payload: bytes
) -> bytes:
    """A header with the fields that stay and those that changed, before the payload in the batch's own codec."""
    if batch.compression is not Compression.NONE:
        payload = compress(batch.compression, payload)
    header = bytearray(HEADER_BYTES)
    HEADER.pack_into(
        header,
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
    crc = crc32c(payload, crc32c(header[ATTRIBUTES_AT:]))
    header[CRC_AT:ATTRIBUTES_AT] = crc.to_bytes(4, "big")
    return b"".join((header, payload))


def _ranges(rows: Rows, kept: Int64s) -> Iterator[bytes]:
    """The bytes of the kept rows; neighbours in one piece."""
    data = rows.data
    breaks = np.flatnonzero(np.diff(kept) != 1)
    firsts = kept[np.concatenate(([0], breaks + 1))]
    lasts = kept[np.concatenate((breaks, [len(kept) - 1]))]
    for start, end in zip(rows.starts[firsts].tolist(), rows.ends[lasts].tolist(), strict=True):
        yield data[start:end]


def _restamped(rows: Rows, kept: Int64s, deltas: Int64s) -> Iterator[bytes]:
    """The kept rows with other timestamp deltas, and so with other lengths. 1 µs a record."""
    data = rows.data
    places = zip(rows.starts[kept].tolist(), rows.ends[kept].tolist(), deltas.tolist(), strict=True)
    for position, end, delta in places:
        while data[position] >= 0x80:  # the length
            position += 1
        position += 1
        attributes = data[position : position + 1]
        position += 1
        while data[position] >= 0x80:  # the old delta
            position += 1
        stamp = varint(delta)
        rest = data[position + 1 : end]
        yield b"%b%b%b%b" % (varint(1 + len(stamp) + len(rest)), attributes, stamp, rest)
