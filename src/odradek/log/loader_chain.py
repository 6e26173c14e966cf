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

#: Larger than any offset.
END_OF_FILE = 2**63


class Chain(NamedTuple):
    """How far the batches of a file hang together, and what is wrong there (empty: nothing)."""

    valid_bytes: int
    next_offset: int
    reason: str


def walk_chain(data: memoryview, base_offset: int, *, until: int = END_OF_FILE, dense: bool = False) -> Chain:
    """`data` is all of the segment that starts at `base_offset`; it is walked up to offset `until`.

    In a `dense` log, one that was never compacted, offsets that are left out and reach to `until` are a break: that
    offset was once the end of the log, so a batch ended there.

    Where offsets run backwards, one of two batches is wrong. If the earlier one had left offsets out, and the later
    one, whose CRC holds, would fit there, it is the earlier one's offset that is damaged: the chain ends before it."""
    position, end = 0, len(data)
    next_offset, epoch = base_offset, -1
    before_gap: Chain | None = None
    while position < end and (next_offset < until or before_gap is not None):
        if end - position < PREFIX_BYTES:
            return Chain(position, next_offset, f"{end - position} bytes are too few for a batch")
        if data[position + MAGIC_AT] == MAGIC_V2 and end - position >= HEADER_BYTES:
            base, length, batch_epoch, _, crc, _, delta, _, _, _, _, _, _ = header_at(data, position)
            after = position + length + OVERHEAD_BYTES
            if length + OVERHEAD_BYTES < HEADER_BYTES or after > end:
                reason = f"a batch of length {length} does not fit the {end - position} bytes that are left"
                return Chain(position, next_offset, reason)
            if crc32c(data[position + ATTRIBUTES_AT : after]) != crc:
                return Chain(position, next_offset, f"the CRC of the batch at offset {base} does not hold")
            last = base + delta
        else:
            try:
                old = read_batch(data, position)
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
        if base > next_offset and dense and last >= until:
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
