"""Recovery proper: from the recovery point on, keep the whole batches before the first one that is not whole."""

from __future__ import annotations

from odradek.log.epoch_cache import EpochCache
from odradek.log.errors import InvalidOffset
from odradek.log.loader_files import remove_segment_files
from odradek.log.loader_segments import Loading, chain_of, open_segment, recover_one
from odradek.log.segment import Segment
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
    chain = chain_of(loading, segment)
    if chain.reason and chain.next_offset < loading.recovery_point:
        raise CorruptLog(segment.log_path, chain.valid_bytes, chain.reason)
    is_cut = False
    if chain.reason:
        loading.repairs.append(f"cut {segment.log_path} at {chain.valid_bytes}: {chain.reason}")
        segment.file.truncate(chain.valid_bytes)
        segment.size = chain.valid_bytes
        is_cut = True
    try:
        recovery = recover_one(loading, known, segment, epochs)
    except InvalidOffset as damage:
        loading.repairs.append(f"emptied {segment.log_path}: {damage.reason}")
        segment.truncate_to(segment.base_offset, loading.clock.wall_ms())
        return True
    if recovery.damage is not None:
        loading.repairs.append(f"cut {recovery.damage}: {recovery.truncated_bytes} bytes")
    return is_cut or recovery.truncated_bytes > 0


def _drop(loading: Loading, segments: Segments, dropped: list[Segment]) -> None:
    for segment in dropped:
        loading.repairs.append(f"removed {segment.log_path}")
        segments.remove(segment.base_offset)
        segment.close_handlers()
        remove_segment_files(loading.files, loading.directory, segment.base_offset)
