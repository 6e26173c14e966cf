"""What is asked of a partition without changing it: records, offsets by time, ends of leader epochs.

A follower's read is also a report of its progress: see `read_for_follower`.
"""

from __future__ import annotations

from odradek.common.list_offsets_timestamps import EARLIEST, EARLIEST_LOCAL, LATEST
from odradek.log.errors import OffsetOutOfRange
from odradek.log.offsets import FoundTimestamp, OffsetMetadata
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import EpochEndOffset, Isolation, LogRead
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.errors import OffsetNotAvailable
from odradek.replica.partition import Partition
from odradek.replica.values import (
    CONSUMER,
    DEBUGGING_CONSUMER,
    NO_EPOCH,
    NO_TIMESTAMP,
    EpochEntry,
    EpochResult,
    FetchEntry,
    FetchParams,
    FetchResult,
    ListOffsetsEntry,
    ListOffsetsResult,
)


def read(
    partition: Partition, params: FetchParams, entry: FetchEntry, max_bytes: int, min_one_message: bool
) -> FetchResult:
    """For a consumer, or again for a follower whose progress has been noted."""
    log = partition.log_for(entry.current_leader_epoch, params.replica_id >= 0 or not params.may_read_follower)
    return _read(log, params.isolation, entry, max_bytes, min_one_message)


def _read(
    log: UnifiedLog, isolation: Isolation, entry: FetchEntry, max_bytes: int, min_one_message: bool
) -> FetchResult:
    offset = entry.fetch_offset
    diverging: EpochEndOffset | None = None
    if entry.last_fetched_epoch != NO_EPOCH:
        diverging = find_divergence(log, entry)
    if diverging is not None:
        found = LogRead(OffsetMetadata(offset), None)
    elif offset == log.offsets.log_end_offset and isolation is Isolation.LOG_END:
        # A follower that has everything: most of what followers of many partitions ask for.
        log.health.check_online()
        found = LogRead(log.reader.log_end_position, None)
    else:
        found = log.reader.read(offset, max_bytes, isolation, min_one_message)
        if found.first_entry_incomplete:
            # What does not fit whole is left for the next fetch, in which it may come first.
            found = LogRead(found.offset, None, False, found.aborted)
    return FetchResult(
        0,
        log.offsets.high_watermark,
        log.offsets.last_stable_offset,
        log.offsets.log_start_offset,
        found,
        log,
        diverging,
    )


def read_for_follower(
    partition: Partition,
    params: FetchParams,
    entry: FetchEntry,
    max_bytes: int,
    min_one_message: bool,
    now_ms: int,
) -> tuple[FetchResult, bool]:
    """The read, and whether the progress that it shows has moved the high watermark. A follower whose log diverges has
    made none: it must cut first."""
    log = partition.log_for(entry.current_leader_epoch, True)
    follower = partition.follower(params.replica_id, entry.current_leader_epoch)
    result = _read(log, params.isolation, entry, max_bytes, min_one_message)
    if result.diverging_epoch is not None:
        return result, False
    assert result.found is not None
    hw_moved = partition.follower_fetched(
        follower, result.found.offset, entry.log_start_offset, now_ms, params.replica_epoch
    )
    return result, hw_moved


def find_divergence(log: UnifiedLog, entry: FetchEntry) -> EpochEndOffset | None:
    """Where the asker's log leaves this one, by the epoch of its last record; None if it does not."""
    end = log.reader.end_offset_for_epoch(entry.last_fetched_epoch)
    if end is None or end.leader_epoch == NO_EPOCH:
        raise OffsetOutOfRange(
            f"The last epoch that was fetched, {entry.last_fetched_epoch}, is not known in {entry.topic_partition}"
        )
    if entry.fetch_offset < log.offsets.log_start_offset:
        raise OffsetOutOfRange(
            f"Offset {entry.fetch_offset} of {entry.topic_partition} is below the log start "
            f"{log.offsets.log_start_offset}"
        )
    if end.leader_epoch < entry.last_fetched_epoch or end.end_offset < entry.fetch_offset:
        return end
    return None


def offset_for_epoch(partition: Partition, entry: EpochEntry) -> EpochResult:
    """Raises `ApiError`. An epoch that has no answer is answered with -1."""
    log = partition.log_for(entry.current_leader_epoch, only_leader=True)
    end = log.reader.end_offset_for_epoch(entry.leader_epoch)
    return EpochResult(0) if end is None else EpochResult(0, end.leader_epoch, end.end_offset)


def list_offset(
    partition: Partition, entry: ListOffsetsEntry, replica_id: int, isolation: Isolation
) -> ListOffsetsResult:
    """`isolation` counts for clients only; brokers and tools see the whole log. Raises `ApiError`."""
    log = partition.log_for(entry.current_leader_epoch, only_leader=replica_id != DEBUGGING_CONSUMER)
    is_client = replica_id == CONSUMER
    last_fetchable = log.reader.visible_end(isolation).message_offset if is_client else log.offsets.log_end_offset
    is_behind = _is_behind_epoch(partition, log) if is_client else False
    if entry.timestamp == LATEST:
        if is_behind:
            raise _not_available(partition, log)
        return ListOffsetsResult(0, NO_TIMESTAMP, last_fetchable, partition.leader_epoch)
    found = log.reader.offset_for_timestamp(entry.timestamp)
    if entry.timestamp in (EARLIEST, EARLIEST_LOCAL):
        return _found(found)
    if found is None or found.offset >= last_fetchable:
        if is_behind:
            raise _not_available(partition, log)
        return ListOffsetsResult(ErrorCode.NONE)
    return _found(found)


def _found(found: FoundTimestamp | None) -> ListOffsetsResult:
    if found is None:
        return ListOffsetsResult(ErrorCode.NONE)
    epoch = NO_EPOCH if found.leader_epoch is None else found.leader_epoch
    return ListOffsetsResult(0, found.timestamp, found.offset, epoch)


def _is_behind_epoch(partition: Partition, log: UnifiedLog) -> bool:
    """A new leader does not know yet how far the last one had answered; what it would say might go back (KIP-207)."""
    start = partition.leader_epoch_start_offset
    return start is not None and start > log.offsets.high_watermark


def _not_available(partition: Partition, log: UnifiedLog) -> OffsetNotAvailable:
    return OffsetNotAvailable(
        f"The high watermark {log.offsets.high_watermark} of {partition.topic_partition} has not reached "
        f"{partition.leader_epoch_start_offset}, where epoch {partition.leader_epoch} starts"
    )
