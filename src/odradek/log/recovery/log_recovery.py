"""Recovery proper: from the recovery point on, keep the whole batches before the first one that is not whole."""

from __future__ import annotations

from odradek.log.batch_chain import walk_chain
from odradek.log.errors import SegmentOverflow
from odradek.log.leader_epochs import END_OF_OFFSETS, LeaderEpochs
from odradek.log.recovery.leftover_files import remove_segment_files
from odradek.log.recovery.segment_opening import Loading, open_segment, recover_one
from odradek.log.recovery.segment_recovery import Recovery
from odradek.log.segments.batch_scan import scan_batches
from odradek.log.segments.index_file import MAX_RELATIVE_OFFSET
from odradek.log.segments.segment import Segment
from odradek.log.segments.sorted_segments import SortedSegments
from odradek.log.values import CorruptLog
from odradek.records.errors import CorruptRecord


def recover_log(loading: Loading, segments: SortedSegments, epochs: LeaderEpochs) -> int:
    """Make `segments` sound, and not empty; the log end offset."""
    if len(segments) and (not loading.clean_shutdown or _is_doubtful(loading, segments.active)):
        _recover_unflushed(loading, segments, epochs)
    if len(segments):
        end_offset = _end_offset(segments.active)
        if end_offset >= loading.log_start_offset:
            return end_offset
        loading.repairs.append(
            f"removed all segments: they end at {end_offset}, but the log starts at {loading.log_start_offset}"
        )
        _drop(loading, segments, list(segments))
        epochs.clear_and_flush()
    segments.add(open_segment(loading, loading.log_start_offset, create_later=True))
    return loading.log_start_offset


def _is_doubtful(loading: Loading, active: Segment) -> bool:
    """A clean stop leaves the recovery point at the end. If the log ends elsewhere now, it is not what was left."""
    end_offset, recovery_point = _end_offset(active), loading.recovery_point
    if recovery_point in (0, end_offset):  # 0: the checkpoint says nothing about this log
        return False
    loading.repairs.append(f"checked {active.log_path}: it ends at {end_offset}, but was left at {recovery_point}")
    return True


def _end_offset(active: Segment) -> int:
    try:
        return active.read_next_offset()
    except CorruptRecord as error:
        raise CorruptLog(active.log_path, None, error.message) from error


def _recover_unflushed(loading: Loading, segments: SortedSegments, epochs: LeaderEpochs) -> None:
    """Segment by segment. The first that had to be cut ends the log; those behind it go.

    So they do behind a segment that ends early without being torn: its last writes never reached the disk. A log that
    was compacted has such gaps, and shows them in its segments too; there they mean nothing."""
    unflushed = segments.between(loading.recovery_point, END_OF_OFFSETS)
    loaded_segments = SortedSegments()
    for segment in segments:
        if segment not in unflushed:
            loaded_segments.add(segment)
    has_gaps = loading.has_gaps
    for index, segment in enumerate(unflushed):
        behind = unflushed[index + 1 :]
        recovered = _recover_segment(loading, loaded_segments, segment, epochs, behind[0] if behind else None, has_gaps)
        if not behind:
            return
        is_cut, shows_gaps = recovered
        has_gaps = has_gaps or shows_gaps
        loaded_segments.add(segment)
        ends_early = not has_gaps and _end_offset(segment) < behind[0].base_offset
        if is_cut or ends_early:
            _drop(loading, segments, behind)
            return


def _recover_segment(
    loading: Loading,
    loaded_segments: SortedSegments,
    segment: Segment,
    epochs: LeaderEpochs,
    behind: Segment | None,
    has_gaps: bool,
) -> tuple[bool, bool]:
    """Recover a segment; return whether it was truncated, and whether offsets are missing. Raises `CorruptLog`, before
    anything is changed, if it would have to be truncated below the recovery point."""
    _check_flushed(loading, segment, epochs)
    try:
        recovery = recover_one(loading, loaded_segments, segment, epochs, behind)
    except SegmentOverflow:
        if not _cut_overflow(loading, segment):
            raise
        recover_one(loading, loaded_segments, segment, epochs)
        return True, False
    if recovery.damage is not None:
        loading.repairs.append(f"cut {recovery.damage}: {recovery.truncated_bytes} bytes")
    # What follows confirms the offset of the last batch: the gap before it is none of damage.
    is_confirmed = behind is not None and recovery.damage is None and recovery.next_offset <= behind.base_offset
    if is_confirmed:
        return False, recovery.gaps > 0
    shows_gaps = recovery.gaps > (recovery.gap_at is not None)
    is_cut = _cut_stray_tail(loading, segment, recovery, has_gaps or shows_gaps)
    return is_cut or recovery.truncated_bytes > 0, shows_gaps


def _check_flushed(loading: Loading, segment: Segment, epochs: LeaderEpochs) -> None:
    """Check that everything below the recovery point is intact: recovery would truncate it otherwise."""
    if segment.base_offset >= loading.recovery_point:
        return
    chain = walk_chain(
        loading.files.map_file(segment.log_path),
        segment.base_offset,
        epochs,
        until=loading.recovery_point,
        dense=not loading.has_gaps,
    )
    if chain.reason and chain.next_offset < loading.recovery_point:
        raise CorruptLog(segment.log_path, chain.valid_bytes, chain.reason)


def _cut_overflow(loading: Loading, segment: Segment) -> bool:
    """An offset far beyond its segment is the work of an old cleaner, and the segment is to be split, only if the log
    is compacted and its offsets ascend. Else it is damage, and ends the log."""
    chain = walk_chain(loading.files.map_file(segment.log_path), segment.base_offset)
    if loading.has_gaps and not chain.reason:
        return False
    batches = scan_batches(segment.file, 0, segment.size)
    limit = segment.base_offset + MAX_RELATIVE_OFFSET
    position = next((batch.position for batch in batches if batch.last_offset > limit), chain.valid_bytes)
    position = min(position, chain.valid_bytes)
    loading.repairs.append(f"cut {segment.log_path} at {position}: an offset beyond the reach of the segment")
    segment.cut(position)
    return True


def _cut_stray_tail(loading: Loading, segment: Segment, recovery: Recovery, has_gaps: bool) -> bool:
    """Base offsets are covered by no CRC. One that became too large makes the batches behind it look wrong; those are
    cut by now, and it stands at the end, behind a gap. It is cut too, unless gaps are nothing special in this log and
    what was cut does not contradict it."""
    gap_at = recovery.gap_at
    if gap_at is None or gap_at < loading.recovery_point or (has_gaps and not recovery.gap_is_filled):
        return False
    loading.repairs.append(f"cut {segment.log_path}: its last batch leaves out offset {gap_at}")
    segment.truncate_to(gap_at, loading.clock.wall_ms())
    return True


def _drop(loading: Loading, segments: SortedSegments, dropped: list[Segment]) -> None:
    for segment in dropped:
        loading.repairs.append(f"removed {segment.log_path}")
        segments.remove(segment.base_offset)
        segment.close_handlers()
        remove_segment_files(loading.files, loading.directory, segment.base_offset)
    loading.files.sync_dir(loading.directory)
