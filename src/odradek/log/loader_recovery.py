"""Recovery proper: from the recovery point on, keep the whole batches before the first one that is not whole."""

from __future__ import annotations

from odradek.log.epoch_cache import EpochCache
from odradek.log.errors import SegmentOverflow
from odradek.log.index_file import MAX_RELATIVE_OFFSET
from odradek.log.loader_chain import walk_chain
from odradek.log.loader_files import remove_segment_files
from odradek.log.loader_segments import Loading, open_segment, recover_one
from odradek.log.segment import Segment
from odradek.log.segment_scan import scan_batches
from odradek.log.unified_log_segments import Segments
from odradek.log.views import CorruptLog
from odradek.records.errors import CorruptRecord


def recover_log(loading: Loading, segments: Segments, epochs: EpochCache) -> int:
    """Make `segments` sound, and not empty; the log end offset."""
    if not loading.clean_shutdown and len(segments):
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
    segments.add(open_segment(loading, loading.log_start_offset, create=True))
    return loading.log_start_offset


def _end_offset(active: Segment) -> int:
    try:
        return active.read_next_offset()
    except CorruptRecord as error:
        raise CorruptLog(active.log_path, None, error.message) from error


def _recover_unflushed(loading: Loading, segments: Segments, epochs: EpochCache) -> None:
    """Segment by segment. The first that had to be cut ends the log; those behind it go.

    So they do behind a segment that ends early without being torn: its last writes never reached the disk. A compacted
    log leaves such gaps itself, so there they mean nothing."""
    unflushed = segments.between(loading.recovery_point, 2**63)
    known = Segments()
    for segment in segments:
        if segment not in unflushed:
            known.add(segment)
    for index, segment in enumerate(unflushed):
        is_cut = _recover_segment(loading, known, segment, epochs)
        known.add(segment)
        behind = unflushed[index + 1 :]
        if not behind:
            return
        ends_early = not loading.config.compact and _end_offset(segment) < behind[0].base_offset
        if is_cut or ends_early:
            _drop(loading, segments, behind)
            return


def _recover_segment(loading: Loading, known: Segments, segment: Segment, epochs: EpochCache) -> bool:
    """Whether something was cut away. Raises `CorruptLog`, before anything is changed, if that had to be below the
    recovery point."""
    _check_flushed(loading, segment)
    try:
        recovery = recover_one(loading, known, segment, epochs)
    except SegmentOverflow:
        if not _cut_overflow(loading, segment):
            raise
        recover_one(loading, known, segment, epochs)
        return True
    if recovery.damage is not None:
        loading.repairs.append(f"cut {recovery.damage}: {recovery.truncated_bytes} bytes")
    return _cut_stray_tail(loading, segment) or recovery.truncated_bytes > 0


def _check_flushed(loading: Loading, segment: Segment) -> None:
    """What lies below the recovery point must be whole: recovery would cut it if it were not."""
    if segment.base_offset >= loading.recovery_point:
        return
    chain = walk_chain(
        loading.files.map_file(segment.log_path),
        segment.base_offset,
        until=loading.recovery_point,
        dense=not loading.config.compact,
    )
    if chain.reason and chain.next_offset < loading.recovery_point:
        raise CorruptLog(segment.log_path, chain.valid_bytes, chain.reason)


def _cut_overflow(loading: Loading, segment: Segment) -> bool:
    """An offset far beyond its segment is the work of an old cleaner, and the segment is to be split, only if the log
    is compacted and its offsets ascend. Else it is damage, and ends the log."""
    chain = walk_chain(loading.files.map_file(segment.log_path), segment.base_offset)
    if loading.config.compact and not chain.reason:
        return False
    batches = scan_batches(segment.file, 0, segment.size)
    limit = segment.base_offset + MAX_RELATIVE_OFFSET
    position = next((batch.position for batch in batches if batch.last_offset > limit), chain.valid_bytes)
    position = min(position, chain.valid_bytes)
    loading.repairs.append(f"cut {segment.log_path} at {position}: an offset beyond the reach of the segment")
    segment.file.truncate(position)
    segment.size = position
    return True


def _cut_stray_tail(loading: Loading, segment: Segment) -> bool:
    """Base offsets are covered by no CRC. One that became too large makes the batches behind it look wrong; those are
    cut by now, and it stands at the end, behind a gap. Only compaction leaves gaps, so elsewhere it is cut too."""
    if loading.config.compact:
        return False
    index = segment.offset_index
    start = index.entry(index.entry_count - 2).position if index.entry_count >= 2 else 0
    expected = segment.base_offset if start == 0 else None
    last = None
    for batch in scan_batches(segment.file, start, segment.size):
        expected = expected if last is None else last.last_offset + 1
        last = batch
    if last is None or expected is None or last.base_offset <= expected or expected < loading.recovery_point:
        return False
    loading.repairs.append(
        f"cut {segment.log_path} at {last.position}: offset {last.base_offset} where {expected} was expected"
    )
    segment.truncate_to(expected, loading.clock.wall_ms())
    return True


def _drop(loading: Loading, segments: Segments, dropped: list[Segment]) -> None:
    for segment in dropped:
        loading.repairs.append(f"removed {segment.log_path}")
        segments.remove(segment.base_offset)
        segment.close_handlers()
        remove_segment_files(loading.files, loading.directory, segment.base_offset)
