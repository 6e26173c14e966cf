"""The files of a node in a test: nothing is synced, a disk can be slow, and a killed node writes no more.

A test's cluster need not survive a power failure, so `sync` does nothing but take the time that a slow disk takes. What
was written is there for the next run of the node, as it is after kill -9. A killed node leaves open files behind; they
are closed when the last thread that might still use one has let go of it, never under its hands.
"""

import errno
import time

from odradek.common.files import OsFile, OsFileSystem
from odradek.common.ports import Buffer


class Disk:
    """Faults that all files of a node share. Set from any thread."""

    def __init__(self) -> None:
        self.delay_ms = 0.0
        self.is_gone = False

    def use(self) -> None:
        if self.delay_ms:
            time.sleep(self.delay_ms / 1000)
        self.check()

    def check(self) -> None:
        """Raises OSError once the node was killed."""
        if self.is_gone:
            raise OSError(errno.EIO, "the node was killed")


class FaultyFile:
    """A real file on a disk of ours."""

    __slots__ = ("_disk", "_file")

    def __init__(self, file: OsFile, disk: Disk) -> None:
        self._file = file
        self._disk = disk

    def __del__(self) -> None:
        self.close()

    @property
    def path(self) -> str:
        return self._file.path

    def size(self) -> int:
        return self._file.size()

    def read(self, position: int, length: int) -> bytes:
        self._disk.use()
        return self._file.read(position, length)

    def append(self, data: Buffer) -> None:
        self._disk.use()
        self._file.append(data)

    def write(self, position: int, data: Buffer) -> None:
        self._disk.use()
        self._file.write(position, data)

    def truncate(self, size: int) -> None:
        self._disk.use()
        self._file.truncate(size)

    def sync(self) -> None:
        self._disk.use()

    def close(self) -> None:
        self._file.close()


class FaultyFileSystem:
    """Names and whole files are had at once, however slow the disk is; a killed node changes none."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._files = OsFileSystem()
        self.read_file = self._files.read_file
        self.map_file = self._files.map_file
        self.exists = self._files.exists
        self.is_dir = self._files.is_dir
        self.size = self._files.size
        self.modified_ms = self._files.modified_ms
        self.list_dir = self._files.list_dir

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> FaultyFile:
        self._disk.check()
        return FaultyFile(self._files.open(path, create=create, writable=writable), self._disk)

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self._disk.check()
        self._files.set_modified_ms(path, modified_ms)

    def make_dirs(self, path: str) -> None:
        self._disk.check()
        self._files.make_dirs(path)

    def rename(self, source: str, target: str) -> None:
        self._disk.check()
        self._files.rename(source, target)

    def remove(self, path: str) -> None:
        self._disk.check()
        self._files.remove(path)

    def remove_tree(self, path: str) -> None:
        self._disk.check()
        self._files.remove_tree(path)

    def sync_dir(self, path: str) -> None:
        self._disk.use()
