"""The real file system behind the port.

Plain system calls on file descriptors: no buffering of our own, the page cache is the cache.
"""

import mmap
import os
import shutil
from collections.abc import Sequence

from odradek.common.ports import Buffer

_FILE_MODE = 0o644
_NANOSECONDS_IN_MS = 1_000_000


class OsFile:
    """One descriptor. `size` is remembered, since only this object changes the file while it is open for writing."""

    __slots__ = ("_fd", "_path", "_size")

    def __init__(self, path: str, fd: int) -> None:
        self._path = path
        self._fd = fd
        self._size = os.fstat(fd).st_size

    @property
    def path(self) -> str:
        return self._path

    def fileno(self) -> int:
        return self._fd

    def size(self) -> int:
        return self._size

    def read(self, position: int, length: int) -> bytes:
        data = os.pread(self._fd, length, position)
        while len(data) < length and (more := os.pread(self._fd, length - len(data), position + len(data))):
            data += more
        return data

    def append(self, data: Buffer) -> None:
        self.write(self._size, data)

    def write(self, position: int, data: Buffer) -> None:
        written = os.pwrite(self._fd, data, position)
        if written != len(data):
            with memoryview(data) as rest:
                while written < len(rest):
                    written += os.pwrite(self._fd, rest[written:], position + written)
        end = position + written
        if end > self._size:
            self._size = end

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)
        self._size = size

    def sync(self) -> None:
        os.fdatasync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)


class OsFileSystem:
    def open(self, path: str, *, create: bool = False, writable: bool = True) -> OsFile:
        flags = (os.O_RDWR if writable else os.O_RDONLY) | (os.O_CREAT if create else 0) | os.O_CLOEXEC
        return OsFile(path, os.open(path, flags, _FILE_MODE))

    def read_file(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def map_file(self, path: str) -> memoryview:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return memoryview(b"")  # an empty file cannot be mapped
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // _NANOSECONDS_IN_MS

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        stamp_ns = modified_ms * _NANOSECONDS_IN_MS
        os.utime(path, ns=(stamp_ns, stamp_ns))

    def list_dir(self, path: str) -> Sequence[str]:
        return sorted(os.listdir(path))

    def make_dirs(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def remove(self, path: str) -> None:
        os.remove(path)

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(path)

    def sync_dir(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
