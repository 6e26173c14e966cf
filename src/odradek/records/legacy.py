"""Reading the two older formats: magic 0 and 1, found in segments that were written before Kafka 0.11.

There a "batch" is one message, big-endian; the CRC-32 (zlib's) covers everything after itself:

    offset 8 | length 4 | crc 4 | magic 1 | attributes 1 | timestamp 8 (magic 1 only) | key length 4, key |
    value length 4, value

Compressed messages travel inside the value of a wrapper message. The wrapper's offset is that of its *last* inner
message: the first one is known only after decompressing. Inner offsets are absolute under magic 0 and count from the
wrapper's base under magic 1 (a wrapper at offset 0 is what some clients sent: nothing is added). If the log stamped the
wrapper, its time is the time of all inner messages.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from odradek.common.ports import Buffer
from odradek.records.batch import (
    APPEND_TIME_BIT,
    COMPRESSION_MASK,
    MAGIC_AT,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    OVERHEAD_BYTES,
    SMALLEST_BYTES,
    SMALLEST_LENGTH,
    Batch,
)
from odradek.records.compression import DEFAULT_LIMIT_BYTES, decompress
from odradek.records.errors import CorruptRecord, InvalidRecord
from odradek.records.record import NO_SEQUENCE, NO_TIMESTAMP, Record, TimestampType

_PREFIX = struct.Struct(">qiIbb")
_OFFSET_AND_LENGTH = struct.Struct(">qi")
_TIMESTAMP = struct.Struct(">q")
_SIZE = struct.Struct(">i")

_TIMESTAMP_AT = _PREFIX.size
_KEY_AT = (_TIMESTAMP_AT, _TIMESTAMP_AT + _TIMESTAMP.size)
_MAGIC_V1 = 1


class _Message(NamedTuple):
    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class LegacyBatch(Batch):
    """One message of magic 0 or 1, or a wrapper with all that is in it.

    `base_offset`, `last_offset_delta` and `count` of a wrapper stay unset until they are first asked for, since they
    cost a decompression."""

    __slots__ = ("_last_offset",)

    _last_offset: int

    def __init__(self, buffer: memoryview) -> None:
        offset, length, crc, magic, attributes = _PREFIX.unpack_from(buffer)
        self.buffer = buffer
        self.size_bytes = length + OVERHEAD_BYTES
        self.crc = crc
        self.magic = magic
        self.attributes = attributes & (COMPRESSION_MASK if magic == 0 else COMPRESSION_MASK | APPEND_TIME_BIT)
        self.max_timestamp = _timestamp(buffer, magic)
        self.base_timestamp = self.max_timestamp
        self.leader_epoch = NO_LEADER_EPOCH
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.base_sequence = NO_SEQUENCE
        self._last_offset = offset
        if not attributes & COMPRESSION_MASK:
            self.base_offset = offset
            self.last_offset_delta = 0
            self.count = 1

    def __getattr__(self, name: str) -> int:
        """Called only for what `__init__` left unset."""
        if name not in ("base_offset", "last_offset_delta", "count"):
            raise AttributeError(name)
        records = self._inner_records(DEFAULT_LIMIT_BYTES)
        self.base_offset = records[0].offset
        self.last_offset_delta = self._last_offset - self.base_offset
        self.count = len(records)
        return int(object.__getattribute__(self, name))

    @property
    def last_offset(self) -> int:
        return self._last_offset

    @property
    def next_offset(self) -> int:
        return self._last_offset + 1

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.NONE if self.magic == 0 else super().timestamp_type

    def check(self) -> None:
        computed = zlib.crc32(self.buffer[MAGIC_AT:])
        if computed != self.crc:
            raise CorruptRecord(
                f"message at offset {self._last_offset}: stored CRC {self.crc:#010x}, computed {computed:#010x}"
            )

    def payload(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> bytes:
        """The message itself, or the messages inside of the wrapper."""
        if not self.attributes & COMPRESSION_MASK:
            return bytes(self.buffer)
        value = _read_message(self.buffer, 0).value
        if value is None:
            raise InvalidRecord(f"wrapper message at offset {self._last_offset}: no value to decompress")
        return decompress(self.compression, value, limit_bytes, self.magic)

    def records(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Iterator[Record]:
        if self.attributes & COMPRESSION_MASK:
            return iter(self._inner_records(limit_bytes))
        message = _read_message(self.buffer, 0)
        return iter((Record(message.offset, message.timestamp, self.timestamp_type, message.key, message.value),))

    def _inner_records(self, limit_bytes: int) -> list[Record]:
        messages = list(_read_messages(self.payload(limit_bytes)))
        if not messages:
            raise InvalidRecord(f"wrapper message at offset {self._last_offset}: nothing inside")
        base = self._offset_of_zero(messages[-1].offset)
        return [self._inner_record(message, base) for message in messages]

    def _offset_of_zero(self, last_inner_offset: int) -> int:
        """Return the number that is added to the offsets of inner messages."""
        if self.magic == 0 or self._last_offset == 0:
            return 0
        if self._last_offset < last_inner_offset:
            raise InvalidRecord(
                f"wrapper message at offset {self._last_offset}: its last inner message is at {last_inner_offset}"
            )
        return self._last_offset - last_inner_offset

    def _inner_record(self, message: _Message, base: int) -> Record:
        if message.attributes & COMPRESSION_MASK:
            raise InvalidRecord(f"wrapper message at offset {self._last_offset}: a wrapper inside of a wrapper")
        timestamp, kind = message.timestamp, TimestampType.NONE
        if message.magic == _MAGIC_V1:
            kind = self.timestamp_type
            if kind == TimestampType.LOG_APPEND_TIME:
                timestamp = self.max_timestamp
            elif kind == TimestampType.NONE:
                kind = TimestampType.CREATE_TIME
        return Record(base + message.offset, timestamp, kind, message.key, message.value)


def _read_messages(data: bytes) -> Iterator[_Message]:
    """An incomplete message at the end is left out: brokers of old cut message sets anywhere."""
    position, end = 0, len(data)
    while position + OVERHEAD_BYTES <= end:
        _, length = _OFFSET_AND_LENGTH.unpack_from(data, position)
        if length < SMALLEST_LENGTH:
            raise InvalidRecord(f"inner message at position {position}: its length of {length} is impossible")
        message_end = position + OVERHEAD_BYTES + length
        if message_end > end:
            return
        magic = data[position + MAGIC_AT]
        if magic > _MAGIC_V1 or message_end - position < SMALLEST_BYTES[magic]:
            raise InvalidRecord(f"inner message at position {position}: {length} bytes of magic {magic}")
        with memoryview(data) as view:
            yield _read_message(view[position:message_end], position)
        position = message_end


def _read_message(buffer: memoryview, position: int) -> _Message:
    offset, _, _, magic, attributes = _PREFIX.unpack_from(buffer)
    try:
        key, after_key = _sized(buffer, _KEY_AT[magic])
        value, _ = _sized(buffer, after_key)
    except struct.error:
        raise InvalidRecord(f"message at position {position}: it ends within a length") from None
    return _Message(offset, magic, attributes, _timestamp(buffer, magic), key, value)


def _timestamp(buffer: Buffer, magic: int) -> int:
    return int(_TIMESTAMP.unpack_from(buffer, _TIMESTAMP_AT)[0]) if magic == _MAGIC_V1 else NO_TIMESTAMP


def _sized(buffer: memoryview, position: int) -> tuple[bytes | None, int]:
    (length,) = _SIZE.unpack_from(buffer, position)
    position += _SIZE.size
    if length < 0:
        return None, position
    if length > len(buffer) - position:
        raise InvalidRecord(f"a key or value of {length} bytes, but {len(buffer) - position} are left in its message")
    return bytes(buffer[position : position + length]), position + length
