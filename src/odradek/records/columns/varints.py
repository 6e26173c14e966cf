"""Varints of many records at once, written by whole arrays: the way back from `odradek.records.columns.layout`.

The fields of a record lie side by side in a row of a matrix, each as wide as its largest number needs; where numbers
differ in width, what is too much is left out by a mask.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Bytes = NDArray[np.uint8]
_Unsigned = NDArray[np.unsignedinteger[Any]]


class Varints(NamedTuple):
    """Numbers, zigzag, and how many bytes each of them takes: `width` at most, and all of them if `is_even`."""

    raw: _Unsigned
    sizes: Int64s
    width: int
    is_even: bool

    def before(self, count: int) -> "Varints":
        return self._replace(raw=self.raw[:count], sizes=self.sizes[:count])


class Packed(NamedTuple):
    """Row i is `data[offsets[i]:offsets[i + 1]]`."""

    data: Bytes
    offsets: Int32s


def varints(numbers: Int64s) -> Varints:
    """Encode at least one number."""
    zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    largest, smallest = int(zigzag.max()), int(zigzag.min())
    raw: _Unsigned = zigzag.astype(np.uint16 if largest < 1 << 16 else np.uint32 if largest < 1 << 32 else np.uint64)
    width, least = _width(largest), _width(smallest)
    sizes = np.full(len(raw), least)
    for nth in range(least, width):
        sizes += np.greater_equal(raw, 1 << (7 * nth))
    return Varints(raw, sizes, width, width == least)


def same_varints(number: int, count: int) -> Varints:
    """One number again and again, of a single byte."""
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    return Varints(np.full(count, zigzag, np.uint16), np.ones(count, np.int64), 1, is_even=True)


def _width(zigzag: int) -> int:
    return max((zigzag.bit_length() + 6) // 7, 1)


def total_sizes(fields: Sequence[Varints]) -> Int64s:
    """Return the total size of each row."""
    total = fields[0].sizes
    for field in fields[1:]:
        total = total + field.sizes
    return total


def packed(fields: Sequence[Varints]) -> Packed:
    """The fields of each row, one after the other; as many rows as the fields have numbers, at least one."""
    rows = np.empty((len(fields[0].raw), sum(field.width for field in fields)), np.uint8)
    used_bytes = None if all(field.is_even for field in fields) else np.ones(rows.shape, np.bool_)
    at = 0
    for field in fields:
        _write(rows[:, at : at + field.width], field)
        if used_bytes is not None and not field.is_even:
            used_bytes[:, at + 1 : at + field.width] = field.sizes[:, None] > np.arange(1, field.width)
        at += field.width
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(total_sizes(fields), out=offsets[1:])
    return Packed(rows.reshape(-1) if used_bytes is None else rows[used_bytes], offsets)


def _write(columns: Bytes, field: Varints) -> None:
    """Seven bits into each column, and the eighth where more follow."""
    left = field.raw
    for nth in range(field.width - 1):
        octet = left.astype(np.uint8)
        octet &= 0x7F
        octet |= 0x80 if field.is_even else (field.sizes > nth + 1).view(np.uint8) << 7
        columns[:, nth] = octet
        left = np.right_shift(left, 7)
    columns[:, field.width - 1] = left
