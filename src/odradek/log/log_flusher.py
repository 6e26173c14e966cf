"""Making a log durable, in three steps, so that the slow one may run in a worker thread.

`LogFlusher.plan` decides which files hold unsynced data and writes out what is still in memory; `FlushPlan.run` syncs
them and changes nothing in the log; `LogFlusher.finish` moves the recovery point. Appends may continue meanwhile: the
plan covers only the offsets below its own.

A new log is created without a single sync, so that creating a thousand of them is quick. Its first flush syncs what a
log with a recovery point must not lose: its topic id, its first leader epoch, and the name of its directory. A log that
was never written to needs none of it: after a crash it is created again.

A failed sync is final. The kernel forgets the dirty pages it could not write, so a second sync would succeed without
them: the log goes offline instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from odradek.common.ports import Clock, File, FileSystem
from odradek.log.file_names import PARTITION_METADATA
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.log_health import LogHealth
from odradek.log.log_offsets import LogOffsets
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segment_list import SegmentList
from odradek.log.segments.segment import Segment


@dataclass(frozen=True, slots=True)
class FlushPlan:
    """The files to sync so that everything below `offset` is durable.

    `paths` are small files beside the segments, `directory` is empty if no file in it is new."""

    files: FileSystem
    health: LogHealth
    offset: int
    segments: tuple[Segment, ...]
    open_files: tuple[File, ...]
    paths: tuple[str, ...]
    directory: str
    names: int
    is_first: bool
    syncs_log_dir: bool

    def run(self) -> None:
        """Sync the files, in any thread. Raises `StorageFault`, after which the log is offline."""
        try:
            for path in self.paths:
                self._sync_path(path)
            for file in self.open_files:
                file.sync()
            if self.directory:
                self._sync_directory()
            if self.syncs_log_dir:
                self.files.sync_dir(self.health.log_dir)
        except OSError as error:
            raise self.health.fail(error) from error

    def _sync_path(self, path: str) -> None:
        if not self.files.exists(path):
            return  # retention has removed it meanwhile
        file = self.files.open(path)
        try:
            file.sync()
        finally:
            file.close()

    def _sync_directory(self) -> None:
        try:
            self.files.sync_dir(self.directory)
        except FileNotFoundError:
            if self.health.directory == self.directory:
                raise
            # The directory was renamed meanwhile, and `finish` does not count its names as synced.


class LogFlusher:
    """Flushes one log, and remembers what is not synced yet."""

    __slots__ = (
        "_clock",
        "_epochs",
        "_files",
        "_health",
        "_is_first_pending",
        "_offsets",
        "_producers",
        "_segments",
        "_unsynced_snapshots",
        "last_flush_ms",
        "requested_up_to",
    )

    def __init__(
        self,
        files: FileSystem,
        clock: Clock,
        segments: SegmentList,
        offsets: LogOffsets,
        epochs: LeaderEpochs,
        producers: ProducerState,
        health: LogHealth,
        *,
        is_new: bool = False,
        unsynced_snapshots: Iterable[str] = (),
    ) -> None:
        """`is_new`: this process created the log, and neither topic id nor directory are synced yet.
        `unsynced_snapshots` are the ones that loading wrote."""
        self._files = files
        self._clock = clock
        self._segments = segments
        self._offsets = offsets
        self._epochs = epochs
        self._producers = producers
        self._health = health
        self._is_first_pending = is_new
        self._unsynced_snapshots = list(unsynced_snapshots)
        self.last_flush_ms = clock.monotonic_ms()
        #: Offset up to which a flush is requested, or None.
        self.requested_up_to: int | None = None

    def request(self, offset: int) -> None:
        """Request a flush up to `offset`; the caller of the log runs it soon, in a worker."""
        self.requested_up_to = offset

    def take_producer_snapshot(self) -> None:
        """Write a snapshot of the producers, which becomes durable with the next flush."""
        self._health.check_online()
        with self._health.guard():
            path = self._producers.take_snapshot(sync=False)
        if path is not None:
            self._unsynced_snapshots.append(path)

    def plan(self, up_to: int | None = None, *, include_active: bool = False) -> FlushPlan | None:
        """Plan to make everything below `up_to` durable (default: the log end). Return None if it is already.

        The caller runs the plan in any thread and then calls `finish`. A segment that is empty has nothing to sync but
        its name; `include_active` includes it, for a clean stop, at the end of which the log directory is synced for
        all logs together."""
        self._health.check_online()
        with self._health.guard():
            return self._plan(up_to, include_active)

    def _plan(self, up_to: int | None, include_active: bool) -> FlushPlan | None:
        offsets, epochs, directory = self._offsets, self._epochs, self._health.directory
        offset = offsets.log_end_offset if up_to is None else min(up_to, offsets.log_end_offset)
        bound = offset + 1 if include_active and offset else offset
        if bound <= offsets.recovery_point and not self._unsynced_snapshots:
            return None
        segments = self._segments.between(offsets.recovery_point, bound)
        open_files = [file for segment in segments for file in segment.flush_plan()]
        paths, self._unsynced_snapshots = self._unsynced_snapshots, []
        is_first = self._is_first_pending
        if is_first:
            paths.append(f"{directory}/{PARTITION_METADATA}")
        if epochs.is_unsynced:
            paths.append(epochs.path)
        names = self._segments.names_on_disk
        has_new_files = self._segments.names_synced < names or bool(paths)
        return FlushPlan(
            self._files,
            self._health,
            offset,
            tuple(segments),
            tuple(open_files),
            tuple(paths),
            directory if has_new_files else "",
            names,
            is_first=is_first,
            syncs_log_dir=is_first and not include_active,
        )

    def finish(self, plan: FlushPlan) -> None:
        """Note that the plan has run and what it covered is durable."""
        self._health.check_online()
        for segment in plan.segments:
            segment.flush_done()
        if plan.directory == self._health.directory:
            self._segments.mark_names_synced(plan.names)
            if self._epochs.path in plan.paths:
                self._epochs.mark_synced()
            self._is_first_pending = self._is_first_pending and not plan.is_first
        # A truncation during the run may have removed what was flushed.
        offset = min(plan.offset, self._offsets.log_end_offset)
        if offset > self._offsets.recovery_point:
            self._offsets.set_recovery_point(offset)
            self.last_flush_ms = self._clock.monotonic_ms()
        if self.requested_up_to is not None and self.requested_up_to <= self._offsets.recovery_point:
            self.requested_up_to = None

    def flush(self, *, include_active: bool = False) -> None:
        """Plan, run and finish a flush in this thread."""
        plan = self.plan(include_active=include_active)
        if plan is not None:
            plan.run()
            self.finish(plan)
