"""The producer snapshots of one partition: which files there are, and which of them are kept.

A snapshot is named after the offset that it reaches to. One is taken with every roll, so each segment has the one of
its base offset, and one at a clean stop, which may lie beyond all segments. They go with their segments.
"""

from bisect import insort
from collections.abc import Iterable

from odradek.common.ports import FileSystem
from odradek.log.file_names import DELETED_SUFFIX, SNAPSHOT_SUFFIX, parse_segment_file, snapshot_path
from odradek.log.producers.producer_entry import ProducerEntry
from odradek.log.producers.snapshot_format import read_snapshot, write_snapshot


class ProducerSnapshots:
    """`offsets` is sorted. Nothing else writes or removes snapshots while this object lives."""

    def __init__(self, files: FileSystem, directory: str, *, is_new: bool = False) -> None:
        """In a new directory there are none."""
        self._files = files
        self._directory = directory
        self.offsets: list[int] = []
        if not is_new:
            self.reload()

    def reload(self) -> None:
        """Look again which ones there are."""
        self.offsets = []
        if self._files.is_dir(self._directory):
            for name in self._files.list_dir(self._directory):
                parsed = parse_segment_file(name)
                is_snapshot = parsed is not None and parsed.kind == SNAPSHOT_SUFFIX and not parsed.suffix
                if parsed and is_snapshot and not self._files.is_dir(f"{self._directory}/{name}"):
                    self.offsets.append(parsed.base_offset)
        self.offsets.sort()

    @property
    def latest(self) -> int | None:
        return self.offsets[-1] if self.offsets else None

    @property
    def oldest(self) -> int | None:
        return self.offsets[0] if self.offsets else None

    def path(self, offset: int) -> str:
        return snapshot_path(self._directory, offset)

    def read(self, offset: int) -> list[ProducerEntry]:
        """Raises CorruptSnapshot."""
        return read_snapshot(self._files, self.path(offset))

    def write(self, offset: int, entries: Iterable[ProducerEntry], *, sync: bool) -> str:
        path = self.path(offset)
        write_snapshot(self._files, path, entries, sync=sync)
        if offset not in self.offsets:
            insort(self.offsets, offset)
        return path

    def delete(self, offset: int) -> None:
        self.offsets.remove(offset)
        if self._files.exists(self.path(offset)):
            self._files.remove(self.path(offset))

    def delete_outside(self, start: int, end: int) -> None:
        """Keep those of offsets from `start` to `end`, both included."""
        for offset in [offset for offset in self.offsets if not start <= offset <= end]:
            self.delete(offset)

    def mark_for_deletion(self, offset: int) -> str | None:
        """Rename to `.deleted` and forget; the new path, or None if there was no such file."""
        if offset not in self.offsets:
            return None
        self.offsets.remove(offset)
        path = self.path(offset)
        if not self._files.exists(path):
            return None
        self._files.rename(path, path + DELETED_SUFFIX)
        return path + DELETED_SUFFIX

    def remove_stray(self, segment_base_offsets: Iterable[int]) -> None:
        """Delete the ones of no segment, except the last of them if it lies beyond all segments."""
        bases = sorted(segment_base_offsets)
        stray = [offset for offset in self.offsets if offset not in bases]
        if stray and (not bases or stray[-1] >= bases[-1]):
            stray.pop()
        for offset in stray:
            self.delete(offset)

    def update_directory(self, directory: str) -> None:
        self._directory = directory
