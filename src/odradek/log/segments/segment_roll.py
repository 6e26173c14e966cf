"""New segments: at a roll, and in place of old ones when the cleaner is done.

What must be durable before what, so that a crash between any two steps leaves a log that the loader understands:

* At most one segment's name is unsynced. Otherwise a crash might lose a segment and keep the one after it.
* A swap makes the `.swap` names durable before the old segments get `.deleted`, and those before the new ones lose
  `.swap`. Otherwise a crash might keep the removal of the old and lose the new, or keep both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.common.failures import check
from odradek.log.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    segment_path,
)
from odradek.log.log_retention import mark_for_removal
from odradek.log.segments.segment import Segment

if TYPE_CHECKING:
    from odradek.log.unified_log import UnifiedLog

SEGMENT_KINDS = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)


def add_segment(log: UnifiedLog, base_offset: int) -> Segment:
    """A new, empty, active segment."""
    if log.names_synced < log.names_made:
        log.files.sync_dir(log.directory)
        log.names_synced = log.names_on_disk
    for kind in SEGMENT_KINDS:
        leftover = segment_path(log.directory, base_offset, kind)
        if log.files.exists(leftover):
            log.files.remove(leftover)
    segment = Segment(
        log.files,
        log.directory,
        base_offset,
        now_ms=log.clock.wall_ms(),
        index_interval_bytes=log.config.index_interval_bytes,
        max_index_bytes=log.config.segment_index_bytes,
        roll_jitter_ms=log.roll_jitter_ms(),
        create=True,
    )
    log.names_made += 1
    log.segments.add(segment)
    return segment


def roll(log: UnifiedLog, expected_next_offset: int) -> Segment:
    base_offset = max(expected_next_offset, log.log_end_offset)
    active = log.segments.active
    if active.base_offset == base_offset:
        # Only an empty segment can be where the next one begins; it gives way, for instance because its index is full.
        check(active.size == 0, f"{active.log_path}: a segment at {base_offset} exists and is not empty")
        log.segments.remove(base_offset)
        active.change_suffix("", DELETED_SUFFIX)
        segment = add_segment(log, base_offset)
        mark_for_removal(log, [active], [])
    else:
        check(base_offset > active.base_offset, f"{active.log_path}: cannot roll back to {base_offset}")
        active.become_inactive()
        segment = add_segment(log, base_offset)
    log.producers.update_map_end_offset(base_offset)
    snapshot = log.producers.take_snapshot(sync=False)
    if snapshot is not None:
        log.unsynced_snapshots.append(snapshot)
    log.flush_wanted = base_offset
    return segment


def replace_segments(log: UnifiedLog, new: Sequence[Segment], old: Sequence[Segment]) -> None:
    """`old` that retention has taken meanwhile must have been left out by the caller."""
    new = sorted(new, key=lambda segment: segment.base_offset)
    for segment in reversed(new):
        segment.change_suffix(CLEANED_SUFFIX, SWAP_SUFFIX)
    log.files.sync_dir(log.directory)
    kept = [segment.base_offset for segment in new]
    for segment in old:
        log.segments.remove(segment.base_offset)
    gone = [segment.base_offset for segment in old if segment.base_offset not in kept]
    mark_for_removal(log, old, gone)
    log.files.sync_dir(log.directory)
    for segment in new:
        segment.change_suffix(SWAP_SUFFIX, "")
        log.segments.add(segment)
    log.files.sync_dir(log.directory)
    log.forget_places()
