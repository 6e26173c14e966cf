"""A record as an application gets it, and the way from a batch's bytes to it.

Nothing else is made as often, so this is written to be compiled with mypyc (see `records.batch_walk`): a whole batch
becomes a list of records in one call, 0.1 µs each; uncompiled it does the same more slowly. Compiled, a record is not
watched by the garbage collector: nobody builds a cycle through one.

Lenient where Kafka is (any negative length is a null, a varint may be longer than it needs to be): what lies in a log
must stay readable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.records.decode import decode_headers
from odradek.records.errors import InvalidRecord
from odradek.records.record import Header, TimestampType

if TYPE_CHECKING:
    from mypy_extensions import i64, mypyc_attr

#: Whether this is the extension module.
COMPILED = not __file__.endswith(".py")

#: A varint has five bytes, or ten where it is long.
_INT_BITS = 32
_LONG_BITS = 64


def _same(kind: Any) -> Any:
    return kind


def _without_effect(acyclic: bool) -> Any:
    return _same


if not COMPILED:  # the decorator is the compiler's; mypy_extensions is not needed to run
    globals()["mypyc_attr"] = _without_effect


@mypyc_attr(acyclic=True)
class ConsumerRecord:
    """`key` and `value` are bytes, or whatever the consumer's deserializers made of them; None is a null."""

    __slots__ = (
        "headers",
        "key",
        "leader_epoch",
        "offset",
        "partition",
        "timestamp_ms",
        "timestamp_type",
        "topic",
        "value",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        offset: int,
        timestamp_ms: int,
        timestamp_type: TimestampType,
        key: Any,
        value: Any,
        headers: tuple[Header, ...],
        leader_epoch: int | None,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        #: -1 where the oldest format has none.
        self.timestamp_ms = timestamp_ms
        self.timestamp_type = timestamp_type
        self.key = key
        self.value = value
        self.headers = headers
        #: Of the leader that took it; None in formats before Kafka 0.11.
        self.leader_epoch = leader_epoch

    @classmethod
    def __class_getitem__(cls, types: Any) -> Any:
        """Return the class itself, so that `ConsumerRecord[str, bytes]` can be evaluated; see `typed_record`."""
        return cls

    def _fields(self) -> tuple[Any, ...]:
        return (
            self.topic,
            self.partition,
            self.offset,
            self.timestamp_ms,
            self.timestamp_type,
            self.key,
            self.value,
            self.headers,
            self.leader_epoch,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConsumerRecord) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((self.topic, self.partition, self.offset))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return ConsumerRecord, self._fields()

    def __repr__(self) -> str:
        return (
            f"ConsumerRecord(topic={self.topic!r}, partition={self.partition}, offset={self.offset}, "
            f"timestamp_ms={self.timestamp_ms}, timestamp_type={self.timestamp_type.name}, key={self.key!r}, "
            f"value={self.value!r}, headers={self.headers!r}, leader_epoch={self.leader_epoch})"
        )


class BatchRows:
    """What the records of one batch have in common."""

    __slots__ = ("append_time_ms", "base_offset", "base_timestamp_ms", "leader_epoch", "partition", "topic")

    def __init__(
        self,
        topic: str,
        partition: int,
        leader_epoch: int | None,
        base_offset: int,
        base_timestamp_ms: int,
        append_time_ms: int | None,
    ) -> None:
        """`append_time_ms` is the time of all records where the log stamped them, or None."""
        self.topic = topic
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.base_offset = base_offset
        self.base_timestamp_ms = base_timestamp_ms
        self.append_time_ms = append_time_ms


def append_rows(
    rows: list[ConsumerRecord], batch: BatchRows, data: bytes, start: int, end: int, count: int, from_offset: int
) -> None:
    """Appends the records of `data[start:end]` whose offset is `from_offset` or later.

    Raises InvalidRecord where a record is malformed; those before it are there then."""
    topic = batch.topic
    partition = batch.partition
    leader_epoch = batch.leader_epoch
    stamped = batch.append_time_ms
    base_offset: i64 = batch.base_offset
    base_timestamp: i64 = batch.base_timestamp_ms
    append_time: i64 = 0 if stamped is None else stamped
    is_stamped: bool = stamped is not None
    kind = TimestampType.LOG_APPEND_TIME if is_stamped else TimestampType.CREATE_TIME
    first: i64 = from_offset
    position: i64 = start
    limit: i64 = end
    announced: i64 = count
    index: i64 = 0
    length: i64
    record_end: i64
    timestamp: i64
    offset: i64
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    if end > len(data):
        raise InvalidRecord(f"{end} bytes of records, but {len(data)} are there")
    while index < announced:
        try:
            length, position = _varint(data, position, _INT_BITS)
            record_end = position + length
            if length < 0 or record_end > limit:
                raise InvalidRecord(f"record {index}: length {length}, but {limit - position} bytes are left")
            timestamp, position = _varint(data, position + 1, _LONG_BITS)
            offset, position = _varint(data, position, _INT_BITS)
            offset += base_offset
            if offset < first:
                position = record_end
                index += 1
                continue
            length, position = _varint(data, position, _INT_BITS)
            if length < 0:
                key = None
            else:
                key = data[position : position + length]
                position += length
            length, position = _varint(data, position, _INT_BITS)
            if length < 0:
                value = None
            else:
                value = data[position : position + length]
                position += length
            if data[position]:
                headers, after = decode_headers(data, position, record_end)
                position = after
            else:
                headers = ()
                position += 1
        except IndexError:
            raise InvalidRecord(f"record {index}: the batch ends within it") from None
        if position != record_end:
            raise InvalidRecord(f"record {index}: its length is off by {position - record_end} bytes")
        timestamp = append_time if is_stamped else base_timestamp + timestamp
        rows.append(ConsumerRecord(topic, partition, offset, timestamp, kind, key, value, headers, leader_epoch))
        index += 1
    if position != limit:
        raise InvalidRecord(f"{limit - position} bytes after the last of {count} records")


def _varint(data: bytes, position: i64, bits: i64) -> tuple[i64, i64]:
    """The number, and the position after it. IndexError at the end of the data."""
    byte: i64 = data[position]
    position += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    value: i64 = byte & 0x7F
    shift: i64 = 7
    while byte >= 0x80:
        byte = data[position]
        position += 1
        if shift + 7 > 63:
            return _last_bits(value, byte, bits), position
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > bits + 7:
            raise InvalidRecord(f"a varint of more than {bits} bits")
    if bits < 63 and value >> bits:
        raise InvalidRecord(f"a varint of more than {bits} bits")
    return (value >> 1) ^ -(value & 1), position


def _last_bits(value: i64, byte: i64, bits: i64) -> i64:
    """Of a number of 64 bits, whose tenth byte has one: as an unsigned number it would not fit."""
    if byte > 1 or bits < _LONG_BITS:
        raise InvalidRecord(f"a varint of more than {bits} bits")
    last: int = byte
    wide: int = value
    wide |= last << 63
    return (wide >> 1) ^ -(wide & 1)
