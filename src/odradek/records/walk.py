"""The structural check of the records inside an uncompressed batch of magic 2."""

from __future__ import annotations


def walk(data: bytes, start: int, end: int, count: int) -> tuple[int, int, int]:
    """Check every record in `data[start:end]`: lengths, varints, key, value and headers stay within their record, offset
    deltas are 0..count-1 in order, exactly `count` records and nothing after them.

    Returns (largest timestamp delta, index of the first record with it, index of the first record without a key or
    -1). Raises InvalidRecord naming the record's index and what is wrong with it."""
    raise NotImplementedError
