"""The family of files of one segment: the log and its three indexes, opened, synced, renamed and removed together.

Files are opened when they are first needed, and those of a new log are made with its first batch: a node may have
thousands of partitions that nobody writes to. `flush_plan` writes pending index entries and names what must be synced;
whoever syncs (in any thread) reports back with `flush_done`. An open file survives a rename, so what is being read
goes on while a segment is marked for deletion.
"""

from odradek.common.failures import check
from odradek.common.ports import File, FileSystem
from odradek.log.file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    segment_path,
)
from odradek.log.segments.offset_index import OffsetIndex
from odradek.log.segments.time_index import TimeIndex
from odradek.log.segments.transaction_index import TxnIndex

#: Of a file that another process wrote, or that was cut: none of it is taken for synced.
_UNKNOWN_SIZE = -1


class SegmentFiles:
    """`size` is that of the log file; whoever writes to the file keeps it."""

    __slots__ = (
        "_directory",
        "_file",
        "_files",
        "_planned_size",
        "_sealed",
        "_suffix",
        "_synced_size",
        "base_offset",
        "is_to_be_made",
        "offset_index",
        "size",
        "time_index",
        "txn_index",
    )

    def __init__(
        self,
        files: FileSystem,
        directory: str,
        base_offset: int,
        max_index_bytes: int,
        suffix: str,
        create: bool,
        create_later: bool,
    ) -> None:
        """Open the files. With `create` they are created empty, with `create_later` when the first of them is needed
        (there must be none yet); otherwise the `.log` must exist."""
        self._files = files
        self._directory = directory
        self._suffix = suffix
        self.base_offset = base_offset
        self._file: File | None = None
        self._sealed = False
        self.offset_index = OffsetIndex(files, self._path(INDEX_SUFFIX), base_offset, max_index_bytes)
        self.time_index = TimeIndex(files, self._path(TIME_INDEX_SUFFIX), base_offset, max_index_bytes)
        self.txn_index = TxnIndex(files, self._path(TXN_INDEX_SUFFIX), base_offset)
        self.size = 0
        # Up to where the log file is known to be synced, and will be when the running flush is over.
        self._synced_size = self._planned_size = 0
        #: It has no files yet.
        self.is_to_be_made = create or create_later
        if create:
            self.make()
        elif not create_later:
            self.size = files.size(self.log_path)
            self._synced_size = _UNKNOWN_SIZE

    @property
    def log_path(self) -> str:
        return self._path(LOG_SUFFIX)

    @property
    def file(self) -> File:
        """The log file, opened when it is first needed."""
        if self._file is None:
            self.make()
            self._file = self._files.open(self.log_path)
        return self._file

    def sanity_check(self) -> None:
        """Raises CorruptIndex if an index is missing or cannot be one. Cheap: asked of every segment at start."""
        self.offset_index.sanity_check()
        self.time_index.sanity_check()
        self.txn_index.sanity_check()

    def modified_ms(self) -> int:
        self.make()
        return self._files.modified_ms(self.log_path)

    def set_modified_ms(self, modified_ms: int) -> None:
        self.make()
        for path in (self.log_path, self.offset_index.path, self.time_index.path):
            self._files.set_modified_ms(path, modified_ms)

    def flush_plan(self) -> list[File]:
        """Write pending index entries; the files that must be synced (in any thread) to make all so far durable."""
        self._planned_size = self.size
        return [
            *(() if self.size == self._synced_size else (self.file,)),
            *self.offset_index.flush_plan(),
            *self.time_index.flush_plan(),
            *self.txn_index.flush_plan(),
        ]

    def flush_done(self) -> None:
        """The files of the last plan were synced. A sealed segment lets go of its index files."""
        for index in (self.offset_index, self.time_index, self.txn_index):
            index.flush_done()
        self._synced_size = self._planned_size
        if self._sealed:
            self.release_indexes()

    def assume_synced(self) -> None:
        """It was closed in order after everything was synced."""
        self._synced_size = self._planned_size = self.size

    def release_indexes(self) -> None:
        """Drop mappings and index files, each of which holds a descriptor; they come back when they are needed."""
        for index in (self.offset_index, self.time_index, self.txn_index):
            index.release()

    def change_suffix(self, old: str, new: str) -> None:
        """Rename all files, e.g. from "" to ".deleted"; the log first, as Kafka does. Open files stay open."""
        check(self._suffix == old, f"{self.log_path} has suffix {self._suffix!r}, not {old!r}")
        self.make()
        path = self.log_path
        self._suffix = new
        self._files.rename(path, self.log_path)
        self.offset_index.rename(self._path(INDEX_SUFFIX))
        self.time_index.rename(self._path(TIME_INDEX_SUFFIX))
        self.txn_index.rename(self._path(TXN_INDEX_SUFFIX))

    def has_suffix(self, suffix: str) -> bool:
        return self._suffix.endswith(suffix)

    def update_directory(self, directory: str) -> None:
        """The directory was renamed under us."""
        self._directory = directory
        self.offset_index.path = self._path(INDEX_SUFFIX)
        self.time_index.path = self._path(TIME_INDEX_SUFFIX)
        self.txn_index.path = self._path(TXN_INDEX_SUFFIX)

    def delete(self) -> None:
        """Remove all files that exist."""
        self._close_log()
        if self._files.exists(self.log_path):
            self._files.remove(self.log_path)
        self.offset_index.delete()
        self.time_index.delete()
        self.txn_index.delete()

    def close_handlers(self) -> None:
        """Let go of the files without writing: the disk has failed, or nobody needs them now."""
        self._close_log()
        self.release_indexes()

    def _path(self, kind: str) -> str:
        return segment_path(self._directory, self.base_offset, kind, self._suffix)

    def make(self) -> None:
        """The files of a new segment, if they are not there yet. The log first: an index without a log is swept up at
        the next start, a log without an index is recovered."""
        if not self.is_to_be_made:
            return
        self.is_to_be_made = False
        file = self._files.open(self.log_path, create=True)
        if file.size():
            file.truncate(0)
        file.close()
        self.offset_index.create()
        self.time_index.create()
        self.txn_index.delete()
        self.release_indexes()

    def _write_indexes(self) -> None:
        self.offset_index.write()
        self.time_index.write()
        self.txn_index.write()

    def cut(self, size: int) -> None:
        """Durable at once: what was cut off must not come back, as part of a sealed segment, after a crash."""
        self.file.truncate(size)
        self.file.sync()
        self.size = size
        self._synced_size = self._planned_size = _UNKNOWN_SIZE

    def _close_log(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
