"""One segment: a `.log` file with its offset, time and transaction index.

Who calls it: the log as a whole, under which only the last segment is appended to; all others are sealed and change
only by truncation, deletion or a swap by the cleaner. The segment knows nothing of epochs or producers.

What is in memory: for the active segment the index entries since the last write; for a sealed one nothing but this
object until somebody reads it. Its files are `SegmentFiles`' business.

What is durable when: nothing by itself, until the files of a `flush_plan` are synced. A crash before that is for
recovery to repair: the log file is walked and the indexes are rebuilt from it. An error of the file system passes
through as `OSError`.

An index entry is a hint. The batch that it points at must confirm it, which costs nothing as it is read anyway; if it
does not, the index was damaged, and both indexes are made again from the log file, on the spot.

Positions are 32 bits in the offset index, so a segment never grows beyond 2 GiB, and offsets are relative to the base
offset in 31 bits, so it never spans more.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from odradek.common.failures import check, fail
from odradek.common.ports import Buffer, FileSystem
from odradek.log.errors import SegmentOverflow
from odradek.log.offsets import (
    NO_TIMESTAMP,
    AbortedTxn,
    BatchPosition,
    CompletedTxn,
    FileRange,
    FoundTimestamp,
    OffsetMetadata,
    OffsetPosition,
    TimestampOffset,
)
from odradek.log.segments.batch_scan import find_batch, find_timestamp, largest_timestamp, scan_batches
from odradek.log.segments.index_file import MAX_RELATIVE_OFFSET
from odradek.log.segments.segment_files import SegmentFiles
from odradek.records.errors import CorruptRecord

MAX_SEGMENT_BYTES = 2**31 - 1

#: In place of a timestamp, which is -1 (none) or more.
_NOT_LOADED = -2

#: Beyond all offsets: then no search begins at the tail.
_NO_TAIL = 2**63
_UNKNOWN_OFFSET = -1

#: How much `append_from` copies at once; a larger batch is copied alone.
_COPY_BYTES = 1024 * 1024


class AppendedBatch(Protocol):
    """Fields of a batch that the indexes require; `records.batch.Batch` is one, with its offset already assigned."""

    @property
    def last_offset(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...


class SegmentRead(NamedTuple):
    """`start` is the batch that holds the offset asked for. `records` may be of length 0."""

    start: OffsetMetadata
    records: FileRange
    first_entry_incomplete: bool


class Segment(SegmentFiles):
    """`base_offset`, `size` (bytes of the log file), the indexes and `roll_jitter_ms` are public to read."""

    __slots__ = (
        "_bytes_since_index_entry",
        "_created_ms",
        "_first_timestamp",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_next_offset",
        "_tail_offset",
        "_tail_position",
        "index_interval_bytes",
        "roll_jitter_ms",
    )

    def __init__(
        self,
        files: FileSystem,
        directory: str,
        base_offset: int,
        *,
        now_ms: int,
        index_interval_bytes: int = 4096,
        max_index_bytes: int = 10 * 1024 * 1024,
        roll_jitter_ms: int = 0,
        suffix: str = "",
        create: bool = False,
        create_later: bool = False,
    ) -> None:
        """Open a segment. With `create` the files are created empty, with `create_later` when the first of them is
        needed; otherwise the `.log` must exist."""
        super().__init__(files, directory, base_offset, max_index_bytes, suffix, create, create_later)
        self.index_interval_bytes = index_interval_bytes
        self.roll_jitter_ms = roll_jitter_ms
        self._created_ms = now_ms
        self._bytes_since_index_entry = 0
        self._max_timestamp = _NOT_LOADED  # then ask the time index
        self._max_timestamp_offset = -1
        self._first_timestamp = _NOT_LOADED  # then ask the first batch
        self._tail_offset = _NO_TAIL
        self._tail_position = 0
        self._next_offset = _UNKNOWN_OFFSET

    # Appending

    def append(self, largest_offset: int, data: Buffer, batches: Sequence[AppendedBatch]) -> None:
        """`data` is exactly these batches. Raises SegmentOverflow before anything is written."""
        position = self.size
        if not 0 <= largest_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
            raise SegmentOverflow(self.log_path, self.base_offset, largest_offset)
        end = position + len(data)
        if end > MAX_SEGMENT_BYTES:
            fail(f"{self.log_path}: {len(data)} bytes more would make it larger than 2 GiB")
        (self._file or self.file).write(position, data)
        self.size = end
        if self._next_offset >= 0:
            self._tail_offset, self._tail_position = self._next_offset, position
        self._next_offset = largest_offset + 1
        if self._max_timestamp == _NOT_LOADED:
            self._load_max_timestamp()
        since = self._bytes_since_index_entry
        for batch in batches:
            if batch.max_timestamp > self._max_timestamp:
                self._max_timestamp = batch.max_timestamp
                self._max_timestamp_offset = batch.last_offset
            if since > self.index_interval_bytes:
                self.offset_index.append(batch.last_offset, position)
                self.time_index.maybe_append(self._max_timestamp, self._max_timestamp_offset)
                since = 0
            size_bytes = batch.size_bytes
            position += size_bytes
            since += size_bytes
        self._bytes_since_index_entry = since

    def append_from(self, source: "Segment", position: int) -> int:
        """Copy whole batches of `source` from `position` on while their offsets fit; returns how many bytes."""
        start = position
        while position < source.size:
            accepted: list[AppendedBatch] = []
            length, largest_offset = 0, -1
            for batch in scan_batches(source.file, position, source.size):
                if not self._fits(batch.last_offset) or (accepted and length + batch.size_bytes >= _COPY_BYTES):
                    break
                accepted.append(batch)
                length += batch.size_bytes
                largest_offset = batch.last_offset
            if not accepted:
                break
            self.append(largest_offset, source.file.read(position, length), accepted)
            position += length
        return position - start

    def update_txn_index(self, completed: CompletedTxn, last_stable_offset: int) -> None:
        """Remember an aborted transaction; a committed one needs nothing."""
        if completed.is_aborted:
            self.txn_index.append(
                AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, last_stable_offset)
            )

    # Rolling

    def should_roll(
        self,
        incoming_bytes: int,
        largest_offset: int,
        max_timestamp: int,
        *,
        now_ms: int,
        segment_bytes: int,
        segment_ms: int,
    ) -> bool:
        size = self.size
        return (
            size > segment_bytes - incoming_bytes
            or (size > 0 and self.time_waited_for_roll(now_ms, max_timestamp) > segment_ms - self.roll_jitter_ms)
            or self.offset_index.is_full
            or self.time_index.is_full
            or not 0 <= largest_offset - self.base_offset <= MAX_RELATIVE_OFFSET
        )

    def time_waited_for_roll(self, now_ms: int, message_timestamp: int) -> int:
        """From the first batch's time to the incoming one's; by the clock only where the first batch has no time."""
        first = self._first_timestamp
        if first == _NOT_LOADED:
            first = self._load_first_timestamp()
        return message_timestamp - first if first >= 0 else now_ms - self._created_ms

    def first_batch_timestamp(self) -> int | None:
        """Max timestamp of the first batch; None if there is none or it has no time."""
        first = self._load_first_timestamp()
        return first if first >= 0 else None

    def become_inactive(self) -> None:
        """At a roll: the last time index entry is added and the indexes are written out."""
        self._add_last_time_entry()
        self._write_indexes()
        self._sealed = True

    # Reading

    def read(
        self, start_offset: int, max_bytes: int, *, max_position: int | None = None, min_one_message: bool = False
    ) -> SegmentRead | None:
        """None if `start_offset` is beyond the last batch. `max_position` None is the end of the file. The range may
        end inside of a batch; `first_entry_incomplete` says that not even the first one is whole."""
        check(max_bytes >= 0, "a read has a size")
        batch_position = self.translate_offset(start_offset)
        if batch_position is None:
            return None
        base_offset, position, size_bytes = batch_position
        if min_one_message and max_bytes < size_bytes:
            max_bytes = size_bytes
        end = self.size if max_position is None else max_position
        length = max(0, min(end - position, max_bytes))
        return SegmentRead(
            OffsetMetadata(base_offset, self.base_offset, position),
            FileRange(self._file or self.file, position, length),
            max_bytes < size_bytes,
        )

    def translate_offset(self, offset: int, start_position: int = 0) -> BatchPosition | None:
        """The first batch whose last offset is `offset` or more."""
        file = self._file or self.file
        if offset >= self._tail_offset and not start_position:
            # What was appended last, for those who wait for it: all followers, and most consumers.
            with suppress(CorruptRecord):
                return find_batch(file, self._tail_position, self.size, offset, self._tail_offset)
        entry = self.offset_index.lookup(offset)
        if start_position > entry.position:
            return find_batch(file, start_position, self.size, offset)
        if not entry.position:
            return find_batch(file, 0, self.size, offset, self.base_offset)
        try:
            return find_batch(file, entry.position, self.size, offset, self.base_offset, entry.offset, True)
        except CorruptRecord:
            return self._search_again(offset, entry)

    def _search_again(self, offset: int, entry: OffsetPosition) -> BatchPosition | None:
        """An entry was not confirmed. It may be of the kind that older versions wrote, for several batches together:
        the walk from the entry before it tells. If that fails, the index is damaged, or the log is."""
        earlier = self.offset_index.lookup(entry.offset - 1)
        if earlier.position < entry.position:
            with suppress(CorruptRecord):
                confirms = earlier.offset if earlier.position else None
                return find_batch(self.file, earlier.position, self.size, offset, self.base_offset, confirms)
        batch_position = find_batch(self.file, 0, self.size, offset, self.base_offset)
        self.rebuild_lookup()
        return batch_position

    def fetch_upper_bound_offset(self, position: int, length: int) -> int | None:
        """An offset that lies behind `length` bytes read from `position`, from the index; None if it knows none."""
        entry = self.offset_index.fetch_upper_bound(position + length)
        if entry is not None and not self._is_confirmed(entry):
            self.rebuild_lookup()
            entry = self.offset_index.fetch_upper_bound(position + length)
        return entry.offset if entry else None

    def rebuild_lookup(self) -> None:
        """Make offset and time index again from the log file, in which nothing is changed."""
        self.offset_index.reset()
        self.time_index.reset()
        largest = TimestampOffset(NO_TIMESTAMP, self.base_offset)
        last_entry_at = 0
        next_offset = self.base_offset
        for batch in scan_batches(self.file, 0, self.size):
            if batch.base_offset < next_offset:
                raise CorruptRecord(f"{self.log_path}:{batch.position}: offset {batch.base_offset} after {next_offset}")
            next_offset = batch.last_offset + 1
            if batch.max_timestamp > largest.timestamp:
                largest = TimestampOffset(batch.max_timestamp, batch.last_offset)
            if batch.position - last_entry_at > self.index_interval_bytes:
                last_entry_at = batch.position
                self.offset_index.append(batch.last_offset, batch.position)
                self.time_index.maybe_append(*largest)
        self._max_timestamp, self._max_timestamp_offset = largest
        if self._sealed:
            self._add_last_time_entry()
        self._write_indexes()

    def read_next_offset(self) -> int:
        """The offset after the last batch, found by reading from the last index entry on."""
        if not self.size:
            return self.base_offset
        start = self.translate_offset(self.offset_index.last_offset)
        next_offset = self.base_offset
        if start is not None:
            for batch in scan_batches(self.file, start.position, self.size):
                next_offset = batch.last_offset + 1
        return next_offset

    def has_overflow(self) -> bool:
        next_offset = self.read_next_offset()
        return next_offset > self.base_offset and not self._fits(next_offset - 1)

    def find_offset_by_timestamp(self, timestamp: int, starting_offset: int) -> FoundTimestamp | None:
        """The first record that is as late as `timestamp` and not before `starting_offset`."""
        entry = self.time_index.lookup(timestamp)
        if not self._is_confirmed_time(entry):
            self.rebuild_lookup()
            entry = self.time_index.lookup(timestamp)
        first = self.translate_offset(max(entry.offset, starting_offset))
        if first is None:
            return None
        return find_timestamp(self.file, first.position, self.size, timestamp, starting_offset)

    def collect_aborted(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """Aborted transactions that overlap the range, and whether later segments cannot hold more."""
        return self.txn_index.collect(fetch_offset, upper_bound_offset)

    # Time

    @property
    def max_timestamp_and_offset(self) -> TimestampOffset:
        """The largest timestamp so far and the last offset of its batch; of a sealed segment from its time index."""
        if self._max_timestamp == _NOT_LOADED:
            self._load_max_timestamp()
        return TimestampOffset(self._max_timestamp, self._max_timestamp_offset)

    @property
    def max_timestamp_so_far(self) -> int:
        if self._max_timestamp == _NOT_LOADED:
            self._load_max_timestamp()
        return self._max_timestamp

    def largest_record_timestamp(self) -> int | None:
        largest = self.max_timestamp_so_far
        return largest if largest >= 0 else None

    def largest_timestamp(self) -> int:
        """Largest timestamp, or the modification time of the file: retention by time uses it."""
        largest = self.max_timestamp_so_far
        return largest if largest >= 0 else self.modified_ms()

    # Cutting and repairing

    def truncate_to(self, offset: int, now_ms: int) -> int:
        """Drop the batch that holds `offset` and everything behind it; returns the bytes dropped. What is left may be
        appended to again."""
        batch_position = self.translate_offset(offset)  # with the index still whole: no needless walk
        for index in (self.offset_index, self.time_index, self.txn_index):
            index.truncate_to(offset)
        dropped = 0
        self._forget_tail()
        if batch_position is not None:
            dropped = self.size - batch_position.position
            self.cut(batch_position.position)
        if self.size == 0:
            self._created_ms = now_ms
            self._first_timestamp = _NOT_LOADED
        self._bytes_since_index_entry = 0
        self._sealed = False
        if self.max_timestamp_so_far >= 0:
            self._max_timestamp, self._max_timestamp_offset = self._read_largest_timestamp()
        self._write_indexes()
        return dropped

    def begin_rebuild(self) -> None:
        """Forget all indexes; recovery adds entries to them and calls `finish_rebuild`."""
        self.offset_index.reset()
        self.time_index.reset()
        self.txn_index.reset()
        self._max_timestamp = self._first_timestamp = _NOT_LOADED
        self._forget_tail()

    def finish_rebuild(self, valid_bytes: int, largest: TimestampOffset) -> None:
        """Cut the log to what is valid; the indexes end as if the segment had been closed."""
        self._forget_tail()
        if valid_bytes < self.size:
            self.cut(valid_bytes)
        self._max_timestamp, self._max_timestamp_offset = largest
        self._add_last_time_entry()
        self._write_indexes()
        self.offset_index.ensure_exists()
        self.time_index.ensure_exists()

    def close(self) -> None:
        """Add the last time index entry, write the indexes, close. It syncs nothing: flush first."""
        if self._max_timestamp != _NOT_LOADED:
            self._add_last_time_entry()
        self._write_indexes()
        self.close_handlers()

    def __repr__(self) -> str:
        return f"Segment({self.log_path}, {self.size} bytes)"

    def _forget_tail(self) -> None:
        """Forget the start of the latest append and its first offset, which are known from the second append on."""
        self._tail_offset, self._tail_position, self._next_offset = _NO_TAIL, 0, _UNKNOWN_OFFSET

    def _fits(self, offset: int) -> bool:
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def _is_confirmed(self, entry: OffsetPosition) -> bool:
        """Return whether a batch begins there that is not beyond the entry's offset."""
        try:
            batch_position = find_batch(self.file, entry.position, self.size, 0, self.base_offset, entry.offset)
        except CorruptRecord:
            return False
        return batch_position is not None

    def _is_confirmed_time(self, entry: TimestampOffset) -> bool:
        """Return whether the batch of the entry's offset is the one that had its timestamp."""
        if entry.timestamp == NO_TIMESTAMP:
            return True
        batch_position = self.translate_offset(entry.offset)
        if batch_position is None or batch_position.base_offset > entry.offset:
            return False
        batch = next(scan_batches(self.file, batch_position.position, self.size), None)
        return batch is not None and batch.max_timestamp == entry.timestamp

    def _load_max_timestamp(self) -> None:
        last = self.time_index.last_entry
        if self._is_confirmed_time(last):
            self._max_timestamp, self._max_timestamp_offset = last
        else:
            self.rebuild_lookup()

    def _load_first_timestamp(self) -> int:
        """It stays unknown while there is no batch."""
        if self._first_timestamp == _NOT_LOADED and self.size:
            for batch in scan_batches(self.file, 0, self.size):
                self._first_timestamp = batch.max_timestamp
                break
        return self._first_timestamp

    def _read_largest_timestamp(self) -> TimestampOffset:
        last = self.time_index.last_entry
        position = self.offset_index.lookup(last.offset).position
        tail_timestamp = largest_timestamp(self.file, position, self.size)
        return tail_timestamp if tail_timestamp.timestamp > last.timestamp else last

    def _add_last_time_entry(self) -> None:
        largest = self.max_timestamp_and_offset
        self.time_index.maybe_append(largest.timestamp, largest.offset, even_if_full=True)
