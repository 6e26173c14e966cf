"""Recovery of one segment: walk its batches, check every CRC, rebuild its indexes, cut off what is damaged.

The walk is the only thing in the log whose cost grows with the log, so it reads large chunks and looks at each batch
once, through `header_at`, without building anything for it. What ends the valid part: a batch that is cut off, fails
its CRC or cannot be; an offset that does not lie behind the one before; a leader epoch that neither the cache nor the
next batch knows. Everything from there on is dropped, and why is part of the answer. (Base offset and epoch are not
under the CRC. Kafka notices offsets that run backwards only where an index entry falls on them, and then drops the
whole segment; epochs it believes.) Whether an offset that was left out is damage too is for the caller to say, since
compaction leaves some out.

Epochs and producers of the valid batches are fed to the caches that are handed in. Offsets that are too far from the
base offset are not for this walk to repair: `SegmentOverflow` is raised, and the loader splits the segment.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from odradek.log.batch_chain import contradicts
from odradek.log.errors import DamagedFile, SegmentOverflow
from odradek.log.leader_epochs import END_OF_OFFSETS, EpochSpan, LeaderEpochs
from odradek.log.offsets import NO_TIMESTAMP, AppendOrigin, TimestampOffset
from odradek.log.producers.producer_entry import BATCHES_TO_RETAIN
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segments.index_file import MAX_RELATIVE_OFFSET
from odradek.log.segments.segment import Segment
from odradek.records.batch import (
    ATTRIBUTES_AT,
    CONTROL_BIT,
    HEADER_BYTES,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    NO_PRODUCER_ID,
    OVERHEAD_BYTES,
    TRANSACTIONAL_BIT,
    Batch,
    header_at,
    read_batch,
    size_at,
)
from odradek.records.crc import crc32c
from odradek.records.errors import CorruptRecord, IncompleteBatch, InvalidRecord

#: Enough that reads are few, and small enough to stay in a core's cache while its CRCs are taken.
CHUNK_BYTES = 1024 * 1024

#: Stands for the header where too few bytes are left for one: they may still be a message of an older format.
_NOT_V2 = (0,) * 13

Fields = tuple[int, ...]
_ATTRIBUTES = 5
_PRODUCER_ID = 9
_NOT_PLAIN = CONTROL_BIT | TRANSACTIONAL_BIT
_NO_BYTES = memoryview(b"")


@dataclass(frozen=True, slots=True)
class Recovery:
    """`damage` says why the walk ended early; None if the whole file was good.

    `gaps` counts the batches before which offsets are left out. If the last batch is one, `gap_at` is the offset that
    should have come, and `gap_is_filled` says that it does come, behind it: the last batch has a wrong offset."""

    valid_bytes: int
    truncated_bytes: int
    next_offset: int
    damage: DamagedFile | None
    gaps: int = 0
    gap_at: int | None = None
    gap_is_filled: bool = False


def recover_segment(
    segment: Segment, producers: ProducerState | None, epochs: LeaderEpochs | None, next_header: bytes = b""
) -> Recovery:
    """Raises SegmentOverflow; damage is cut off and reported. `next_header` is how the next segment begins."""
    size = segment.size
    segment.begin_rebuild()
    walk = _Walk(segment, producers, epochs, next_header)
    damage = walk.run()
    valid = walk.position
    walk.finish_producers()
    segment.finish_rebuild(valid, walk.largest)
    return Recovery(
        valid,
        size - valid,
        walk.next_offset,
        damage,
        walk.gaps,
        walk.gap_at if walk.gap_at >= 0 else None,
        walk.gap_is_filled,
    )


class _Walk:
    """The state of one walk: how far it is and what it has seen."""

    def __init__(
        self, segment: Segment, producers: ProducerState | None, epochs: LeaderEpochs | None, next_header: bytes
    ) -> None:
        self._segment = segment
        self._next_header = next_header
        self._producers = producers
        self._epochs = epochs
        self._epoch, self._epoch_end = NO_LEADER_EPOCH, END_OF_OFFSETS if epochs is None else segment.base_offset
        self._last_entry_at = 0
        self._plain_batches: dict[int, deque[Fields]] = {}
        self.position = 0
        self.gaps, self.gap_at, self.gap_is_filled = 0, -1, False
        self.next_offset = segment.base_offset
        self.largest = TimestampOffset(NO_TIMESTAMP, segment.base_offset)

    def run(self) -> DamagedFile | None:
        file, end = self._segment.file, self._segment.size
        read_bytes = CHUNK_BYTES
        try:
            while self.position < end:
                start = self.position
                chunk = memoryview(file.read(start, min(read_bytes, end - start)))
                if len(chunk) < min(read_bytes, end - start):
                    raise CorruptRecord(f"the file ends after {start + len(chunk)} bytes, {end} were expected")
                self._walk_chunk(chunk, start)
                read_bytes = CHUNK_BYTES if self.position > start else _bytes_wanted(chunk, end - start)
        except (CorruptRecord, InvalidRecord) as error:
            return DamagedFile(file.path, self.position, error.message)
        return None

    def _walk_chunk(self, view: memoryview, start: int) -> None:
        """Take every whole batch in `view`, which lies at `start` in the file. The hot loop: one unpack and one CRC a
        batch; what is rare (an older format, a new epoch, a producer) is a call."""
        segment = self._segment
        interval, base_offset = segment.index_interval_bytes, segment.base_offset
        limit = base_offset + MAX_RELATIVE_OFFSET
        largest, largest_offset = self.largest
        offset_entries: list[int] = []
        time_entries: list[int] = []
        last_time = segment.time_index.last_entry.timestamp
        last_entry_at, expected = self._last_entry_at - start, self.next_offset
        current_epoch, epoch_end, gap_at = self._epoch, self._epoch_end, self.gap_at
        plain_id = NO_PRODUCER_ID
        defer: Callable[[Fields], None] = _ignore
        at, end = 0, len(view)
        whole_end = end - HEADER_BYTES
        try:
            while at < end:
                fields = header_at(view, at) if at <= whole_end else _NOT_V2
                base, length, epoch, magic, crc, _, delta, _, timestamp, producer_id, _, _, _ = fields
                next_position = at + length + OVERHEAD_BYTES
                if magic != MAGIC_V2 or length < HEADER_BYTES - OVERHEAD_BYTES:
                    other = _other_batch(view, at)
                    if other is None:
                        return
                    base, delta, timestamp, next_position = (
                        other.last_offset,
                        0,
                        other.max_timestamp,
                        at + other.size_bytes,
                    )
                    expected = base if other.base_offset == expected else expected
                    epoch, producer_id = current_epoch, NO_PRODUCER_ID
                elif next_position > end:
                    return
                elif crc32c(view[at + ATTRIBUTES_AT : next_position]) != crc:
                    raise CorruptRecord(f"the batch at offset {base} fails its CRC")
                if base != expected:
                    self._check_gap(base, expected, gap_at)
                if epoch != current_epoch or base >= epoch_end:
                    current_epoch, epoch_end = self._enter_epoch(epoch, base, start + next_position)
                gap_at = expected if base != expected else -1
                last_offset = base + delta
                if last_offset > limit:
                    raise SegmentOverflow(segment.log_path, segment.base_offset, last_offset)
                expected = last_offset + 1
                if timestamp > largest:
                    largest, largest_offset = timestamp, last_offset
                if at - last_entry_at > interval:
                    last_entry_at = at
                    offset_entries += (last_offset - base_offset, start + at)
                    if largest > last_time:
                        last_time = largest
                        time_entries += (largest, largest_offset - base_offset)
                if producer_id >= 0:
                    if producer_id == plain_id and not fields[_ATTRIBUTES] & _NOT_PLAIN:
                        defer(fields)
                    else:
                        plain_id, defer = self._take_producer(view[at:next_position], fields)
                at = next_position
        finally:
            segment.offset_index.extend(offset_entries)
            segment.time_index.extend(time_entries)
            self.position, self._last_entry_at = start + at, start + last_entry_at
            self.largest, self.next_offset = TimestampOffset(largest, largest_offset), expected
            self._epoch, self._epoch_end, self.gap_at = current_epoch, epoch_end, gap_at

    def _check_gap(self, base: int, expected: int, gap_at: int) -> None:
        if base < expected:
            self.gap_is_filled = 0 <= gap_at <= base
            raise CorruptRecord(f"a batch at offset {base} cannot follow offset {expected - 1}")
        self.gaps += 1

    def _enter_epoch(self, epoch: int, base_offset: int, next_position: int) -> EpochSpan:
        """The batch at `base_offset` has another epoch than those before, or ought to have. It must be the one that is
        known for its offset, unless the batch behind it, at `next_position`, contradicts the cache as well."""
        if self._epochs is None or epoch == NO_LEADER_EPOCH:
            return EpochSpan(epoch, self._epoch_end)
        span = self._epochs.span_at(base_offset)
        is_forgotten = span.epoch == NO_LEADER_EPOCH and self._epochs.is_complete  # it lies below the log's start
        if epoch == span.epoch or is_forgotten:
            return EpochSpan(epoch, span.end)
        if epoch < span.epoch or self._epochs.is_complete:
            following = self._segment.file.read(next_position, HEADER_BYTES) or self._next_header
            if not contradicts(following, 0, span.epoch, span.end):
                raise CorruptRecord(
                    f"the batch at offset {base_offset} has epoch {epoch}, but was written in {span.epoch}"
                )
            self._epochs.is_complete = False  # the batches are believed from here on
        self._epochs.truncate_from_end(base_offset)
        self._epochs.assign(epoch, base_offset)
        return EpochSpan(epoch, END_OF_OFFSETS)

    def _take_producer(self, view: memoryview, fields: Fields) -> tuple[int, Callable[[Fields], None]]:
        """Track the producer of a batch. Outside of transactions only the last five batches count, so these are
        deferred until they are needed: at the end, or before the same producer begins or ends a transaction. Return the
        producer id and the function for its next plain batches, which saves the next call."""
        producer_id = fields[_PRODUCER_ID]
        if not fields[_ATTRIBUTES] & _NOT_PLAIN:
            plain = self._plain_batches.get(producer_id)
            if plain is None:
                plain = self._plain_batches[producer_id] = deque(maxlen=BATCHES_TO_RETAIN)
            plain.append(fields)
            return producer_id, plain.append
        for earlier in self._plain_batches.pop(producer_id, ()):
            self._update_producer(Batch(_NO_BYTES, earlier))
        self._update_producer(Batch(view, fields))
        return NO_PRODUCER_ID, _ignore

    def finish_producers(self) -> None:
        for plain in self._plain_batches.values():
            for fields in plain:
                self._update_producer(Batch(_NO_BYTES, fields))
        if self._producers is not None and self.position:
            self._producers.update_map_end_offset(self.next_offset)

    def _update_producer(self, batch: Batch) -> None:
        producers = self._producers
        if producers is None:
            return
        append = producers.prepare_update(batch.producer_id, AppendOrigin.REPLICATION)
        completed = append.append(batch)
        producers.update(append)
        if completed is not None:
            self._segment.update_txn_index(completed, producers.last_stable_offset(completed))
            producers.complete_txn(completed)


def _ignore(fields: Fields) -> None:
    """Ignore a batch without a producer."""


def _other_batch(view: memoryview, at: int) -> Batch | None:
    """A batch of an older format, or None if the chunk holds no whole batch here."""
    try:
        batch = read_batch(view, at)
    except IncompleteBatch:
        return None
    batch.check()
    return batch


def _bytes_wanted(chunk: memoryview, left: int) -> int:
    """The batch at the front does not fit into the chunk: how much must be read for it."""
    if left < OVERHEAD_BYTES:
        raise CorruptRecord(f"{left} bytes are too few for a batch")
    size_bytes = size_at(chunk, 0)
    if size_bytes > left:
        raise CorruptRecord(f"a batch of {size_bytes} bytes begins here, but only {left} follow")
    return size_bytes
