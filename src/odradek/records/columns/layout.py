"""The fields of many records at once: varints decoded by whole arrays.

Every step reads one varint of each record: a handful of operations on arrays of small integers, 10 ns a record. Few
varints have more than two bytes; those are read on by themselves.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from odradek.records.errors import InvalidRecord

Int64s = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_INT_BYTES = 5
_LONG_BYTES = 10


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Positions in the data that the records lie in; a length of -1 is null."""

    timestamp_delta: Int64s
    offset_delta: Int64s
    key_start: Int64s
    key_length: Int64s
    value_start: Int64s
    value_length: Int64s
    header_start: Int64s


def lay_out(data: bytes, starts: Int64s, ends: Int64s) -> Layout:
    """`starts` and `ends` of the records, all within `data`. Headers are not looked at, except that they begin before
    their record ends."""
    octets = np.frombuffer(data, np.uint8)
    last = ends - 1  # at the earliest it is the number of headers: the varints before it have a byte after them
    _, position = _varints(octets, starts, last, _INT_BYTES)  # the length, which led to `ends`
    timestamp_delta, position = _varints(octets, position + 1, last, _LONG_BYTES)
    offset_delta, position = _varints(octets, position, last, _INT_BYTES)
    key_length, key_start = _varints(octets, position, last, _INT_BYTES)
    np.maximum(key_length, -1, out=key_length)
    value_length, value_start = _varints(octets, key_start + np.maximum(key_length, 0), last, _INT_BYTES)
    np.maximum(value_length, -1, out=value_length)
    header_start = value_start + np.maximum(value_length, 0)
    _check_before(header_start, ends)
    return Layout(timestamp_delta, offset_delta, key_start, key_length, value_start, value_length, header_start)


def _varints(octets: Bytes, position: Int64s, last: Int64s, longest: int) -> tuple[Int64s, Int64s]:
    """The numbers at `position`, and the positions after them. One or two bytes are read of all, more of few."""
    _check_before(position, last)
    first, second = octets[position], octets[position + 1]
    goes_on = first >> 7
    raw = (first & 0x7F) | (((second & 0x7F) * goes_on).astype(np.uint16) << 7)
    numbers = ((raw >> 1) ^ (0 - (raw & 1))).view(np.int16).astype(np.int64)
    next_position = position + 1 + goes_on
    long = np.flatnonzero((first & second) >= 0x80)
    if len(long):
        numbers[long], next_position[long] = _long_varints(octets, position[long], last[long], longest)
    return numbers, next_position


def _long_varints(octets: Bytes, position: Int64s, last: Int64s, longest: int) -> tuple[Int64s, Int64s]:
    raw = np.zeros(len(position), np.uint64)
    next_position = position.copy()
    open_ends = np.arange(len(position))
    for nth in range(longest):
        open_position = next_position[open_ends]
        _check_before(open_position, last[open_ends] + 1)
        octet = octets[open_position].astype(np.uint64)
        raw[open_ends] |= (octet & np.uint64(0x7F)) << np.uint64(7 * nth)
        next_position[open_ends] = open_position + 1
        open_ends = open_ends[octet >= 0x80]
    if len(open_ends):
        raise InvalidRecord(f"a varint of more than {longest} bytes")
    return ((raw >> np.uint64(1)) ^ (np.uint64(0) - (raw & np.uint64(1)))).view(np.int64), next_position


def _check_before(position: Int64s, end: Int64s) -> None:
    if not (position < end).all():
        index = int(np.flatnonzero(position >= end)[0])
        raise InvalidRecord(f"record {index}: a length reaches beyond it")
