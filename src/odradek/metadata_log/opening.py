"""Opening the metadata log: the log is loaded, the snapshots are found, and both are made to fit each other.

A crash may have left: partial and deleted snapshots, which go; a snapshot beyond the end of the log, which a follower
had received when it stopped, and from which the log starts then; segments before a gap, from a start at a snapshot
that was half done, which go as well; an empty segment behind a gap, from a truncation. What may not be: a log that
starts beyond 0, or behind a gap, without a snapshot for what came before. Its records are nowhere, so the node must
not vote.
"""

import logging

from odradek.common.failures import Fault
from odradek.common.ports import Clock, FileSystem
from odradek.log.errors import InconsistentTopicId, storage_guard
from odradek.log.file_names import LOG_SUFFIX, parse_segment_file
from odradek.log.log_config import LogConfig
from odradek.log.recovery.log_loader import LogOptions, load_log
from odradek.log.unified_log import UnifiedLog
from odradek.metadata_log.clean_end_marker import take_synced_end
from odradek.metadata_log.metadata_log import FOREVER, MetadataLog, MetadataLogConfig
from odradek.raft.config import MAX_BATCH_BYTES
from odradek.raft.storage.snapshots import (
    DELETED_SUFFIX,
    PARTIAL_SUFFIX,
    parse_snapshot_file_name,
    snapshot_file_name,
)
from odradek.raft.values import METADATA_PARTITION, METADATA_TOPIC, METADATA_TOPIC_ID, OffsetAndEpoch

logger = logging.getLogger("odradek.metadata_log")


def open_metadata_log(
    files: FileSystem, clock: Clock, log_dir: str, config: MetadataLogConfig | None = None
) -> MetadataLog:
    """Open the log of `log_dir`, and create it if it does not exist. Raises `StorageFault`, `CorruptLog`, and `Fault`
    where log and snapshots cannot belong together."""
    config = config or MetadataLogConfig()
    directory = f"{log_dir}/{METADATA_TOPIC}-{METADATA_PARTITION}"
    with storage_guard(log_dir, directory):
        snapshots = _find_snapshots(files, directory)
        recovery_point = max(_recovery_point(files, directory, snapshots), take_synced_end(files, directory))
    log = _load(files, clock, directory, config, recovery_point)
    opened = MetadataLog(files, log, snapshots, config)
    if not opened.truncate_to_latest_snapshot():
        _fit_start(log, snapshots)
    with storage_guard(log_dir, directory):
        _remove_old_snapshots(files, directory, snapshots, log.offsets.log_start_offset)
    logger.info(
        "opened %s: offsets from %d, before %d, last epoch %d, snapshots at %s",
        *(directory, opened.start_offset, opened.end_offset, opened.last_epoch),
        ", ".join(str(snapshot_id.offset) for snapshot_id in sorted(snapshots)) or "none",
    )
    return opened


def _load(
    files: FileSystem, clock: Clock, directory: str, config: MetadataLogConfig, recovery_point: int
) -> UnifiedLog:
    try:
        log = load_log(
            files,
            clock,
            directory,
            _log_config(config),
            recovery_point=recovery_point,
            topic_id=METADATA_TOPIC_ID,
            options=LogOptions(verification_enabled=False),
        )
    except InconsistentTopicId as error:
        raise Fault(f"{directory} holds another topic: {error}") from error
    for repair in log.repairs:
        logger.warning("repaired %s: %s", directory, repair)
    return log


def _log_config(config: MetadataLogConfig) -> LogConfig:
    return LogConfig(
        max_message_bytes=MAX_BATCH_BYTES,
        segment_bytes=config.segment_bytes,
        segment_ms=config.segment_ms,
        retention_bytes=FOREVER,
        retention_ms=FOREVER,
    )


def _find_snapshots(files: FileSystem, directory: str) -> dict[OffsetAndEpoch, int]:
    """Return complete snapshots with their sizes, and remove the others."""
    snapshots: dict[OffsetAndEpoch, int] = {}
    for name in files.list_dir(directory) if files.is_dir(directory) else ():
        path = f"{directory}/{name}"
        snapshot_id = parse_snapshot_file_name(name)
        if snapshot_id is not None:
            snapshots[snapshot_id] = files.size(path)
        elif name.endswith((PARTIAL_SUFFIX, DELETED_SUFFIX)):
            files.remove(path)
    return snapshots


def _recovery_point(files: FileSystem, directory: str, snapshots: dict[OffsetAndEpoch, int]) -> int:
    """Return the offset up to which the log was synced: that of the latest snapshot or of the last segment."""
    names = files.list_dir(directory) if files.is_dir(directory) else ()
    parsed = [parse_segment_file(name) for name in names]
    segments = [
        file.base_offset for file in parsed if file is not None and (file.kind, file.suffix) == (LOG_SUFFIX, "")
    ]
    return max([snapshot_id.offset for snapshot_id in snapshots] + segments, default=0)


def _fit_start(log: UnifiedLog, snapshots: dict[OffsetAndEpoch, int]) -> None:
    """Let the log start at 0, or at the first snapshot behind which nothing is missing, neither records nor epochs: a
    segment that lies across the start was kept as a whole, the epochs before the start were not."""
    base_offset, end_before = _last_gap(log)
    first_epoch = log.epochs.earliest_entry
    complete_from = max(base_offset, log.offsets.log_end_offset if first_epoch is None else first_epoch.start_offset)
    start = min((snapshot.offset for snapshot in snapshots if snapshot.offset >= complete_from), default=None)
    if complete_from == 0 or (base_offset == 0 and start is None):
        return
    if start is not None:
        log.offsets.set_high_watermark(start)
        log.offsets.raise_start(start)
        log.retention.delete_old_segments()
    elif end_before is not None and base_offset == log.offsets.log_end_offset:
        log.truncation.truncate_to(end_before)  # the end of a truncation that a crash has cut off
        _fit_start(log, snapshots)
    else:
        raise Fault(f"{log.directory}: the records before {base_offset} are gone, and no snapshot has them")
    for removal in log.segments.take_removals():
        removal.run()


def _last_gap(log: UnifiedLog) -> tuple[int, int | None]:
    """Return the start of the last contiguous segments, and the end of the one before them, if there is one. Offsets
    of this log have no gaps of their own."""
    segments = list(log.segments)
    with log.health.guard():
        for previous, segment in zip(reversed(segments[:-1]), reversed(segments), strict=False):
            end_before = previous.read_next_offset()
            if end_before != segment.base_offset:
                return segment.base_offset, end_before
    return segments[0].base_offset, None


def _remove_old_snapshots(
    files: FileSystem, directory: str, snapshots: dict[OffsetAndEpoch, int], start_offset: int
) -> None:
    for old in [other for other in snapshots if other.offset < start_offset]:
        del snapshots[old]
        files.remove(f"{directory}/{snapshot_file_name(old)}")
