"""The segments of one log and the changes to them: new ones at a roll, swaps by the cleaner, removals.

What must be durable before what, so that a crash between any two steps leaves a log that the loader understands:

* At most one segment's name is unsynced. Otherwise a crash might lose a segment and keep the one after it.
* A swap makes the `.swap` names durable before the old segments get `.deleted`, and those before the new ones lose
  `.swap`. Otherwise a crash might keep the removal of the old and lose the new, or keep both.

Removing has two steps. The files are renamed to `.deleted` at once, so that a restart finishes the work; a `Removal`
lists what to remove after `file.delete.delay.ms`, since a fetch may still be sending from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from odradek.common.failures import check
from odradek.common.ports import Clock, FileSystem
from odradek.log.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    segment_path,
)
from odradek.log.log_config import CurrentConfig
from odradek.log.log_health import LogHealth
from odradek.log.producers.snapshot_files import ProducerSnapshots
from odradek.log.segments.segment import Segment
from odradek.log.segments.sorted_segments import SortedSegments

_SEGMENT_FILE_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)


def no_jitter() -> int:
    return 0


class Removal:
    """Files that are no longer part of the log, to be removed `delay_ms` after they were handed out, by any thread."""

    __slots__ = ("_files", "_health", "_segments", "_snapshots", "delay_ms")

    def __init__(
        self,
        files: FileSystem,
        health: LogHealth,
        segments: Sequence[Segment],
        snapshots: Sequence[str],
        delay_ms: int,
    ) -> None:
        self._files = files
        self._health = health
        self._segments = tuple(segments)
        self._snapshots = tuple(snapshots)
        self.delay_ms = delay_ms

    @property
    def paths(self) -> tuple[str, ...]:
        return (*(segment.log_path for segment in self._segments), *self._snapshots)

    def run(self) -> None:
        """Remove the files; ones that no longer exist are no error. Raises `StorageFault`."""
        try:
            for segment in self._segments:
                segment.delete()
            for path in self._snapshots:
                if self._files.exists(path):
                    self._files.remove(path)
        except OSError as error:
            raise self._health.fail(error) from error


class SegmentList(SortedSegments):
    """The segments of one log, how many of their names are durable, and the removed files that still exist.

    The methods that change files raise `OSError`; the callers guard them (`LogHealth.guard`)."""

    __slots__ = (
        "_clock",
        "_config",
        "_files",
        "_health",
        "_names_created",
        "_removals",
        "_roll_jitter_ms",
        "_snapshots",
        "names_synced",
    )

    def __init__(
        self,
        segments: Iterable[Segment],
        files: FileSystem,
        clock: Clock,
        health: LogHealth,
        config: CurrentConfig,
        snapshots: ProducerSnapshots,
        roll_jitter_ms: Callable[[], int] = no_jitter,
        *,
        are_synced: bool = False,
    ) -> None:
        """Take over the segments that were loaded, at least one.

        `roll_jitter_ms` draws the jitter of a new segment (`segment.jitter.ms`). `are_synced`: the log was closed
        after everything was synced."""
        super().__init__(segments)
        self._files = files
        self._clock = clock
        self._health = health
        self._config = config
        self._snapshots = snapshots
        self._roll_jitter_ms = roll_jitter_ms
        self._removals: list[Removal] = []
        #: Segments that were created, and how many of them have a durable name. Those that were loaded count as one.
        self._names_created = 1
        self.names_synced = 0
        if are_synced:
            self.names_synced = self.names_on_disk
            for segment in self:
                segment.assume_synced()

    @property
    def names_on_disk(self) -> int:
        """Number of segments that were created, without the one of a new log that has no files yet."""
        return self._names_created - self.active.is_to_be_made

    def mark_names_synced(self, count: int) -> None:
        """Note that the names of the first `count` segments that were created are durable."""
        self.names_synced = max(self.names_synced, count)

    def roll(self, base_offset: int) -> Segment:
        """Seal the active segment and return a new, empty one at `base_offset`."""
        active = self.active
        if active.base_offset != base_offset:
            check(base_offset > active.base_offset, f"{active.log_path}: cannot roll back to {base_offset}")
            active.become_inactive()
            return self._create(base_offset)
        # Only an empty segment can start where the next one does; it is replaced, for instance as its index is full.
        check(active.size == 0, f"{active.log_path}: a segment at {base_offset} exists and is not empty")
        return self._create_in_place_of(active, base_offset)

    def restart_at(self, base_offset: int) -> None:
        """Remove all segments, and continue with an empty one at `base_offset`."""
        segments = list(self)
        self.delete(segments[:-1])
        self._create_in_place_of(segments[-1], base_offset)

    def delete(self, segments: Sequence[Segment]) -> None:
        """Take segments out of the log together with their producer snapshots, and schedule their removal."""
        for segment in segments:
            self.remove(segment.base_offset)
        self._schedule_removal(segments, [segment.base_offset for segment in segments])

    def replace(self, new: Iterable[Segment], old: Iterable[Segment]) -> None:
        """Swap cleaned segments in. `new` are `.cleaned` and synced, and hold what remains of `old`.

        Segments of `old` that retention has deleted meanwhile must have been left out by the caller."""
        new = sorted(new, key=lambda segment: segment.base_offset)
        old = list(old)
        directory = self._health.directory
        for segment in reversed(new):
            segment.change_suffix(CLEANED_SUFFIX, SWAP_SUFFIX)
        self._files.sync_dir(directory)
        retained = [segment.base_offset for segment in new]
        for segment in old:
            self.remove(segment.base_offset)
        removed = [segment.base_offset for segment in old if segment.base_offset not in retained]
        self._schedule_removal(old, removed)
        self._files.sync_dir(directory)
        for segment in new:
            segment.change_suffix(SWAP_SUFFIX, "")
            self.add(segment)
        self._files.sync_dir(directory)

    def take_removals(self) -> list[Removal]:
        """Return the removals since the last call; the caller runs them after their delay."""
        removals, self._removals = self._removals, []
        return removals

    def update_directory(self, directory: str) -> None:
        for segment in self:
            segment.update_directory(directory)

    def close(self) -> None:
        """Write the indexes and close all files."""
        for segment in self:
            segment.close()

    def close_handlers(self) -> None:
        """Close all files and write nothing."""
        for segment in self:
            segment.close_handlers()

    def _create_in_place_of(self, segment: Segment, base_offset: int) -> Segment:
        self.remove(segment.base_offset)
        segment.change_suffix("", DELETED_SUFFIX)
        created = self._create(base_offset)
        self._schedule_removal([segment], [])
        return created

    def _create(self, base_offset: int) -> Segment:
        directory = self._health.directory
        if self.names_synced < self._names_created:
            self._files.sync_dir(directory)
            self.names_synced = self.names_on_disk
        for suffix in _SEGMENT_FILE_SUFFIXES:
            leftover = segment_path(directory, base_offset, suffix)
            if self._files.exists(leftover):
                self._files.remove(leftover)
        config = self._config.value
        segment = Segment(
            self._files,
            directory,
            base_offset,
            now_ms=self._clock.wall_ms(),
            index_interval_bytes=config.index_interval_bytes,
            max_index_bytes=config.segment_index_bytes,
            roll_jitter_ms=self._roll_jitter_ms(),
            create=True,
        )
        self._names_created += 1
        self.add(segment)
        return segment

    def _schedule_removal(self, segments: Sequence[Segment], snapshot_offsets: Sequence[int]) -> None:
        """Rename the files of segments that left the list to `.deleted`, with the snapshots at those offsets."""
        for segment in segments:
            if not segment.has_suffix(DELETED_SUFFIX):
                segment.change_suffix("", DELETED_SUFFIX)
        snapshots = [
            path for offset in snapshot_offsets if (path := self._snapshots.mark_for_deletion(offset)) is not None
        ]
        if segments or snapshots:
            delay_ms = self._config.value.file_delete_delay_ms
            self._removals.append(Removal(self._files, self._health, segments, snapshots, delay_ms))
