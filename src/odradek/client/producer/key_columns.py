"""Partitions of many keys at once: `odradek.client.producer.murmur2` over an Arrow column.

Keys are hashed word by word, all keys at each step, so that there are as many steps as the longest key has words; a few
keys that are much longer than keys are would make many steps for little, and are hashed by themselves.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from odradek.client.producer.murmur2 import murmur2

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Words = NDArray[np.uint32]
Bytes = NDArray[np.uint8]

#: Of a record without a key: it may go anywhere.
NO_KEY = -1

_SEED = np.uint32(0x9747B28C)
_MULTIPLIER = np.uint32(0x5BD1E995)
_POSITIVE = np.uint32(0x7FFFFFFF)

#: Beyond this a key is long: steps over whole columns no longer pay off.
_LONG_BYTES = 256


def partitions_for_keys(keys: "pyarrow.Array", partition_count: int) -> Int32s:
    """One for each key, as Kafka's default partitioner has it, and NO_KEY for each null. `keys` is an array of binary,
    large_binary, string or large_string."""
    if not len(keys):
        return np.empty(0, np.int32)
    hashed = hashes(*_layout(keys))
    partitions = ((hashed & _POSITIVE) % np.uint32(partition_count)).astype(np.int32)
    if keys.null_count:
        partitions[np.asarray(keys.is_null())] = NO_KEY
    return partitions


def hashes(data: Bytes, start: Int64s, length: Int64s) -> Words:
    """Return the hashes of the keys with these offsets and lengths in `data`."""
    short = np.flatnonzero(length <= _LONG_BYTES)
    hashed = np.empty(len(start), np.uint32)
    hashed[short] = _short_hashes(data, start[short], length[short])
    for index in np.flatnonzero(length > _LONG_BYTES).tolist():
        at = int(start[index])
        hashed[index] = murmur2(data[at : at + int(length[index])].tobytes())
    return hashed


def _short_hashes(data: Bytes, start: Int64s, length: Int64s) -> Words:
    blocks = _blocks(data)
    hashed = _SEED ^ length.astype(np.uint32)
    steps = length >> 2
    fewest, most = (int(steps.min()), int(steps.max())) if len(steps) else (0, 0)
    for nth in range(most):
        has_block = slice(None) if nth < fewest else np.flatnonzero(steps > nth)
        mixed = blocks[start[has_block] + 4 * nth] * _MULTIPLIER
        mixed ^= mixed >> 24
        hashed[has_block] = hashed[has_block] * _MULTIPLIER ^ mixed * _MULTIPLIER
    rest = length & 3
    for over in (1, 2, 3):
        some = np.flatnonzero(rest == over)
        at = start[some] + (length[some] - over)
        left = np.zeros(len(some), np.uint32)
        for nth in range(over):
            left |= data[at + nth].astype(np.uint32) << (8 * nth)
        hashed[some] = (hashed[some] ^ left) * _MULTIPLIER
    hashed ^= hashed >> 13
    hashed *= _MULTIPLIER
    hashed ^= hashed >> 15
    return hashed


def _blocks(data: Bytes) -> Words:
    """The four bytes from each byte on, the first of them the lowest: a view."""
    return np.ndarray((max(len(data) - 3, 0),), "<u4", data.data, strides=(1,))


def _layout(keys: "pyarrow.Array") -> tuple[Bytes, Int64s, Int64s]:
    """All bytes; where each key begins; how long it is."""
    import pyarrow

    is_large = keys.type in (pyarrow.large_binary(), pyarrow.large_string())
    _, offsets_buffer, data = keys.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64 if is_large else np.int32)[
        keys.offset : keys.offset + len(keys) + 1
    ]
    octets = np.frombuffer(data if data is not None else b"", np.uint8)
    return octets, offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
