"""The state of a log's producers, made again from a snapshot and the records behind it.

Needed when a log is loaded and when it is truncated. The newest snapshot that is not beyond the end is read, and the
batches between it and the end are replayed. Snapshots are left where the next start will look for them: at the last
two segments and at the end.
"""

from __future__ import annotations

from odradek.log.offsets import AppendOrigin, CompletedTxn
from odradek.log.producers.producer_append import ProducerAppend
from odradek.log.producers.producer_state import ProducerState
from odradek.log.recovery.producer_recall import recall_batches
from odradek.log.recovery.segment_batches import segment_batches
from odradek.log.segments.segment import Segment
from odradek.log.segments.sorted_segments import SortedSegments


def rebuild_producers(
    producers: ProducerState,
    segments: SortedSegments,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    *,
    clean_shutdown: bool = False,
    unsynced: list[str] | None = None,
) -> None:
    """Bring `producers` to what the log up to `end_offset` says. With `unsynced`, snapshots are written but not synced,
    and their paths are added to it.

    A log that stopped cleanly and has no snapshot at all has no producers (an old version wrote it): empty snapshots
    are written instead of reading all of it."""
    snapshot_at = [*_last_two(segments), end_offset]
    if producers.latest_snapshot_offset is None and clean_shutdown:
        for offset in snapshot_at:
            producers.update_map_end_offset(offset)
            producers.take_snapshot()
        return
    idle_since, known_end = producers.idle_since, producers.map_end_offset
    producers.truncate_and_reload(log_start_offset, end_offset, now_ms)
    if known_end != end_offset:
        recall_batches(producers, segments)
    # Most logs have no producers: nothing need be read where none is known to have written. That none is known now is
    # no reason. Those that wrote may have expired, and one of their transactions is open again without its marker.
    is_idle = idle_since is not None and idle_since <= producers.map_end_offset and end_offset <= known_end
    if producers.map_end_offset < end_offset and not is_idle:
        for segment in segments.between(producers.map_end_offset, end_offset):
            start = max(segment.base_offset, producers.map_end_offset, log_start_offset)
            producers.update_map_end_offset(start)
            if segment.base_offset in snapshot_at:
                take_snapshot(producers, unsynced)
            replay_segment(producers, segment, start, end_offset)
    producers.update_map_end_offset(end_offset)
    take_snapshot(producers, unsynced)


def take_snapshot(producers: ProducerState, unsynced: list[str] | None) -> None:
    """A start after a crash may write thousands, and each of them could be made again: no need to sync them at once."""
    path = producers.take_snapshot(sync=unsynced is None)
    if path is not None and unsynced is not None:
        unsynced.append(path)


def _last_two(segments: SortedSegments) -> list[int]:
    return segments.base_offsets[-2:]


def replay_segment(producers: ProducerState, segment: Segment, start_offset: int, end_offset: int) -> None:
    """Take the batches from `start_offset` up to `end_offset` into account."""
    first = segment.translate_offset(start_offset)
    if first is None:
        return
    appends: dict[int, ProducerAppend] = {}
    completed: list[CompletedTxn] = []
    for batch in segment_batches(segment, first.position):
        if batch.base_offset >= end_offset:
            break
        if not batch.has_producer_id:
            continue
        append = appends.get(batch.producer_id)
        if append is None:
            append = producers.prepare_update(batch.producer_id, AppendOrigin.REPLICATION)
            appends[batch.producer_id] = append
        completed_txn = append.append(batch)
        if completed_txn is not None:
            completed.append(completed_txn)
    for append in appends.values():
        producers.update(append)
    for completed_txn in completed:
        producers.complete_txn(completed_txn)
