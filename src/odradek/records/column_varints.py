"""Varints of many records at once, written by whole arrays: the way back from `odradek.records.columns_layout`.

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

#: Seven bits each: as many bytes as 64 bits need.
_LONGEST = 10


class Varints(NamedTuple):
    """Numbers, zigzag, and how many bytes each of them takes."""

    raw: _Unsigned
    sizes: Int64s


class Packed(NamedTuple):
    """Row i is `data[offsets[i]:offsets[i + 1]]`."""

    data: Bytes
    offsets: Int32s


def varints(numbers: Int64s) -> Varints:
    zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    largest = int(zigzag.max(initial=0))
    raw: _Unsigned = zigzag.astype(np.uint16 if largest < 1 << 16 else np.uint32 if largest < 1 << 32 else np.uint64)
    sizes = np.ones(len(raw), np.int64)
    for nth in range(1, _LONGEST):
        if largest < 1 << (7 * nth):
            break
        sizes += np.greater_equal(raw, 1 << (7 * nth))
    return Varints(raw, sizes)


def total_sizes(fields: Sequence[Varints]) -> Int64s:
    """Of each row."""
    total = fields[0].sizes
    for each in fields[1:]:
        total = total + each.sizes
    return total


def packed(fields: Sequence[Varints]) -> Packed:
    """The fields of each row, one after the other; as many rows as the fields have numbers, at least one."""
    widths = [int(each.sizes.max()) for each in fields]
    is_even = [width == int(each.sizes.min()) for width, each in zip(widths, fields, strict=True)]
    rows = np.empty((len(fields[0].raw), sum(widths)), np.uint8)
    kept = None if all(is_even) else np.ones(rows.shape, np.bool_)
    at = 0
    for each, width, even in zip(fields, widths, is_even, strict=True):
        _write(rows[:, at : at + width], each)
        if kept is not None and not even:
            kept[:, at + 1 : at + width] = each.sizes[:, None] > np.arange(1, width)
        at += width
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(total_sizes(fields), out=offsets[1:])
    return Packed(rows.reshape(-1) if kept is None else rows[kept], offsets)


def _write(places: Bytes, field: Varints) -> None:
    """Seven bits into each column, and the eighth where more follow."""
    width, left = places.shape[1], field.raw
    for nth in range(width):
        octet = left.astype(np.uint8)
        if nth < width - 1:
            octet &= 0x7F
            octet |= (field.sizes > nth + 1).view(np.uint8) << 7
            left = np.right_shift(left, 7)
        places[:, nth] = octet
