"""Records of a batch as a producer packs them: the same bytes as `odradek.records.builder`'s, several times as fast.

A producer appends one record after the other, or many values at once, and asks how large the batch has become. It is
written to be compiled with mypyc (see `batch_walk`), and does the same uncompiled. Records of 100 bytes, one
at a time: plain 1.1 µs, compiled 0.2 µs; many values at once: plain 0.7 µs, compiled 0.1 µs a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

#: Whether this is the extension module.
COMPILED = not __file__.endswith(".py")

Headers = Sequence[tuple[str, bytes | None]]


def varint_of(number: int) -> bytes:
    """Zigzag; the same bytes for an int and a long."""
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


#: Lengths and deltas of usual batches are below this.
_KNOWN: Final = 2048
_VARINTS: Final[list[bytes]] = [varint_of(number) for number in range(_KNOWN)]
_NULL: Final = b"\x01"
_NOTHING: Final = b"\x00"
#: Attributes, and a timestamp delta of zero.
_NO_DELTA: Final = b"\x00\x00"

#: Bytes beside key, value and headers: the length, attributes, two deltas, three lengths at their longest.
RECORD_OVERHEAD_BYTES = 5 + 1 + 10 + 5 + 5 + 5 + 5


def headers_bytes(headers: Headers) -> bytes:
    """Their count and they themselves."""
    parts: list[bytes] = [varint_of(len(headers))]
    for name, value in headers:
        key = name.encode("utf-8", "surrogateescape")
        parts.append(varint_of(len(key)))
        parts.append(key)
        if value is None:
            parts.append(_NULL)
        else:
            parts.append(varint_of(len(value)))
            parts.append(value)
    return b"".join(parts)


class RecordPacker:
    """Collects the records of one batch: the first whatever its size, others while all are below a limit.

    `size_bytes` is that of its records, without the batch's header."""

    def __init__(self, limit_bytes: int) -> None:
        #: Negative once nothing can be appended any more.
        self.limit_bytes: i64 = limit_bytes
        self.count: i64 = 0
        self.size_bytes: i64 = 0
        self.base_timestamp: i64 = -1
        self.max_timestamp: i64 = -1
        self._parts: list[bytes] = []

    def append(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> int:
        """The record's index, or -1 if there is no room for it."""
        time_ms: i64 = timestamp
        count: i64 = self.count
        delta: i64 = time_ms - self.base_timestamp if count > 0 else 0
        after_value = headers_bytes(headers) if headers else _NOTHING
        before = _NO_DELTA if delta == 0 else _NOTHING + varint_of(delta)
        offset_delta = _VARINTS[count] if count < _KNOWN else varint_of(count)
        length: i64 = len(before) + len(offset_delta) + len(after_value)
        key_length = _NULL
        if key is not None:
            size: i64 = len(key)
            key_length = _VARINTS[size] if size < _KNOWN else varint_of(size)
            length += size
        value_length = _NULL
        if value is not None:
            size = len(value)
            value_length = _VARINTS[size] if size < _KNOWN else varint_of(size)
            length += size
        length += len(key_length) + len(value_length)
        head = _VARINTS[length] if length < _KNOWN else varint_of(length)
        length += len(head)
        if self.size_bytes + length > self.limit_bytes and (count > 0 or self.limit_bytes < 0):
            return -1
        if count == 0:
            self.base_timestamp = time_ms
        if time_ms > self.max_timestamp:
            self.max_timestamp = time_ms
        parts = self._parts
        parts.append(head)
        parts.append(before)
        parts.append(offset_delta)
        parts.append(key_length)
        if key is not None:
            parts.append(key)
        parts.append(value_length)
        if value is not None:
            parts.append(value)
        parts.append(after_value)
        self.count = count + 1
        self.size_bytes += length
        return count

    def append_values(self, values: list[bytes], start: int, timestamp: int) -> int:
        """Append values without keys from `start` on, as many as fit.

        Gives the index of the first that has none, or how many there are."""
        time_ms: i64 = timestamp
        limit: i64 = self.limit_bytes
        if limit < 0 or start >= len(values):
            return start
        if self.count == 0:
            self.base_timestamp = time_ms
        if time_ms > self.max_timestamp:
            self.max_timestamp = time_ms
        delta: i64 = time_ms - self.base_timestamp
        before = _NO_DELTA if delta == 0 else _NOTHING + varint_of(delta)
        # Attributes and delta, a null key, no headers.
        fixed: i64 = len(before) + 2
        total: i64 = self.size_bytes
        count: i64 = self.count
        end: i64 = len(values)
        at: i64 = start
        parts = self._parts
        while at < end:
            value = values[at]
            size: i64 = len(value)
            value_length = _VARINTS[size] if size < _KNOWN else varint_of(size)
            offset_delta = _VARINTS[count] if count < _KNOWN else varint_of(count)
            length: i64 = fixed + len(offset_delta) + len(value_length) + size
            head = _VARINTS[length] if length < _KNOWN else varint_of(length)
            length += len(head)
            if total + length > limit and count > 0:
                break
            parts.append(head)
            parts.append(before)
            parts.append(offset_delta)
            parts.append(_NULL)
            parts.append(value_length)
            parts.append(value)
            parts.append(_NOTHING)
            total += length
            count += 1
            at += 1
        self.count = count
        self.size_bytes = total
        return at

    def take(self) -> bytes:
        """The records; nothing can be appended after."""
        payload = b"".join(self._parts)
        self._parts = []
        self.limit_bytes = -1
        return payload
