"""Loading a log from its directory, and putting right what a crash has left.

`load_log` is one call that touches nothing but the directory it is given, so that many logs can be loaded in worker
threads. Its passes:

1. Remove what was deleted or never finished; finish an interrupted swap (`leftover_files`).
2. Open every segment. An index that is missing or cannot be one is rebuilt from its log file.
3. Unless the last stop was clean, recover: walk every segment from the recovery point on, check each batch, cut the
   first one that is torn or damaged with everything behind it.
4. If the log ends before it starts (somebody removed files), begin anew at its start.
5. Cut the leader epochs to what is there.
6. Load the producers from the newest usable snapshot and the records behind it.

**What is never cut.** Everything below the recovery point was synced, so damage there is no crash's doing but the
disk's. It is checked wherever it is read anyway: in the segment of the recovery point, and in segments whose index is
rebuilt. Damage raises `CorruptLog` with file and position before anything is changed; the replica fails, and its data
comes from the others. Other segments below the recovery point are not read here, as loading must not grow with the
log; `LogReader.fetch` checks them when they are read.

A failing disk raises `StorageFault`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field

from odradek.common.failures import InputError, check
from odradek.common.ports import Clock, FileSystem
from odradek.log.errors import CorruptCheckpoint, InconsistentTopicId, SegmentOverflow, storage_guard
from odradek.log.file_names import DELETE_DIR_SUFFIX, PARTITION_METADATA, parse_partition_dir
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.log_appender import LogAppender
from odradek.log.log_config import CurrentConfig, LogConfig
from odradek.log.log_flusher import LogFlusher
from odradek.log.log_health import LogHealth
from odradek.log.log_offsets import LogOffsets
from odradek.log.log_reader import LogReader
from odradek.log.log_retention import LogRetention
from odradek.log.log_roller import LogRoller
from odradek.log.log_truncation import LogTruncation
from odradek.log.manager.checkpoint_files import (
    PartitionMetadata,
    is_partition_metadata_torn,
    read_partition_metadata,
    write_new_partition_metadata,
    write_partition_metadata,
)
from odradek.log.producers.producer_state import ProducerState
from odradek.log.recovery.epoch_rebuild import load_epochs
from odradek.log.recovery.leftover_files import finish_swaps, is_tidy, remove_orphans, sweep
from odradek.log.recovery.log_recovery import recover_log
from odradek.log.recovery.producer_rebuild import rebuild_producers
from odradek.log.recovery.segment_opening import Loading, load_segments, new_producers, open_segment, split_segment
from odradek.log.segment_list import SegmentList, no_jitter
from odradek.log.segments.sorted_segments import SortedSegments
from odradek.log.unified_log import UnifiedLog

#: Each round splits one segment into ones that fit, and old cleaners left few such: more than this is a mistake.
_MAX_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Options of a log besides its topic's settings: the broker's settings for producers, and two choices.

    `check_on_read`: `LogReader.fetch` checks the CRC of what it serves. `open_compressed`: a leader checks the
    records within compressed batches."""

    producer_expiration_ms: int = 24 * 60 * 60 * 1000
    max_transaction_timeout_ms: int = 15 * 60 * 1000
    verification_enabled: bool = True
    check_on_read: bool = True
    open_compressed: bool = True
    roll_jitter_ms: Callable[[], int] = field(default=no_jitter)


def load_log(
    files: FileSystem,
    clock: Clock,
    directory: str,
    config: LogConfig | None = None,
    *,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    clean_shutdown: bool = False,
    was_cleaned: bool = False,
    topic_id: bytes | None = None,
    options: LogOptions | None = None,
) -> UnifiedLog:
    """The log in `directory`, which is made if it is not there. Raises `StorageFault` and `CorruptLog`; `InputError` if
    no partition can have a directory of that name.

    `log_start_offset`, `recovery_point` and `was_cleaned` are what the checkpoints of the log directory say; the last,
    that the cleaner has been here, even if the topic is no longer compacted."""
    options = options or LogOptions()
    directory = posixpath.normpath(directory)
    if "/" not in directory:
        directory = f"./{directory}"  # so that the log directory, which is what stands before the slash, has a name
    loading = _loading(
        files,
        clock,
        directory,
        config,
        options,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        clean_shutdown=clean_shutdown,
        was_cleaned=was_cleaned,
    )
    with storage_guard(loading.log_dir, directory):
        if not files.is_dir(directory):
            files.make_dirs(directory)
            files.sync_dir(loading.log_dir)
        return _load(loading, options, topic_id)


def new_log(
    files: FileSystem, clock: Clock, directory: str, config: LogConfig, topic_id: bytes | None, options: LogOptions
) -> UnifiedLog:
    """An empty log in a directory that is not there yet. Nothing is synced before there is something to lose (see
    `flush`), and no file stays open. Raises `StorageFault`."""
    loading = _loading(files, clock, directory, config, options, clean_shutdown=True)
    with storage_guard(loading.log_dir, directory):
        files.make_dirs(directory)
        if topic_id is not None:
            write_new_partition_metadata(files, directory, topic_id)
        segments = SortedSegments([open_segment(loading, 0, create_later=True)])
        epochs, producers = LeaderEpochs(files, directory), new_producers(loading, is_new=True)
        return _assemble(loading, options, topic_id, segments, epochs, producers, end_offset=0, is_new=True)


def _loading(
    files: FileSystem,
    clock: Clock,
    directory: str,
    config: LogConfig | None,
    options: LogOptions,
    *,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    clean_shutdown: bool = False,
    was_cleaned: bool = False,
) -> Loading:
    parsed = parse_partition_dir(directory.rpartition("/")[2])
    if parsed is None:
        raise InputError(f"{directory}: a partition's directory is named after topic and partition, like orders-0")
    return Loading(
        files,
        clock,
        directory,
        parsed.topic_partition,
        config or LogConfig(),
        log_start_offset,
        recovery_point,
        clean_shutdown,
        was_cleaned or (config is not None and config.compact),
        options.producer_expiration_ms,
        options.max_transaction_timeout_ms,
        options.verification_enabled,
    )


def _load(loading: Loading, options: LogOptions, topic_id: bytes | None) -> UnifiedLog:
    topic_id = _topic_id(loading, topic_id)
    segments, epochs, end_offset = _load_segments(loading)
    epochs.truncate_from_end(end_offset)
    start_offset = max(loading.log_start_offset, segments.first.base_offset)
    epochs.truncate_from_start(start_offset)
    epochs.flush()
    producers = new_producers(loading)
    producers.remove_stray_snapshots(segments.base_offsets)
    now_ms = loading.clock.wall_ms()
    rebuild_producers(
        *(producers, segments, start_offset, end_offset, now_ms),
        clean_shutdown=loading.clean_shutdown,
        unsynced=loading.unsynced_snapshots,
    )
    segments.active.close_handlers()  # it is opened again for the next write or read
    return _assemble(loading, options, topic_id, segments, epochs, producers, end_offset)


def _assemble(
    loading: Loading,
    options: LogOptions,
    topic_id: bytes | None,
    loaded: SortedSegments,
    epochs: LeaderEpochs,
    producers: ProducerState,
    end_offset: int,
    *,
    is_new: bool = False,
) -> UnifiedLog:
    """Build the parts of a log, each from the ones before it."""
    files, clock = loading.files, loading.clock
    config = CurrentConfig(loading.config)
    health = LogHealth(loading.topic_partition, loading.directory)
    segments = SegmentList(
        *(loaded, files, clock, health, config, producers.snapshots, options.roll_jitter_ms),
        are_synced=loading.clean_shutdown and not loading.repairs and not is_new,
    )
    log_start_offset = max(loading.log_start_offset, segments.first.base_offset)
    recovery_point = end_offset if loading.clean_shutdown else min(loading.recovery_point, end_offset)
    offsets = LogOffsets(log_start_offset, end_offset, recovery_point, epochs, producers, health)
    flusher = LogFlusher(
        *(files, clock, segments, offsets, epochs, producers, health),
        is_new=is_new,
        unsynced_snapshots=loading.unsynced_snapshots,
    )
    roller = LogRoller(segments, offsets, producers, flusher, health)
    return UnifiedLog(
        files,
        clock,
        loading.topic_partition,
        topic_id,
        config,
        health,
        offsets,
        segments,
        epochs,
        producers,
        LogAppender(
            *(clock, config, segments, offsets, epochs, producers, roller, flusher, health),
            check_compressed=options.open_compressed,
        ),
        LogReader(segments, offsets, epochs, producers, health, check_on_read=options.check_on_read),
        LogTruncation(clock, segments, offsets, epochs, producers, health),
        LogRetention(clock, config, segments, offsets, roller, health),
        roller,
        flusher,
        tuple(loading.repairs),
    )


def _load_segments(loading: Loading) -> tuple[SortedSegments, LeaderEpochs, int]:
    """Passes 1 to 4, from the top whenever a segment had to be split."""
    for _ in range(_MAX_ROUNDS):
        if not is_tidy(loading.files, loading.directory):
            loading.repairs.extend(f"removed {path}" for path in sweep(loading.files, loading.directory))
            loading.repairs.extend(f"replaced {path}" for path in finish_swaps(loading.files, loading.directory))
            loading.repairs.extend(
                f"removed {path}: no log" for path in remove_orphans(loading.files, loading.directory)
            )
        epochs = load_epochs(loading)
        try:
            segments = load_segments(loading, epochs)
            if loading.directory.endswith(DELETE_DIR_SUFFIX):
                return _as_it_is(loading, segments), epochs, 0
            return segments, epochs, recover_log(loading, segments, epochs)
        except SegmentOverflow as overflow:
            split_segment(loading, overflow.base_offset)
    check(False, f"{loading.directory}: splitting segments does not end")
    raise AssertionError


def _as_it_is(loading: Loading, segments: SortedSegments) -> SortedSegments:
    """A log that is being deleted is not worth recovering."""
    if not len(segments):
        segments.add(open_segment(loading, 0, create=True))
    return segments


def _partition_metadata(loading: Loading) -> PartitionMetadata | None:
    try:
        return read_partition_metadata(loading.files, loading.directory)
    except CorruptCheckpoint:
        if not is_partition_metadata_torn(loading.files, loading.directory):
            raise
    path = f"{loading.directory}/{PARTITION_METADATA}"
    loading.files.remove(path)
    loading.repairs.append(f"removed {path}: the log was made just before the crash, and nothing of it was synced")
    return None


def _topic_id(loading: Loading, expected: bytes | None) -> bytes | None:
    metadata = _partition_metadata(loading)
    if metadata is None:
        if expected is not None:
            write_partition_metadata(loading.files, loading.directory, expected)
        return expected
    if expected is not None and metadata.topic_id != expected:
        raise InconsistentTopicId(
            f"Tried to assign topic ID {expected.hex()} to log for topic partition {loading.topic_partition}, but log "
            f"already contained topic ID {metadata.topic_id.hex()}"
        )
    return metadata.topic_id
