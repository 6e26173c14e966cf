"""Looking along the chain of batches, without changing anything.

A CRC says that a batch is what was written; it says nothing about base offset, length and leader epoch, which lie
outside of it. The chain does: batches follow each other without a gap in the file, their offsets ascend, and each has
the epoch that the epoch cache knows for its offset (its checkpoint is synced before the first batch of an epoch is
written), unless the next batch contradicts the cache as well: one dissenter is damage, two in a row show a checkpoint
that is not the one that was written. `walk_chain` finds the first place where that does not hold.

The loader asks before it repairs, since a break below the recovery point must not be repaired by cutting; `fetch` asks
before it hands out what it has read.
"""

from __future__ import annotations

from typing import NamedTuple

from odradek.common.ports import Buffer
from odradek.log.leader_epochs import END_OF_OFFSETS, UNDEFINED_EPOCH, LeaderEpochs
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
from odradek.records.crc import crc32c
from odradek.records.errors import CorruptRecord, IncompleteBatch, InvalidRecord


class Chain(NamedTuple):
    """End of the consistent batches, and the problem there (empty: none). `is_cut_off`: the last batch is incomplete,
    which is a problem at the end of a file, and normal at the end of a range that was read."""

    valid_bytes: int
    next_offset: int
    reason: str
    is_cut_off: bool = False


def walk_chain(
    data: memoryview,
    base_offset: int,
    epochs: LeaderEpochs | None = None,
    *,
    until: int = END_OF_OFFSETS,
    dense: bool = False,
) -> Chain:
    """`data` begins with a batch of `base_offset` or later; it is walked up to offset `until`.

    In a `dense` log, one that was never compacted, offsets that are left out and reach to `until` are a break: that
    offset was once the end of the log, so a batch ended there. (A gap before it shows that it was compacted once.)

    Where offsets run backwards, one of two batches is wrong. If the earlier one had left offsets out, and the later
    one, whose CRC holds, would fit there, it is the earlier one's offset that is damaged: the chain ends before it."""
    position, end = 0, len(data)
    next_offset, epoch = base_offset, UNDEFINED_EPOCH
    span_epoch, span_end = UNDEFINED_EPOCH, END_OF_OFFSETS if epochs is None else base_offset
    is_known = False
    before_gap: Chain | None = None
    while position < end and (next_offset < until or before_gap is not None):
        if end - position >= HEADER_BYTES and data[position + MAGIC_AT] == MAGIC_V2:
            base, length, epoch, _, crc, _, delta, _, _, _, _, _, _ = header_at(data, position)
            next_position = position + length + OVERHEAD_BYTES
            if length + OVERHEAD_BYTES < HEADER_BYTES or next_position > end:
                reason = f"a batch of length {length} does not fit the {end - position} bytes that are left"
                return Chain(position, next_offset, reason, length + OVERHEAD_BYTES >= HEADER_BYTES)
            if crc32c(data[position + ATTRIBUTES_AT : next_position]) != crc:
                return Chain(position, next_offset, f"the CRC of the batch at offset {base} does not hold")
            last = base + delta
        else:
            try:
                base, last, next_position = _other_batch(data, position)
            except IncompleteBatch as error:
                return Chain(position, next_offset, error.message, True)
            except (CorruptRecord, InvalidRecord) as error:
                return Chain(position, next_offset, error.message)
            epoch = UNDEFINED_EPOCH
        if base != next_offset:
            if base < next_offset:
                reason = f"offsets {base} to {last} where {next_offset} or later was expected"
                if before_gap is not None and before_gap.next_offset <= base:
                    return before_gap._replace(reason=f"an offset that is too large: {reason} behind it")
                return Chain(position, next_offset, reason)
            dense = dense and before_gap is None
            if dense and last >= until:
                return Chain(position, next_offset, f"offset {base} where {next_offset} was expected")
            before_gap = Chain(position, next_offset, "")
        elif before_gap is not None:
            before_gap, dense = None, False
        if last < base:
            return Chain(position, next_offset, f"a batch of offsets {base} to {last}")
        if base >= span_end and epochs is not None:
            span_epoch, span_end = epochs.span_at(base)
            is_known = span_epoch != UNDEFINED_EPOCH
        if epoch != span_epoch and epoch != UNDEFINED_EPOCH:
            if (is_known or epoch < span_epoch) and not contradicts(data, next_position, span_epoch, span_end):
                return Chain(position, next_offset, f"leader epoch {epoch} at offset {base}, where it is {span_epoch}")
            if is_known:
                span_end, is_known = END_OF_OFFSETS, False  # the batches are believed from here on
            span_epoch = epoch
        position, next_offset = next_position, last + 1
    return Chain(position, next_offset, "")


def contradicts(data: Buffer, position: int, span_epoch: int, span_end: int) -> bool:
    """Return whether the batch at `position`, too, does not have the epoch that its offset requires: `span_epoch` if
    it begins before `span_end`, or else a later one."""
    if len(data) - position < HEADER_BYTES or data[position + MAGIC_AT] != MAGIC_V2:
        return False
    base, _, epoch, _, _, _, _, _, _, _, _, _, _ = header_at(data, position)
    if epoch == UNDEFINED_EPOCH:
        return False
    return bool(epoch != span_epoch if base < span_end else epoch <= span_epoch)


def _other_batch(data: memoryview, position: int) -> tuple[int, int, int]:
    """First and last offset of a batch of an older format, and where it ends."""
    if len(data) - position < PREFIX_BYTES:
        raise IncompleteBatch(f"{len(data) - position} bytes are too few for a batch")
    old = read_batch(data, position)
    old.check()
    return old.base_offset, old.last_offset, position + old.size_bytes
