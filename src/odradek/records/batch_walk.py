"""The structural check of the records inside an uncompressed batch of magic 2.

The leader appends the producer's bytes as they came; this pass makes sure that every consumer will be able to read
them. It is the one loop per record on the way of a Produce request, so it is written to be compiled with mypyc
(`tools/compile_hot.py` puts an extension module beside this file, which Python then prefers): one function, 64-bit
integers, no allocation. Uncompiled it does the same more slowly. Measured for records of 100 bytes:
plain 0.9 µs, compiled 0.02 µs a record.

`i64` is a type for the compiler only: mypy_extensions is not needed to run, compiled or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from odradek.records.errors import InvalidRecord

if TYPE_CHECKING:
    from mypy_extensions import i64

#: Whether this is the extension module.
COMPILED = not __file__.endswith(".py")


class Walked(NamedTuple):
    """Summary of the checked records that an append needs. For no records: zeros and -1."""

    max_timestamp_delta: int
    max_timestamp_index: int  # the first record with it
    min_timestamp_delta: int
    keyless_index: int  # the first record whose key is null, or -1


def walk(data: bytes, start: int, end: int, count: int) -> Walked:
    """Check that `data[start:end]` is exactly `count` records: that lengths, varints, keys, values and headers stay
    within their record, that offset deltas are 0, 1, 2 and so on, and that nothing follows.

    Raises InvalidRecord that names the record's index and what is wrong with it.

    Varints of one and two bytes, which nearly all of them are, are read in place, and stay zigzag where that is enough:
    twice the number, and odd if it is negative."""
    _check_range(data, start, end, count)
    position: i64 = start
    limit: i64 = end
    announced: i64 = count
    index: i64 = 0
    max_delta: i64 = 0
    max_index: i64 = -1
    min_delta: i64 = 0
    keyless: i64 = -1
    raw: i64
    more: i64
    delta: i64
    record_end: i64
    try:
        while index < announced:
            if position >= limit:
                _refuse(index, f"missing: {count} records were announced")
            raw = data[position]
            if raw >= 0x80:
                more = data[position + 1]
                if more < 0x80:
                    raw = raw & 0x7F | more << 7
                    position += 1
                else:
                    raw, position = _long_varint(data, position, index)
            position += 1
            record_end = position + (raw >> 1)
            if raw & 1 or record_end > limit:
                _refuse(index, f"its length is {_signed(raw)}, but {limit - position} bytes are left")

            position += 1  # attributes, of which no bit is in use
            raw = data[position]
            if raw < 0x80:
                delta = (raw >> 1) ^ -(raw & 1)
            else:
                more = data[position + 1]
                if more < 0x80:
                    raw = raw & 0x7F | more << 7
                    delta = (raw >> 1) ^ -(raw & 1)
                    position += 1
                else:
                    delta, position = _timestamp_at(data, position, index)
            position += 1
            if delta > max_delta or max_index < 0:
                if max_index < 0:
                    min_delta = delta
                max_delta = delta
                max_index = index
            elif delta < min_delta:
                min_delta = delta

            raw = data[position]
            if raw >= 0x80:
                more = data[position + 1]
                if more < 0x80:
                    raw = raw & 0x7F | more << 7
                    position += 1
                else:
                    raw, position = _long_varint(data, position, index)
            position += 1
            if raw != index << 1:
                _refuse(index, f"its offset delta is {_signed(raw)}")

            raw = data[position]
            if raw >= 0x80:
                more = data[position + 1]
                if more < 0x80:
                    raw = raw & 0x7F | more << 7
                    position += 1
                else:
                    raw, position = _long_varint(data, position, index)
            position += 1
            if raw & 1:
                if raw != 1:
                    _refuse(index, f"its key has a length of {_signed(raw)}")
                if keyless < 0:
                    keyless = index
            else:
                position += raw >> 1
            if position >= record_end:
                _refuse(index, "its key reaches beyond it")

            raw = data[position]
            if raw >= 0x80:
                more = data[position + 1]
                if more < 0x80:
                    raw = raw & 0x7F | more << 7
                    position += 1
                else:
                    raw, position = _long_varint(data, position, index)
            position += 1
            if not raw & 1:
                position += raw >> 1
            elif raw != 1:
                _refuse(index, f"its value has a length of {_signed(raw)}")
            if position >= record_end:
                _refuse(index, "its value reaches beyond it")

            if data[position] == 0:
                position += 1
            else:
                position = _headers_end(data, position, record_end, index)
            if position != record_end:
                _refuse(index, f"{record_end - position} bytes after its headers")
            index += 1
    except IndexError:
        _refuse(index, "the batch ends within it")
    if position != limit:
        raise InvalidRecord(f"{limit - position} bytes after the last of {count} records")
    return Walked(max_delta, max_index, min_delta, keyless)


def record_ends(data: bytes, start: int, end: int, count: int) -> list[int]:
    """Return the end of each record, by its length alone; each record starts at the end of the previous one.

    Raises InvalidRecord if the lengths do not add up to exactly `count` records."""
    _check_range(data, start, end, count)
    ends: list[int] = []
    position: i64 = start
    limit: i64 = end
    announced: i64 = count
    index: i64 = 0
    raw: i64
    more: i64
    try:
        while index < announced:
            raw = data[position]
            if raw >= 0x80:
                more = data[position + 1]
                if more < 0x80:
                    raw = raw & 0x7F | more << 7
                    position += 1
                else:
                    raw, position = _long_varint(data, position, index)
            position += 1 + (raw >> 1)
            if raw & 1 or position > limit:
                _refuse(index, f"its length is {_signed(raw)}, beyond the end of the batch")
            ends.append(position)
            index += 1
    except IndexError:
        _refuse(index, f"missing: {count} records were announced")
    if position != limit:
        raise InvalidRecord(f"{limit - position} bytes after the last of {count} records")
    return ends


def _check_range(data: bytes, start: int, end: int, count: int) -> None:
    if count < 0 or start < 0 or start > end or end > len(data):
        raise InvalidRecord(f"{count} records in bytes {start} to {end} of {len(data)}")


def _signed(raw: i64) -> i64:
    return (raw >> 1) ^ -(raw & 1)


def _headers_end(data: bytes, position: i64, record_end: i64, index: i64) -> i64:
    """Walks the headers from their count on. A length that leaves the record ends the walk where it points to."""
    count: i64
    number: i64
    count, position = _int_at(data, position, index)
    if count < 0 or count > record_end - position:
        _refuse(index, f"{count} headers in {record_end - position} bytes")
    while count > 0:
        number, position = _int_at(data, position, index)
        if number < 0:
            _refuse(index, "a header has no key")
        position += number
        if position >= record_end:
            _refuse(index, "a header's key reaches beyond it")
        number, position = _int_at(data, position, index)
        if number < -1:
            _refuse(index, f"a header's value has a length of {number}")
        if number > 0:
            position += number
        if position > record_end:
            _refuse(index, "a header's value reaches beyond it")
        count -= 1
    return position


def _int_at(data: bytes, position: i64, index: i64) -> tuple[i64, i64]:
    """A varint of at most 32 bits, and the position after it."""
    raw: i64 = data[position]
    if raw >= 0x80:
        raw, position = _long_varint(data, position, index)
    return (raw >> 1) ^ -(raw & 1), position + 1


def _long_varint(data: bytes, position: i64, index: i64) -> tuple[i64, i64]:
    """A varint of at most 32 bits, still zigzag, and the position of its *last* byte."""
    byte: i64 = data[position]
    raw: i64 = byte & 0x7F
    shift: i64 = 7
    while byte >= 0x80:
        if shift > 28:
            _refuse(index, "a varint of more than 32 bits")
        position += 1
        byte = data[position]
        raw |= (byte & 0x7F) << shift
        shift += 7
    if raw > 0xFFFFFFFF:
        _refuse(index, "a varint of more than 32 bits")
    return raw, position


def _timestamp_at(data: bytes, position: i64, index: i64) -> tuple[i64, i64]:
    """A varint of at most 64 bits, and the position of its last byte. The topmost bit is kept apart, since a signed
    number has no room for it."""
    byte: i64 = data[position]
    raw: i64 = byte & 0x7F
    shift: i64 = 7
    top: i64 = 0
    while byte >= 0x80:
        position += 1
        byte = data[position]
        if shift < 63:
            raw |= (byte & 0x7F) << shift
            shift += 7
        elif byte > 1:
            _refuse(index, "a varint of more than 64 bits")
        else:
            top = byte
    return ((raw >> 1) | (top << 62)) ^ -(raw & 1), position


def _refuse(index: i64, what: str) -> NoReturn:
    raise InvalidRecord(f"record {index}: {what}")
