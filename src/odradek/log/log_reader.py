"""Finding and reading records by offset or by timestamp.

`read` returns a range of one segment file, located by the index; the range itself is not read. Where the range may end
depends on the reader: a follower sees the log end, a consumer the high watermark, a `read_committed` consumer the last
stable offset, along with the aborted transactions that touch the range.

`fetch` reads the bytes. Damage on disk must not reach a reader, who could not tell it from what was written, and a
follower would even copy it: so every whole batch is checked on the way out (`batch_chain`): its CRC, its length, its
offsets and epoch beside its neighbours'. The check costs two to three times the read itself (see `bench/log_ops.py`);
`check_on_read` turns it off. Damage takes the replica offline, since the same bytes would be read again.
"""

from __future__ import annotations

from odradek.common.list_offsets_timestamps import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from odradek.log.batch_chain import walk_chain
from odradek.log.errors import InvalidArgument, OffsetOutOfRange, StaleRead
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.log_health import LogHealth
from odradek.log.log_offsets import LogOffsets
from odradek.log.offsets import NO_TIMESTAMP, AbortedTxn, FileRange, FoundTimestamp, OffsetMetadata
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segment_list import SegmentList
from odradek.log.segments.batch_scan import batch_at, scan_batches
from odradek.log.segments.segment import Segment, SegmentRead
from odradek.log.values import EpochEndOffset, Isolation, LogRead, OffsetSnapshot
from odradek.records.errors import CorruptRecord

#: A batch begins with its base offset.
OFFSET_BYTES = 8

_NOTHING_TIERED = FoundTimestamp(NO_TIMESTAMP, -1, -1)


class LogReader:
    """Reads the records of one log."""

    __slots__ = ("_check_on_read", "_epochs", "_health", "_offsets", "_producers", "_segments")

    def __init__(
        self,
        segments: SegmentList,
        offsets: LogOffsets,
        epochs: LeaderEpochs,
        producers: ProducerState,
        health: LogHealth,
        *,
        check_on_read: bool = True,
    ) -> None:
        """`check_on_read`: `fetch` checks every batch that it returns."""
        self._segments = segments
        self._offsets = offsets
        self._epochs = epochs
        self._producers = producers
        self._health = health
        self._check_on_read = check_on_read

    # -- file positions of the offsets

    @property
    def log_end_position(self) -> OffsetMetadata:
        active = self._segments.active
        return OffsetMetadata(self._offsets.log_end_offset, active.base_offset, active.size)

    @property
    def high_watermark_position(self) -> OffsetMetadata:
        """The high watermark with its file position, which is looked up once and remembered."""
        offsets = self._offsets
        high_watermark = offsets.high_watermark
        if high_watermark == offsets.log_end_offset:
            return self.log_end_position
        position = offsets.high_watermark_position
        if position.message_offset != high_watermark or position.is_offset_only:
            position = self.position_of(high_watermark)
            offsets.remember_position(position)
        return position

    @property
    def last_stable_position(self) -> OffsetMetadata:
        unstable = self._producers.first_unstable_offset()
        if unstable is None or unstable.message_offset >= self._offsets.high_watermark:
            return self.high_watermark_position
        log_start_offset = self._offsets.log_start_offset
        if unstable.is_offset_only or unstable.message_offset < log_start_offset:
            return self.position_of(max(unstable.message_offset, log_start_offset))
        return unstable

    def visible_end(self, isolation: Isolation) -> OffsetMetadata:
        """Return the first offset that a reader with this isolation does not see."""
        if isolation is Isolation.LOG_END:
            return self.log_end_position
        return self.high_watermark_position if isolation is Isolation.HIGH_WATERMARK else self.last_stable_position

    def offset_snapshot(self) -> OffsetSnapshot:
        """Return all offsets with their file positions."""
        return OffsetSnapshot(
            self._offsets.log_start_offset,
            self.log_end_position,
            self.high_watermark_position,
            self.last_stable_position,
        )

    def position_of(self, offset: int) -> OffsetMetadata:
        """Return the segment and position of the batch that holds `offset`, or of the next one."""
        if offset >= self._offsets.log_end_offset:
            return self.log_end_position
        segment = self._segments.floor(offset)
        while segment is not None:
            batch = segment.translate_offset(offset)
            if batch is not None:
                return OffsetMetadata(offset, segment.base_offset, batch.position)
            segment = self._segments.higher(segment.base_offset)
        return self.log_end_position._replace(message_offset=offset)  # all records are below it

    # -- by offset

    def read(
        self,
        offset: int,
        max_bytes: int,
        isolation: Isolation = Isolation.LOG_END,
        min_one_message: bool = True,
    ) -> LogRead:
        """Locate the records from `offset` on. Only what the search needs is read."""
        health = self._health
        health.check_online()
        self._check_in_range(offset)
        try:
            limit = self.visible_end(isolation)
            committed_only = isolation is Isolation.TXN_COMMITTED
            if offset >= limit.message_offset:
                position = limit if offset == limit.message_offset else self.position_of(offset)
                return LogRead(position, None, False, () if committed_only else None)
            if max_bytes < 0:
                raise InvalidArgument(f"Invalid max size {max_bytes} for a read from {health.topic_partition}")
            segment = self._segments.floor(offset)
            while segment is not None:
                read = _read_segment(segment, offset, max_bytes, limit, min_one_message)
                if read is not None:
                    aborted = self._aborted(offset, segment, read) if committed_only else None
                    return LogRead(read.start, read.records, read.first_entry_incomplete, aborted)
                segment = self._segments.higher(segment.base_offset)
            return LogRead(self.log_end_position, None, False, () if committed_only else None)
        except OSError as error:
            raise health.fail(error) from error
        except CorruptRecord as error:
            raise health.report_corruption(error) from error

    def _check_in_range(self, offset: int) -> None:
        offsets = self._offsets
        if not offsets.log_start_offset <= offset <= offsets.log_end_offset:
            raise OffsetOutOfRange(
                f"Received request for offset {offset} for partition {self._health.topic_partition}, but we only have "
                f"log segments in the range {offsets.log_start_offset} to {offsets.log_end_offset}."
            )

    def _aborted(self, offset: int, segment: Segment, read: SegmentRead) -> tuple[AbortedTxn, ...]:
        """Return the aborted transactions that overlap a read; their index entries may be in later segments.

        The search ends with the first later entry at whose marker no transaction was open that reaches into the range
        (see `transaction_index`). Segments in which no aborted transaction ends are skipped."""
        upper = segment.fetch_upper_bound_offset(read.start.position, read.records.length)
        if upper is None:
            following = self._segments.higher(segment.base_offset)
            upper = following.base_offset if following is not None else self._offsets.log_end_offset
        return tuple(self.collect_aborted(segment, offset, upper))

    def collect_aborted(self, first: Segment, offset: int, upper: int) -> list[AbortedTxn]:
        """Return the aborted transactions that overlap [offset, upper) and end in segment `first` or later."""
        aborted, complete = first.collect_aborted(offset, upper)
        if complete:
            return aborted
        for segment in self._segments.with_aborted_above(first.base_offset):
            more, complete = segment.collect_aborted(offset, upper)
            aborted += more
            if complete:
                break
        return aborted

    def fetch(self, read: LogRead) -> bytes:
        """Return the bytes of a range that `read` located, each whole batch checked unless `check_on_read` is off.

        A batch that is cut off at the end is neither checked nor left out. Raises `StaleRead` if the segment was
        removed or cleaned meanwhile."""
        records = read.records
        if records is None:
            return b""
        health = self._health
        health.check_online()
        segment = self._segments.get(read.offset.segment_base_offset)
        if segment is None or segment.file is not records.file:
            raise StaleRead(
                f"The segment at offset {read.offset.segment_base_offset} of {health.topic_partition} was replaced"
            )
        try:
            data = records.read()
        except OSError as error:
            raise health.fail(error) from error
        if self._check_on_read:
            self._check_served(segment, read.offset, records, data)
        return data

    def _check_served(self, segment: Segment, start: OffsetMetadata, served: FileRange, data: bytes) -> None:
        """Check every whole batch by itself and in its chain.

        The search has checked what precedes the first batch; what follows the last, an offset or the end of the log,
        must fit as well."""
        chain = walk_chain(memoryview(data), start.message_offset, self._epochs)
        is_all = served.position + len(data) >= segment.size
        reason = "" if chain.is_cut_off and not is_all else chain.reason
        if not reason:
            following = self._following_offset(start.segment_base_offset, served, data, chain.valid_bytes)
            if following < chain.next_offset:
                reason = f"offset {chain.next_offset - 1} is followed by {following}"
        if reason:
            error = CorruptRecord(f"{served.position + chain.valid_bytes}: {reason}")
            raise self._health.report_corruption(error, served)

    def _following_offset(self, segment_base: int, served: FileRange, data: bytes, at: int) -> int:
        """Return the offset at which the next batch or the next segment begins, or the log ends."""
        header = data[at : at + OFFSET_BYTES]
        if len(header) < OFFSET_BYTES:
            header = served.file.read(served.position + at, OFFSET_BYTES)
        if len(header) == OFFSET_BYTES:
            return int.from_bytes(header, "big", signed=True)
        following = self._segments.higher(segment_base)
        return following.base_offset if following is not None else self._offsets.log_end_offset

    # -- by timestamp and by epoch

    def end_offset_for_epoch(self, leader_epoch: int) -> EpochEndOffset | None:
        """Return the end of the largest epoch that is not above `leader_epoch`."""
        epoch, end_offset = self._epochs.end_offset_for(leader_epoch, self._offsets.log_end_offset)
        return None if end_offset < 0 else EpochEndOffset(epoch, end_offset)

    def offset_for_timestamp(self, timestamp: int) -> FoundTimestamp | None:
        """Return the first record at or after `timestamp`, in the order of offsets; None if there is none.

        `timestamp` may also be one of the special values of ListOffsets."""
        self._health.check_online()
        if timestamp in (EARLIEST, EARLIEST_LOCAL):
            return self._earliest()
        if timestamp == LATEST:
            return FoundTimestamp(NO_TIMESTAMP, self._offsets.log_end_offset, self._epochs.latest_epoch)
        if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            return _NOTHING_TIERED  # all data is local
        with self._health.guard():
            return self._max_timestamp() if timestamp == MAX_TIMESTAMP else self._search_timestamp(timestamp)

    def _earliest(self) -> FoundTimestamp:
        log_start_offset, epoch = self._offsets.log_start_offset, None
        earliest = self._epochs.earliest_entry
        if earliest is not None and earliest.start_offset <= log_start_offset:
            epoch = earliest.epoch
        return FoundTimestamp(NO_TIMESTAMP, log_start_offset, epoch)

    def _search_timestamp(self, timestamp: int) -> FoundTimestamp | None:
        for segment in self._segments:
            if segment.largest_timestamp() >= timestamp:
                return segment.find_offset_by_timestamp(timestamp, self._offsets.log_start_offset)
        return None

    def _max_timestamp(self) -> FoundTimestamp | None:
        """Return the record with the largest timestamp of all, the first one if there are several."""
        newest: Segment | None = None
        for segment in self._segments:
            if newest is None or segment.max_timestamp_so_far > newest.max_timestamp_so_far:
                newest = segment
        assert newest is not None
        largest, offset = newest.max_timestamp_and_offset
        position = newest.offset_index.lookup(offset).position
        for scanned in scan_batches(newest.file, position, newest.size):
            if scanned.max_timestamp != largest:
                continue
            for record in batch_at(newest.file, scanned.position, scanned.size_bytes).records():
                if record.timestamp == largest:
                    epoch = scanned.leader_epoch if scanned.leader_epoch >= 0 else None
                    return FoundTimestamp(largest, record.offset, epoch)
        return None


def _read_segment(
    segment: Segment, offset: int, max_bytes: int, limit: OffsetMetadata, min_one_message: bool
) -> SegmentRead | None:
    if segment.base_offset < limit.segment_base_offset:
        return segment.read(offset, max_bytes, min_one_message=min_one_message)
    # The segment of the limit is read up to the limit; one beyond it (its position is unknown) is not read.
    position = limit.position if segment.base_offset == limit.segment_base_offset else 0
    return segment.read(offset, max_bytes, max_position=position, min_one_message=min_one_message)
