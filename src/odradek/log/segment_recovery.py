"""Recovery of one segment: walk its batches, check every CRC, rebuild its indexes, cut off what is damaged.

The walk is the only thing in the log whose cost grows with the log, so it reads large chunks and looks at each batch
once, through `header_at`, without building anything for it. A batch that is cut off, fails its CRC, cannot be, or has
an offset that does not lie behind the one before ends the valid part: everything from there on is dropped, and why is
part of the answer. (The base offset is not under the CRC. Kafka notices offsets that run backwards only where an index
entry falls on them, and then drops the whole segment.)

Leader epochs and producers of the valid batches are fed to the caches that are handed in. Offsets that are too far
from the base offset are not for this walk to repair: `SegmentOverflow` is raised, and the loader splits the segment.
"""

from collections import deque
from dataclasses import dataclass

from crc32c import crc32c

from odradek.log.epoch_cache import EpochCache
from odradek.log.errors import DamagedFile, SegmentOverflow
from odradek.log.index_file import MAX_RELATIVE_OFFSET
from odradek.log.offsets import NO_TIMESTAMP, AppendOrigin, TimestampOffset
from odradek.log.producer_entry import BATCHES_TO_RETAIN
from odradek.log.producer_state import ProducerState
from odradek.log.segment import Segment
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
from odradek.records.errors import CorruptRecord, IncompleteBatch, InvalidRecord

#: Enough that reads are few, and small enough to stay in a core's cache while its CRCs are taken.
CHUNK_BYTES = 1024 * 1024

#: Stands for the header where too few bytes are left for one: they may still be a message of an older format.
_NOT_V2 = (0,) * 13

Fields = tuple[int, ...]
_ATTRIBUTES = 5
_PRODUCER_ID = 9
_NO_BYTES = memoryview(b"")


@dataclass(frozen=True, slots=True)
class Recovery:
    """`damage` says why the walk ended early; None if the whole file was good."""

    valid_bytes: int
    truncated_bytes: int
    next_offset: int
    damage: DamagedFile | None


def recover_segment(segment: Segment, producers: ProducerState | None, epochs: EpochCache | None) -> Recovery:
    """Raises SegmentOverflow; damage is cut off and reported."""
    size = segment.size
    segment.begin_rebuild()
    walk = _Walk(segment, producers, epochs)
    damage = walk.run()
    valid = walk.position
    walk.finish_producers()
    segment.finish_rebuild(valid, walk.largest)
    return Recovery(valid, size - valid, walk.next_offset, damage)


class _Walk:
    """The state of one walk: how far it is and what it has seen."""

    def __init__(self, segment: Segment, producers: ProducerState | None, epochs: EpochCache | None) -> None:
        self._segment = segment
        self._producers = producers
        self._epochs = epochs
        latest = epochs.latest_epoch if epochs is not None else None
        self._latest_epoch = NO_LEADER_EPOCH if latest is None else latest
        self._last_entry_at = 0
        self._plain_batches: dict[int, deque[Fields]] = {}
        self.position = 0
        self.next_offset = segment.base_offset
        self.largest = TimestampOffset(NO_TIMESTAMP, segment.base_offset)

    def run(self) -> DamagedFile | None:
        file, end = self._segment.file, self._segment.size
        wanted = CHUNK_BYTES
        try:
            while self.position < end:
                start = self.position
                chunk = memoryview(file.read(start, min(wanted, end - start)))
                if len(chunk) < min(wanted, end - start):
                    raise CorruptRecord(f"the file ends after {start + len(chunk)} bytes, {end} were expected")
                self._walk_chunk(chunk, start)
                wanted = CHUNK_BYTES if self.position > start else _bytes_wanted(chunk, end - start)
        except (CorruptRecord, InvalidRecord) as error:
            return DamagedFile(file.path, self.position, error.message)
        return None

    def _walk_chunk(self, view: memoryview, start: int) -> None:
        """Take every whole batch in `view`, which lies at `start` in the file. The hot loop: one unpack and one CRC a
        batch; what is rare (an older format, a new epoch, a producer) is a call."""
        segment = self._segment
        base_offset, interval = segment.base_offset, segment.index_interval_bytes
        largest, largest_offset = self.largest
        last_entry_at, last_offset = self._last_entry_at - start, self.next_offset - 1
        at, end = 0, len(view)
        try:
            while at < end:
                fields = header_at(view, at) if at + HEADER_BYTES <= end else _NOT_V2
                base, length, epoch, magic, crc, _, delta, _, timestamp, producer_id, _, _, _ = fields
                after = at + length + OVERHEAD_BYTES
                if magic != MAGIC_V2 or length < HEADER_BYTES - OVERHEAD_BYTES:
                    other = _other_batch(view, at)
                    if other is None:
                        return
                    base, delta, timestamp, after = other.last_offset, 0, other.max_timestamp, at + other.size_bytes
                    epoch, producer_id = NO_LEADER_EPOCH, NO_PRODUCER_ID
                elif after > end:
                    return
                elif crc32c(view[at + ATTRIBUTES_AT : after]) != crc:
                    raise CorruptRecord(f"the batch at offset {base} fails its CRC")
                if base <= last_offset:
                    raise CorruptRecord(f"a batch at offset {base} cannot follow offset {last_offset}")
                if base + delta - base_offset > MAX_RELATIVE_OFFSET:
                    raise SegmentOverflow(segment.log_path, base_offset, base + delta)
                last_offset = base + delta
                if timestamp > largest:
                    largest, largest_offset = timestamp, last_offset
                if at - last_entry_at > interval:
                    last_entry_at = at
                    segment.offset_index.append(last_offset, start + at)
                    segment.time_index.maybe_append(largest, largest_offset)
                if epoch > self._latest_epoch:
                    self._start_epoch(epoch, base)
                if producer_id >= 0:
                    self._take_producer(view[at:after], fields)
                at = after
        finally:
            self.position, self._last_entry_at = start + at, start + last_entry_at
            self.largest, self.next_offset = TimestampOffset(largest, largest_offset), last_offset + 1

    def _start_epoch(self, epoch: int, base_offset: int) -> None:
        self._latest_epoch = epoch
        if self._epochs is not None:
            self._epochs.assign(epoch, base_offset)

    def _take_producer(self, view: memoryview, fields: Fields) -> None:
        """Of batches outside of transactions only the last five count, so these are set aside until they must be
        looked at: at the end, or before the same producer begins or ends a transaction."""
        producer_id = fields[_PRODUCER_ID]
        if not fields[_ATTRIBUTES] & (CONTROL_BIT | TRANSACTIONAL_BIT):
            plain = self._plain_batches.get(producer_id)
            if plain is None:
                plain = self._plain_batches[producer_id] = deque(maxlen=BATCHES_TO_RETAIN)
            plain.append(fields)
            return
        for earlier in self._plain_batches.pop(producer_id, ()):
            self._update_producer(Batch(_NO_BYTES, earlier))
        self._update_producer(Batch(view, fields))

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
