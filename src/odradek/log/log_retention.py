"""Which segments a log may forget, and how it forgets them.

Segments go from the oldest on, and only while all their records are below the high watermark: what is not replicated
yet is never deleted. Three reasons: their records are below the log start (DeleteRecords), the log is larger than
`retention.bytes` even without them, or their newest record is older than `retention.ms`. A compacted log without
`delete` only knows the first. If all segments go, a new empty one takes their place at the log end.

Forgetting has two steps. The files are renamed to `.deleted` at once, so that a restart finishes the work; a `Removal`
says what to remove after `file.delete.delay.ms`, since a fetch may still be sending from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from odradek.log.file_names import DELETED_SUFFIX
from odradek.log.segments.segment import Segment

if TYPE_CHECKING:
    from odradek.log.unified_log import UnifiedLog

#: Segment and, if there is one, the segment after it.
Condition = Callable[[Segment, Segment | None], bool]


class Removal:
    """Files that are no longer part of the log: to be removed `delay_ms` after they were handed out, by any thread."""

    __slots__ = ("_log", "_segments", "_snapshots", "delay_ms")

    def __init__(self, log: UnifiedLog, segments: Sequence[Segment], snapshots: Sequence[str], delay_ms: int) -> None:
        self._log = log
        self._segments = tuple(segments)
        self._snapshots = tuple(snapshots)
        self.delay_ms = delay_ms

    @property
    def paths(self) -> tuple[str, ...]:
        return (*(segment.log_path for segment in self._segments), *self._snapshots)

    def run(self) -> None:
        """Raises `StorageFault`. Files that are gone already are no error."""
        try:
            for segment in self._segments:
                segment.delete()
            for path in self._snapshots:
                if self._log.files.exists(path):
                    self._log.files.remove(path)
        except OSError as error:
            raise self._log.fail(error) from error


def delete_old_segments(log: UnifiedLog) -> int:
    """All that the configuration says; how many segments went."""
    deleted = _delete_while(log, lambda _, after: after is not None and after.base_offset <= log.log_start_offset)
    if log.config.delete:
        deleted += _delete_by_size(log)
        deleted += _delete_by_time(log)
    return deleted


def _delete_by_size(log: UnifiedLog) -> int:
    limit = log.config.retention_bytes
    total = log.segments.size_bytes
    if limit < 0 or total < limit:
        return 0
    excess = total - limit

    def is_excess(segment: Segment, _after: Segment | None) -> bool:
        nonlocal excess
        if segment.size > excess:
            return False
        excess -= segment.size
        return True

    return _delete_while(log, is_excess)


def _delete_by_time(log: UnifiedLog) -> int:
    limit_ms = log.config.retention_ms
    if limit_ms < 0:
        return 0
    now_ms = log.clock.wall_ms()
    return _delete_while(log, lambda segment, _: now_ms - segment.largest_timestamp() > limit_ms)


def deletable_segments(log: UnifiedLog, condition: Condition) -> list[Segment]:
    """From the oldest on, while the condition holds and everything in them is replicated."""
    found = []
    segments = list(log.segments)
    for segment, after in zip(segments, [*segments[1:], None], strict=True):
        upper_bound = after.base_offset if after is not None else log.log_end_offset
        if upper_bound > log.high_watermark or (after is None and segment.size == 0):
            break
        if not condition(segment, after):
            break
        found.append(segment)
    return found


def _delete_while(log: UnifiedLog, condition: Condition) -> int:
    deletable = deletable_segments(log, condition)
    if not deletable:
        return 0
    if len(deletable) == len(log.segments):
        log.roll()
    following = log.segments.higher(deletable[-1].base_offset)
    assert following is not None
    log.maybe_increment_log_start_offset(following.base_offset)
    remove_segments(log, deletable)
    return len(deletable)


def remove_segments(log: UnifiedLog, segments: Sequence[Segment]) -> None:
    """Take segments out of the log together with their producer snapshots."""
    for segment in segments:
        log.segments.remove(segment.base_offset)
    mark_for_removal(log, segments, [segment.base_offset for segment in segments])


def mark_for_removal(log: UnifiedLog, segments: Sequence[Segment], snapshot_offsets: Sequence[int]) -> None:
    """Rename to `.deleted` what is no longer in `log.segments`, and remember to remove it."""
    for segment in segments:
        if not segment.has_suffix(DELETED_SUFFIX):
            segment.change_suffix("", DELETED_SUFFIX)
    snapshots = [
        path for offset in snapshot_offsets if (path := log.producers.mark_snapshot_for_deletion(offset)) is not None
    ]
    if segments or snapshots:
        log.removals.append(Removal(log, segments, snapshots, log.config.file_delete_delay_ms))
