"""A snapshot of the metadata log on disk: written under a partial name, renamed when it is whole.

`<offset>-<epoch>-<n>.checkpoint.part` becomes `<offset>-<epoch>.checkpoint`. Nobody reads partial names; what a crash
leaves under them goes when the log is opened again. Two writers of the same snapshot (one fetched, one generated) do
not meet: each has its own number, and whichever is renamed last replaces what is equal to it.
"""

from odradek.common.failures import check
from odradek.common.ports import Buffer, FileSystem
from odradek.raft.storage.snapshots import PARTIAL_SUFFIX, SUFFIX, snapshot_file_name
from odradek.raft.values import OffsetAndEpoch


class SnapshotFile:
    """A `RawSnapshot`. Every method may raise OSError."""

    def __init__(self, files: FileSystem, directory: str, snapshot_id: OffsetAndEpoch) -> None:
        self.id = snapshot_id
        self.is_frozen = False
        self._files = files
        self._directory = directory
        self.path = f"{directory}/{snapshot_file_name(snapshot_id)}"
        self._partial_path = _free_partial_path(files, self.path)
        self._file = files.open(self._partial_path, create=True)
        self._is_closed = False

    @property
    def size_bytes(self) -> int:
        return self._file.size()

    def append(self, data: Buffer) -> None:
        check(not self.is_frozen, f"{self.path} is frozen and cannot grow")
        self._file.append(data)

    def freeze(self) -> None:
        if self.is_frozen:
            return
        self._file.sync()
        self._files.rename(self._partial_path, self.path)
        self._files.sync_dir(self._directory)
        self.is_frozen = True

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._file.close()
        if not self.is_frozen and self._files.exists(self._partial_path):
            self._files.remove(self._partial_path)


def _free_partial_path(files: FileSystem, path: str) -> str:
    stem, number = path.removesuffix(SUFFIX), 0
    while files.exists(f"{stem}-{number}{PARTIAL_SUFFIX}"):
        number += 1
    return f"{stem}-{number}{PARTIAL_SUFFIX}"
