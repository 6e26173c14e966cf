"""Writing batches of magic 2: by producers, coordinators, the cleaner and the raft log.

Records are encoded as they are appended, the header and the CRC once at the end. A batch is at most as large as its
32-bit length allows; whoever appends decides, by `size_bytes`, when it is full.
"""

import struct
from collections.abc import Iterable, Sequence

from odradek.common.failures import check
from odradek.common.ports import Buffer
from odradek.records.batch import (
    APPEND_TIME_BIT,
    ATTRIBUTES_AT,
    CONTROL_BIT,
    CRC_AT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    OVERHEAD_BYTES,
    TRANSACTIONAL_BIT,
    Batch,
)
from odradek.records.compression import Compression, compress
from odradek.records.control import ControlType, control_key, end_transaction_value
from odradek.records.crc import crc32c
from odradek.records.record import NO_SEQUENCE, NO_TIMESTAMP, Record, TimestampType

_CRC = struct.Struct(">I")


class BatchBuilder:
    """Collects records and becomes one batch.

    Offsets run on from `base_offset`, unless `append` names them (the cleaner keeps records where they were). With
    `timestamp_type=LOG_APPEND_TIME`, `append_time_ms` is the time of all records. With `delete_horizon_ms`, the horizon
    takes the place of the base timestamp; the records' own timestamps stay what they are.
    """

    def __init__(
        self,
        *,
        base_offset: int = 0,
        compression: Compression = Compression.NONE,
        level: int | None = None,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        append_time_ms: int | None = None,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        leader_epoch: int = NO_LEADER_EPOCH,
        is_transactional: bool = False,
        is_control: bool = False,
        delete_horizon_ms: int | None = None,
    ) -> None:
        check(
            (timestamp_type == TimestampType.LOG_APPEND_TIME) == (append_time_ms is not None),
            "a batch has an append time if and only if the log stamps it",
        )
        self._base_offset = base_offset
        self._compression = compression
        self._level = level
        self._append_time_ms = append_time_ms
        self._producer = (producer_id, producer_epoch, base_sequence)
        self._leader_epoch = leader_epoch
        self._attributes = (
            compression
            | (APPEND_TIME_BIT if append_time_ms is not None else 0)
            | (TRANSACTIONAL_BIT if is_transactional else 0)
            | (CONTROL_BIT if is_control else 0)
            | (DELETE_HORIZON_BIT if delete_horizon_ms is not None else 0)
        )
        self._base_timestamp = delete_horizon_ms
        self._max_timestamp = NO_TIMESTAMP
        self._next_offset = base_offset
        self._count = 0
        self._parts: list[Buffer] = []
        self._size_bytes = HEADER_BYTES

    @property
    def count(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """Size of the batch if it were built now without compression."""
        return self._size_bytes

    def append(
        self,
        timestamp: int,
        key: Buffer | None,
        value: Buffer | None,
        headers: Sequence[tuple[str, Buffer | None]] = (),
        offset: int | None = None,
    ) -> None:
        """`offset` None is the one after the last. 1 µs a record."""
        if offset is None:
            offset = self._next_offset
        elif offset < self._next_offset:
            check(False, f"offset {offset} comes after {self._next_offset - 1} in one batch")
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        before_key = b"\x00%b%b%b" % (
            varint(timestamp - self._base_timestamp),
            varint(offset - self._base_offset),
            _NULL if key is None else varint(len(key)),
        )
        before_value = _NULL if value is None else varint(len(value))
        after_value = encode_headers(headers) if headers else _NO_HEADERS
        key = b"" if key is None else key
        value = b"" if value is None else value
        length = len(before_key) + len(key) + len(before_value) + len(value) + len(after_value)
        head = varint(length) + before_key
        self._parts += (head, key, before_value, value, after_value)
        self._size_bytes += length + len(head) - len(before_key)
        self._next_offset = offset + 1
        self._count += 1

    def build(self, last_offset: int | None = None) -> bytes:
        """`last_offset` reaches beyond the last record where the cleaner took later ones away."""
        check(self._count > 0, "a batch is built from at least one record")
        payload = b"".join(self._parts)
        if self._compression:
            payload = compress(self._compression, payload, self._level)
        base_timestamp = self._base_timestamp
        return _assemble(
            base_offset=self._base_offset,
            leader_epoch=self._leader_epoch,
            attributes=self._attributes,
            last_offset=self._next_offset - 1 if last_offset is None else last_offset,
            base_timestamp=NO_TIMESTAMP if base_timestamp is None else base_timestamp,
            max_timestamp=self._max_timestamp if self._append_time_ms is None else self._append_time_ms,
            producer=self._producer,
            count=self._count,
            payload=payload,
        )


def retained_batch(
    original: Batch, records: Iterable[Record], *, delete_horizon_ms: int | None = None, level: int | None = None
) -> bytes:
    """`original` with only these of its records, at least one: offsets, last offset, sequence, producer, epoch, codec
    and a delete horizon that was set before are kept."""
    horizon_ms = original.delete_horizon_ms if delete_horizon_ms is None else delete_horizon_ms
    stamped = original.timestamp_type == TimestampType.LOG_APPEND_TIME
    builder = BatchBuilder(
        base_offset=original.base_offset,
        compression=original.compression,
        level=level,
        timestamp_type=original.timestamp_type,
        append_time_ms=original.max_timestamp if stamped else None,
        producer_id=original.producer_id,
        producer_epoch=original.producer_epoch,
        base_sequence=original.base_sequence,
        leader_epoch=original.leader_epoch,
        is_transactional=original.is_transactional,
        is_control=original.is_control,
        delete_horizon_ms=horizon_ms,
    )
    for record in records:
        builder.append(record.timestamp, record.key, record.value, record.headers, record.offset)
    return builder.build(original.last_offset)


def empty_batch(original: Batch) -> bytes:
    """The header alone: keeps a producer's last sequence and the end of the offsets when no record is left."""
    retained_bits = APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT
    return _assemble(
        base_offset=original.base_offset,
        leader_epoch=original.leader_epoch,
        attributes=original.attributes & retained_bits,
        last_offset=original.last_offset,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=original.max_timestamp,
        producer=(original.producer_id, original.producer_epoch, original.base_sequence),
        count=0,
        payload=b"",
    )


def control_batch(
    records: Sequence[tuple[ControlType, bytes]],
    timestamp: int,
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    is_transactional: bool = False,
) -> bytes:
    """One record for each type and value."""
    builder = BatchBuilder(
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=is_transactional,
        is_control=True,
    )
    for kind, value in records:
        builder.append(timestamp, control_key(kind), value)
    return builder.build()


def end_transaction_marker(
    *,
    commit: bool,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """The batch that ends a producer's transaction in one partition."""
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    return control_batch(
        [(kind, end_transaction_value(coordinator_epoch))],
        timestamp,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
    )


def batch_of_payload(
    payload: Buffer,
    count: int,
    *,
    compression: Compression,
    base_timestamp: int,
    max_timestamp: int,
    producer: tuple[int, int, int],
    is_transactional: bool,
) -> bytes:
    """A producer's batch of records that are packed, and compressed, already; `producer` is id, epoch and sequence."""
    return _assemble(
        base_offset=0,
        leader_epoch=NO_LEADER_EPOCH,
        attributes=compression | (TRANSACTIONAL_BIT if is_transactional else 0),
        last_offset=count - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer=producer,
        count=count,
        payload=payload,
    )


def _assemble(
    *,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset: int,
    base_timestamp: int,
    max_timestamp: int,
    producer: tuple[int, int, int],
    count: int,
    payload: Buffer,
) -> bytes:
    batch = bytearray(HEADER_BYTES)
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        HEADER_BYTES - OVERHEAD_BYTES + len(payload),
        leader_epoch,
        MAGIC_V2,
        0,
        attributes,
        last_offset - base_offset,
        base_timestamp,
        max_timestamp,
        *producer,
        count,
    )
    _CRC.pack_into(batch, CRC_AT, crc32c(payload, crc32c(batch[ATTRIBUTES_AT:])))
    return b"".join((batch, payload))


def encode_headers(headers: Sequence[tuple[str, Buffer | None]]) -> bytes:
    parts: list[Buffer] = [varint(len(headers))]
    for key, value in headers:
        name = key.encode("utf-8", "surrogateescape")
        parts += (varint(len(name)), name)
        if value is None:
            parts.append(_NULL)
        else:
            parts += (varint(len(value)), value)
    return b"".join(parts)


def varint(number: int) -> bytes:
    """Zigzag; the same bytes for an int and a long."""
    if 0 <= number < _KNOWN:
        return _VARINTS[number]
    return _varint(number)


def _varint(number: int) -> bytes:
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


#: Lengths and deltas of usual batches are below this; looking one up takes a fifth of computing it.
_KNOWN = 1024
_VARINTS = tuple(_varint(number) for number in range(_KNOWN))
_NULL = _varint(-1)
_NO_HEADERS = _varint(0)
