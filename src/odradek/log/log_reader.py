"""Finding and reading records by offset.

`read` answers with a range of one segment file, found by the index; nothing of it is read. Where the range may end
depends on the reader: a follower sees the log end, a consumer the high watermark, a `read_committed` consumer the last
stable offset, along with the aborted transactions that touch the range.

`fetch` reads the bytes. Damage on disk must not reach a reader, who would have to take it for what was written, and a
follower would even copy it: so every whole batch is checked on the way out (`batch_chain`): its CRC, its length, its
offsets and epoch beside its neighbours'. The check costs two to three times the read itself (see `bench/log_ops.py`);
`check_on_read` turns it off. What it finds takes the replica offline, since the same bytes would be found again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.log.batch_chain import walk_chain
from odradek.log.errors import InvalidArgument, OffsetOutOfRange, StaleRead
from odradek.log.offsets import AbortedTxn, FileRange, OffsetMetadata
from odradek.log.segments.segment import Segment, SegmentRead
from odradek.log.values import CorruptLog, Isolation, LogRead
from odradek.records.errors import CorruptRecord

if TYPE_CHECKING:
    from odradek.log.unified_log import UnifiedLog

#: A batch begins with its base offset.
OFFSET_BYTES = 8


def read(log: UnifiedLog, offset: int, max_bytes: int, isolation: Isolation, min_one_message: bool) -> LogRead:
    log.check_online()
    check_in_range(log, offset)
    try:
        limit = _limit(log, isolation)
        committed_only = isolation is Isolation.TXN_COMMITTED
        if offset >= limit.message_offset:
            place = limit if offset == limit.message_offset else find_place(log, offset)
            return LogRead(place, None, False, () if committed_only else None)
        if max_bytes < 0:
            raise InvalidArgument(f"Invalid max size {max_bytes} for a read from {log.topic_partition}")
        segment = log.segments.floor(offset)
        while segment is not None:
            found = _read_segment(segment, offset, max_bytes, limit, min_one_message)
            if found is not None:
                aborted = _aborted(log, offset, segment, found) if committed_only else None
                return LogRead(found.start, found.records, found.first_entry_incomplete, aborted)
            segment = log.segments.higher(segment.base_offset)
        return LogRead(log.log_end_place, None, False, () if committed_only else None)
    except OSError as error:
        raise log.fail(error) from error
    except CorruptRecord as error:
        raise corrupt(log, error) from error


def check_in_range(log: UnifiedLog, offset: int) -> None:
    if not log.log_start_offset <= offset <= log.log_end_offset:
        raise OffsetOutOfRange(
            f"Received request for offset {offset} for partition {log.topic_partition}, but we only have log segments "
            f"in the range {log.log_start_offset} to {log.log_end_offset}."
        )


def _limit(log: UnifiedLog, isolation: Isolation) -> OffsetMetadata:
    if isolation is Isolation.LOG_END:
        return log.log_end_place
    return log.high_watermark_place if isolation is Isolation.HIGH_WATERMARK else log.last_stable_place


def _read_segment(
    segment: Segment, offset: int, max_bytes: int, limit: OffsetMetadata, min_one_message: bool
) -> SegmentRead | None:
    if segment.base_offset < limit.segment_base_offset:
        return segment.read(offset, max_bytes, min_one_message=min_one_message)
    # The segment of the limit is read up to the limit; one beyond it (its place is not known) not at all.
    position = limit.position if segment.base_offset == limit.segment_base_offset else 0
    return segment.read(offset, max_bytes, max_position=position, min_one_message=min_one_message)


def find_place(log: UnifiedLog, offset: int) -> OffsetMetadata:
    """The segment and position of the batch that holds `offset`, or that comes next."""
    if offset >= log.log_end_offset:
        return log.log_end_place
    segment = log.segments.floor(offset)
    while segment is not None:
        found = segment.translate_offset(offset)
        if found is not None:
            return OffsetMetadata(offset, segment.base_offset, found.position)
        segment = log.segments.higher(segment.base_offset)
    return log.log_end_place._replace(message_offset=offset)  # all there is lies below it


def _aborted(log: UnifiedLog, offset: int, segment: Segment, found: SegmentRead) -> tuple[AbortedTxn, ...]:
    """Aborted transactions that overlap what is read; their index entries may be in later segments.

    The search ends with the first later entry at whose marker nothing was open that reaches into the range (see
    `transaction_index`). Segments in which no aborted transaction ends are not looked at."""
    upper = segment.fetch_upper_bound_offset(found.start.position, found.records.length)
    if upper is None:
        following = log.segments.higher(segment.base_offset)
        upper = following.base_offset if following is not None else log.log_end_offset
    return tuple(collect_aborted(log, segment, offset, upper))


def collect_aborted(log: UnifiedLog, first: Segment, offset: int, upper: int) -> list[AbortedTxn]:
    """Aborted transactions that overlap offsets from `offset` to below `upper` and end in segment `first` or later."""
    aborted, complete = first.collect_aborted(offset, upper)
    if complete:
        return aborted
    for segment in log.segments.with_aborted_above(first.base_offset):
        more, complete = segment.collect_aborted(offset, upper)
        aborted += more
        if complete:
            break
    return aborted


def fetch(log: UnifiedLog, found: LogRead) -> bytes:
    """The bytes of a range; a batch that is cut off at its end is neither checked nor left out. `StaleRead` if the
    segment was removed or cleaned since the range was found."""
    if found.records is None:
        return b""
    log.check_online()
    segment = log.segments.get(found.offset.segment_base_offset)
    if segment is None or segment.file is not found.records.file:
        raise StaleRead(
            f"The segment at offset {found.offset.segment_base_offset} of {log.topic_partition} was replaced"
        )
    try:
        data = found.records.read()
    except OSError as error:
        raise log.fail(error) from error
    if log.check_on_read:
        _check_served(log, segment, found.offset, found.records, data)
    return data


def _check_served(log: UnifiedLog, segment: Segment, start: OffsetMetadata, served: FileRange, data: bytes) -> None:
    """Every whole batch by itself and in its chain. The search has checked what lies before the first; what lies
    behind the last, an offset or the end of the log, must fit as well."""
    chain = walk_chain(memoryview(data), start.message_offset, log.epochs)
    is_all = served.position + len(data) >= segment.size
    reason = "" if chain.is_cut_off and not is_all else chain.reason
    if not reason:
        follows = _offset_behind(log, start.segment_base_offset, served, data, chain.valid_bytes)
        if follows < chain.next_offset:
            reason = f"offset {chain.next_offset - 1} is followed by {follows}"
    if reason:
        raise corrupt(log, CorruptRecord(f"{served.position + chain.valid_bytes}: {reason}"), served)


def _offset_behind(log: UnifiedLog, segment_base: int, served: FileRange, data: bytes, at: int) -> int:
    """The offset at which the next batch, or the next segment, begins; or the log ends."""
    header = data[at : at + OFFSET_BYTES]
    if len(header) < OFFSET_BYTES:
        header = served.file.read(served.position + at, OFFSET_BYTES)
    if len(header) == OFFSET_BYTES:
        return int.from_bytes(header, "big", signed=True)
    following = log.segments.higher(segment_base)
    return following.base_offset if following is not None else log.log_end_offset


def corrupt(log: UnifiedLog, error: CorruptRecord, found: FileRange | None = None) -> CorruptLog:
    """What is on the disk is not what was written: go offline; the fault to raise."""
    where = log.directory if found is None else found.file.path
    fault = CorruptLog(where, None if found is None else found.position, error.message)
    log.take_offline(fault)
    return fault
