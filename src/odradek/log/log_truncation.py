"""Taking records back: a follower that is ahead of its leader, or a log that starts anew elsewhere.

Truncation goes by offsets, but a file is cut at a batch: the batch that holds the offset goes with it. Epochs and
producers follow: epochs are cut at the same offset, producers are loaded again from a snapshot below it and the
records in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.common.failures import check
from odradek.log.file_names import DELETED_SUFFIX
from odradek.log.log_retention import mark_for_removal, remove_segments
from odradek.log.recovery.producer_rebuild import rebuild_producers

if TYPE_CHECKING:
    from odradek.log.unified_log import UnifiedLog


def truncate_to(log: UnifiedLog, offset: int) -> bool:
    """Drop every record at `offset` or above; False if there was none."""
    check(offset >= 0, f"{log.topic_partition}: cannot truncate to the negative offset {offset}")
    if offset >= log.log_end_offset:
        # The epoch of a leader that never wrote may lie beyond the end.
        log.epochs.truncate_from_end(log.log_end_offset)
        log.epochs.flush()
        return False
    if log.segments.first.base_offset > offset:
        truncate_fully_and_start_at(log, offset, None)
        return True
    remove_segments(log, log.segments.above(offset))
    log.segments.active.truncate_to(offset, log.clock.wall_ms())
    log.set_log_end_offset(offset)
    log.epochs.truncate_from_end(offset)
    log.epochs.flush()
    log.log_start_offset = min(log.log_start_offset, offset)
    rebuild_producers(log.producers, log.segments, log.log_start_offset, offset, log.clock.wall_ms())
    if log.high_watermark >= offset:
        log.update_high_watermark(offset)
    return True


def truncate_fully_and_start_at(log: UnifiedLog, offset: int, log_start_offset: int | None) -> None:
    """Drop everything, and go on at `offset`."""
    old = list(log.segments)
    remove_segments(log, old[:-1])
    last = old[-1]
    log.segments.remove(last.base_offset)
    last.change_suffix("", DELETED_SUFFIX)
    log.add_segment(offset)
    mark_for_removal(log, [last], [])
    log.set_log_end_offset(offset)
    log.epochs.clear_and_flush()
    log.producers.truncate_fully_and_start_at(offset)
    log.log_start_offset = offset if log_start_offset is None else log_start_offset
    rebuild_producers(log.producers, log.segments, log.log_start_offset, offset, log.clock.wall_ms())
    log.update_high_watermark(offset)
