"""Offsets by time, as ListOffsets asks for them: for a timestamp, or for one of a few special values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.common.special_timestamps import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from odradek.log.offsets import NO_TIMESTAMP, FoundTimestamp
from odradek.log.segments.batch_scan import batch_at, scan_batches
from odradek.log.segments.segment import Segment

if TYPE_CHECKING:
    from odradek.log.unified_log import UnifiedLog

_NOTHING_TIERED = FoundTimestamp(NO_TIMESTAMP, -1, -1)


def offset_for_timestamp(log: UnifiedLog, timestamp: int) -> FoundTimestamp | None:
    """The first record at or after `timestamp`, in the order of offsets; None if there is none."""
    log.check_online()
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        earliest = log.epochs.earliest_entry
        known = earliest is not None and earliest.start_offset <= log.log_start_offset
        return FoundTimestamp(NO_TIMESTAMP, log.log_start_offset, earliest.epoch if earliest and known else None)
    if timestamp == LATEST:
        return FoundTimestamp(NO_TIMESTAMP, log.log_end_offset, log.epochs.latest_epoch)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _NOTHING_TIERED  # all data is local
    with log.guard():
        return _max_timestamp(log) if timestamp == MAX_TIMESTAMP else _search(log, timestamp)


def _search(log: UnifiedLog, timestamp: int) -> FoundTimestamp | None:
    for segment in log.segments:
        if segment.largest_timestamp() >= timestamp:
            return segment.find_offset_by_timestamp(timestamp, log.log_start_offset)
    return None


def _max_timestamp(log: UnifiedLog) -> FoundTimestamp | None:
    """The record with the largest timestamp of all; the first one if there are several."""
    newest: Segment | None = None
    for segment in log.segments:
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
