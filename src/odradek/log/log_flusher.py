"""Making a log durable, in three steps, so that the slow one may run in a worker thread.

`plan` decides which files hold unsynced data and hands over what is still in memory; `FlushPlan.run` syncs them and
touches nothing of the log; `finish` moves the recovery point. Appends may go on meanwhile: the plan only speaks for
the offsets below its own.

A new log is made without a single sync, so that a thousand of them are made in no time. Its first flush syncs what a
log with a recovery point must not lose: its topic id, its first leader epoch, and the name of its directory. A log that
was never written to needs none of it: after a crash it is made again.

A failed sync is final. The kernel forgets the dirty pages it could not write, so a second sync would succeed without
them: the log goes offline instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.common.ports import File
from odradek.log.segments.segment import Segment

if TYPE_CHECKING:
    from odradek.log.unified_log import UnifiedLog


@dataclass(frozen=True, slots=True)
class FlushPlan:
    """What has to be synced so that everything below `offset` is durable: `paths` are small files beside the segments,
    `directory` is empty if no name is new."""

    log: UnifiedLog
    offset: int
    segments: tuple[Segment, ...]
    open_files: tuple[File, ...]
    paths: tuple[str, ...]
    directory: str
    names: int
    is_first: bool
    syncs_log_dir: bool

    def run(self) -> None:
        """Sync; in any thread. Raises `StorageFault`, after which the log is offline."""
        try:
            for path in self.paths:
                _sync_path(self.log, path)
            for file in self.open_files:
                file.sync()
            if self.directory:
                _sync_dir(self.log, self.directory)
            if self.syncs_log_dir:
                self.log.files.sync_dir(self.log.log_dir)
        except OSError as error:
            raise self.log.fail(error) from error


def _sync_path(log: UnifiedLog, path: str) -> None:
    if not log.files.exists(path):
        return  # retention was quicker
    file = log.files.open(path)
    try:
        file.sync()
    finally:
        file.close()


def _sync_dir(log: UnifiedLog, directory: str) -> None:
    try:
        log.files.sync_dir(directory)
    except FileNotFoundError:
        if log.directory == directory:
            raise
        # It was renamed meanwhile, and `finish` does not take its names for synced.


def plan(log: UnifiedLog, up_to: int | None, include_active: bool) -> FlushPlan | None:
    """Everything below `up_to` (the log end); None if all of it is durable already.

    A segment that is empty has nothing to sync but its name; `include_active` takes it along, for a clean stop, at the
    end of which the log directory is synced for all logs together."""
    offset = log.log_end_offset if up_to is None else min(up_to, log.log_end_offset)
    bound = offset + 1 if include_active and offset else offset
    if bound <= log.recovery_point and not log.unsynced_snapshots:
        return None
    segments = log.segments.between(log.recovery_point, bound)
    open_files = [file for segment in segments for file in segment.flush_plan()]
    snapshots, log.unsynced_snapshots = log.unsynced_snapshots, []
    is_first = log.is_unsynced
    paths = [*snapshots, *([log.partition_metadata_path] if is_first else ())]
    if log.epochs.is_unsynced:
        paths.append(log.epochs.path)
    names = log.names_on_disk
    directory = log.directory if log.names_synced < names or paths else ""
    return FlushPlan(
        *(log, offset, tuple(segments), tuple(open_files), tuple(paths), directory, names),
        is_first=is_first,
        syncs_log_dir=is_first and not include_active,
    )


def finish(log: UnifiedLog, plan: FlushPlan) -> None:
    """The plan has run: what it covered is durable."""
    for segment in plan.segments:
        segment.flush_done()
    if plan.directory == log.directory:
        log.names_synced = max(log.names_synced, plan.names)
        log.epochs.is_unsynced = log.epochs.is_unsynced and log.epochs.path not in plan.paths
        log.is_unsynced = log.is_unsynced and not plan.is_first
    # A truncation during the run may have taken away what was flushed.
    offset = min(plan.offset, log.log_end_offset)
    if offset > log.recovery_point:
        log.recovery_point = offset
        log.last_flush_ms = log.clock.monotonic_ms()
    if log.flush_wanted is not None and log.flush_wanted <= log.recovery_point:
        log.flush_wanted = None
