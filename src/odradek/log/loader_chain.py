"""Looking along the chain of batches in a log file, without changing anything.

A CRC says that a batch is what was written; it says nothing about base offset, length and leader epoch, which lie
outside of it. The chain does: batches follow each other without a gap in the file, their offsets ascend, their epochs
never fall. `walk_chain` finds the first place where it breaks. The loader asks before it repairs, since a break below
the recovery point must not be repaired by cutting.
"""

from __future__ import annotations

from typing import NamedTuple

from crc32c import crc32c

from odradek.records.batch import (
    ATTRIBUTES_AT,
    HEADER_BYTES,
    MAGIC_AT,
    MAGIC_V2,
    OVERHEAD_BYTES,
    PREFIX_BYTES,
    header_at,
    read_batch,
)
from odradek.records.errors import CorruptRecord


class Chain(NamedTuple):
    """How far the batches of a file hang together, and what is wrong there (empty: nothing)."""

    valid_bytes: int
    next_offset: int
    reason: str


def walk_chain(data: memoryview, base_offset: int, *, check_below: int = 0, dense_from: int | None = None) -> Chain:
    """`data` is all of the segment that starts at `base_offset`.

    CRCs are checked for batches that begin below `check_below`. From `dense_from` on an offset that is left out is a
    break too: only compaction leaves offsets out.

    Where offsets run backwards, one of two batches is wrong. If the earlier one had left offsets out, and the later one,
    whose CRC holds, would fit there, it is the earlier one's offset that is damaged: the chain ends before that."""
    position, end = 0, len(data)
    next_offset, epoch = base_offset, -1
    before_gap: Chain | None = None
    while position < end:
        if end - position < PREFIX_BYTES:
            return Chain(position, next_offset, f"{end - position} bytes are too few for a batch")
        if data[position + MAGIC_AT] == MAGIC_V2 and end - position >= HEADER_BYTES:
            base, length, batch_epoch, _, crc, _, delta, _, _, _, _, _, _ = header_at(data, position)
            after = position + length + OVERHEAD_BYTES
            if length + OVERHEAD_BYTES < HEADER_BYTES or after > end:
                reason = f"a batch of length {length} does not fit the {end - position} bytes that are left"
                return Chain(position, next_offset, reason)
            if base < check_below and crc32c(data[position + ATTRIBUTES_AT : after]) != crc:
                return Chain(position, next_offset, f"the CRC of the batch at offset {base} does not hold")
            last = base + delta
        else:
            try:
                old = read_batch(data, position)
                if old.base_offset < check_below:
                    old.check()
            except CorruptRecord as error:
                return Chain(position, next_offset, error.message)
            base, last, batch_epoch, after = old.base_offset, old.last_offset, epoch, position + old.size_bytes
        if base < next_offset or last < base:
            reason = f"offsets {base} to {last} where {next_offset} or later was expected"
            if before_gap is not None and before_gap.next_offset <= base <= last and _is_sound(data, position):
                return before_gap._replace(reason=f"an offset that is too large: {reason} behind it")
            return Chain(position, next_offset, reason)
        if batch_epoch < epoch:
            return Chain(position, next_offset, f"leader epoch {batch_epoch} after {epoch}")
        if base > next_offset and dense_from is not None and last >= dense_from:
            return Chain(position, next_offset, f"offset {base} where {next_offset} was expected")
        before_gap = Chain(position, next_offset, "") if base > next_offset else None
        position, next_offset, epoch = after, last + 1, batch_epoch
    return Chain(position, next_offset, "")


def _is_sound(data: memoryview, position: int) -> bool:
    try:
        read_batch(data, position).check()
    except CorruptRecord:
        return False
    return True
