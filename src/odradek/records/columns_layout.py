"""The fields of many records at once: varints decoded by whole arrays.

Every step reads one varint of each record. Nearly all varints of a step have the same length, so a step is a handful of
array operations on all records, and a few more on those whose varint goes on.
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
    _, position = _varints(octets, starts, ends, _INT_BYTES)  # the length, which led to `ends`
    timestamp_delta, position = _varints(octets, position + 1, ends, _LONG_BYTES)
    offset_delta, position = _varints(octets, position, ends, _INT_BYTES)
    key_length, key_start = _varints(octets, position, ends, _INT_BYTES)
    np.maximum(key_length, -1, out=key_length)
    value_length, value_start = _varints(octets, key_start + np.maximum(key_length, 0), ends, _INT_BYTES)
    np.maximum(value_length, -1, out=value_length)
    header_start = value_start + np.maximum(value_length, 0)
    _check_within(header_start, ends)
    return Layout(timestamp_delta, offset_delta, key_start, key_length, value_start, value_length, header_start)


def _varints(octets: Bytes, position: Int64s, ends: Int64s, longest: int) -> tuple[Int64s, Int64s]:
    """The numbers at `position`, and the positions after them."""
    _check_within(position, ends)
    first = octets[position]
    raw = first.astype(np.uint64)
    after = position + 1
    if len(first) and first.max() >= 0x80:
        _read_on(octets, raw, after, ends, longest)
    return ((raw >> np.uint64(1)) ^ (np.uint64(0) - (raw & np.uint64(1)))).view(np.int64), after


def _read_on(octets: Bytes, raw: NDArray[np.uint64], after: Int64s, ends: Int64s, longest: int) -> None:
    """Complete in place the numbers whose first byte says that more follow."""
    going_on = np.flatnonzero(raw & np.uint64(0x80))
    raw[going_on] &= np.uint64(0x7F)
    for nth in range(1, longest + 1):
        if not len(going_on):
            return
        if nth == longest:
            break
        place = after[going_on]
        _check_within(place, ends[going_on])
        octet = octets[place].astype(np.uint64)
        raw[going_on] |= (octet & np.uint64(0x7F)) << np.uint64(7 * nth)
        after[going_on] = place + 1
        going_on = going_on[octet >= 0x80]
    raise InvalidRecord(f"record {going_on[0]} of the chunk: a varint of more than {longest} bytes")


def _check_within(position: Int64s, ends: Int64s) -> None:
    if not (position < ends).all():
        index = int(np.flatnonzero(position >= ends)[0])
        raise InvalidRecord(f"record {index} of the chunk: a length reaches beyond it")
