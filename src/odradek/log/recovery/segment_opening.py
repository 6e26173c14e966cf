"""Opening the segments of a directory, and the two repairs that one segment may need: its indexes, or a split."""

from __future__ import annotations

from dataclasses import dataclass, field

from odradek.common.failures import check
from odradek.common.ids import TopicPartition
from odradek.common.ports import Clock, FileSystem
from odradek.log.batch_chain import walk_chain
from odradek.log.errors import CorruptIndex
from odradek.log.file_names import CLEANED_SUFFIX, LOG_SUFFIX, SWAP_SUFFIX
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.log_config import LogConfig
from odradek.log.producers.producer_state import ProducerState
from odradek.log.recovery.leftover_files import segment_files
from odradek.log.recovery.producer_rebuild import rebuild_producers, take_snapshot
from odradek.log.recovery.segment_recovery import Recovery, recover_segment
from odradek.log.segments.batch_scan import scan_batches
from odradek.log.segments.segment import Segment
from odradek.log.segments.sorted_segments import SortedSegments
from odradek.log.values import CorruptLog
from odradek.records.batch import HEADER_BYTES
from odradek.records.errors import CorruptRecord


@dataclass(slots=True)
class Loading:
    """State of loading a log: its parameters, and the repairs so far."""

    files: FileSystem
    clock: Clock
    directory: str
    topic_partition: TopicPartition
    config: LogConfig
    log_start_offset: int
    recovery_point: int
    clean_shutdown: bool
    #: Offsets may be left out: the log is compacted, or has been.
    has_gaps: bool
    producer_expiration_ms: int
    max_transaction_timeout_ms: int
    verification_enabled: bool
    repairs: list[str] = field(default_factory=list)
    #: Snapshots of producers that were written and are yet to be synced.
    unsynced_snapshots: list[str] = field(default_factory=list)

    @property
    def log_dir(self) -> str:
        return self.directory.rpartition("/")[0]


def open_segment(
    loading: Loading, base_offset: int, *, suffix: str = "", create: bool = False, create_later: bool = False
) -> Segment:
    return Segment(
        loading.files,
        loading.directory,
        base_offset,
        now_ms=loading.clock.wall_ms(),
        index_interval_bytes=loading.config.index_interval_bytes,
        max_index_bytes=loading.config.segment_index_bytes,
        suffix=suffix,
        create=create,
        create_later=create_later,
    )


def new_producers(loading: Loading, *, is_new: bool = False) -> ProducerState:
    return ProducerState(
        loading.files,
        loading.topic_partition,
        loading.directory,
        expiration_ms=loading.producer_expiration_ms,
        max_transaction_timeout_ms=loading.max_transaction_timeout_ms,
        verification_enabled=loading.verification_enabled,
        is_new=is_new,
    )


def load_segments(loading: Loading, epochs: LeaderEpochs) -> SortedSegments:
    """Every segment, with indexes that can be used. In order, since a segment's producers come from those before."""
    entries = segment_files(loading.files, loading.directory)
    base_offsets = [name.base_offset for _, name in entries if name.kind == LOG_SUFFIX and not name.suffix]
    flushed = [offset for offset in base_offsets if offset <= loading.recovery_point]
    recovered_from = max(flushed, default=0)
    segments = SortedSegments()
    for base_offset in base_offsets:
        segment = open_segment(loading, base_offset)
        if loading.clean_shutdown or base_offset < recovered_from:  # recovery rebuilds the others anyway
            reason = _index_damage(segment)
            if reason:
                loading.repairs.append(f"rebuilt the indexes of {segment.log_path}: {reason}")
                _rebuild_indexes(loading, segments, segment, epochs)
            elif corrected := segment.txn_index.repair():
                loading.repairs.append(f"corrected {segment.txn_index.path}: {corrected} last stable offsets too high")
            segment.release_indexes()  # each holds a descriptor, and a node has very many segments
        segments.add(segment)
    return segments


def _index_damage(segment: Segment) -> str:
    """Why the indexes of a segment cannot be used; empty if they can. Cheap, as it is asked of every segment.

    A segment that was closed has its largest timestamp in the time index. An index that claims nothing was lost, or
    came back empty from the disk."""
    try:
        segment.sanity_check()
    except CorruptIndex as damage:
        return damage.reason
    if segment.size == 0 or segment.time_index.last_entry.timestamp > 0:
        return ""
    try:
        first = segment.first_batch_timestamp()
    except CorruptRecord:
        return ""  # for the reader, or the recovery, to find
    return "the time index has no entry" if first is not None and first > 0 else ""


def _rebuild_indexes(
    loading: Loading, previous_segments: SortedSegments, segment: Segment, epochs: LeaderEpochs
) -> None:
    """Rebuild the indexes of a segment that was synced; nothing may be truncated."""
    chain = walk_chain(loading.files.map_file(segment.log_path), segment.base_offset, epochs)
    if chain.reason:
        raise CorruptLog(segment.log_path, chain.valid_bytes, chain.reason)
    recover_one(loading, previous_segments, segment, epochs)


def recover_one(
    loading: Loading,
    previous_segments: SortedSegments,
    segment: Segment,
    epochs: LeaderEpochs,
    behind: Segment | None = None,
) -> Recovery:
    """Walk one segment with the producers as they were at its start, and leave a snapshot of them at its end. `behind`
    is the segment that follows."""
    producers = new_producers(loading)
    now_ms = loading.clock.wall_ms()
    unsynced = loading.unsynced_snapshots
    rebuild_producers(
        producers, previous_segments, loading.log_start_offset, segment.base_offset, now_ms, unsynced=unsynced
    )
    next_header = behind.file.read(0, HEADER_BYTES) if behind is not None else b""
    recovery = recover_segment(segment, producers, epochs, next_header)
    take_snapshot(producers, unsynced)
    return recovery


def split_segment(loading: Loading, base_offset: int) -> None:
    """A segment whose offsets are too far apart for its index (old versions wrote such) becomes several.

    They are made as a compaction would: `.cleaned`, synced, `.swap`. The next round of loading does the rest; a crash
    before the last of them is `.swap` undoes all of it."""
    source = open_segment(loading, base_offset)
    parts: list[Segment] = []
    position = 0
    while position < source.size:
        first = next(scan_batches(source.file, position, source.size), None)
        if first is None:
            break  # a torn end: recovery has not been here yet, and will find nothing to cut
        part = open_segment(loading, first.base_offset, suffix=CLEANED_SUFFIX, create=True)
        appended_bytes = part.append_from(source, position)
        check(appended_bytes > 0, f"{source.log_path}: a batch at {position} fits into no segment")
        position += appended_bytes
        parts.append(part)
    for part in parts:
        part.become_inactive()
        for file in part.flush_plan():
            file.sync()
        part.flush_done()
        part.set_modified_ms(source.modified_ms())
        # Batches alone do not tell which transactions were aborted: with an index missing, the next round of loading
        # makes all indexes of the part again, with the producers as they were at its start.
        part.offset_index.delete()
    for part in reversed(parts):
        part.change_suffix(CLEANED_SUFFIX, SWAP_SUFFIX)
        part.close_handlers()
    loading.files.sync_dir(loading.directory)
    source.close_handlers()
    loading.repairs.append(f"split {source.log_path} into {len(parts)} segments")
