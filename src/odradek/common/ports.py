"""Ports: what the cores may know of the outside world.

A core receives these as arguments and never reaches for the real thing, so that the same code runs in production and
in the simulator. `common.files` and `common.system_clock` are the real ones, `odradek.sim` has the others.

What a file system promises, and no more: bytes written are readable at once; they survive a crash only after `sync`
of the file, and a name (creation, rename, removal) survives only after `sync_dir` of its directory. Every method may
raise `OSError`; the caller decides what the failure takes down with it.
"""

from collections.abc import Sequence
from typing import Protocol

#: What the cores accept as bytes. Slices of a memoryview are ranges, not copies.
Buffer = bytes | bytearray | memoryview


class Clock(Protocol):
    """Two clocks that are never compared with each other."""

    def monotonic_ms(self) -> int:
        """For time-outs and deadlines: never jumps."""
        ...

    def wall_ms(self) -> int:
        """For stamping records and for retention: what a calendar shows, and it may jump."""
        ...


class File(Protocol):
    """An open file, addressed by position; there is no cursor."""

    @property
    def path(self) -> str: ...

    def size(self) -> int: ...

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes; fewer only at the end of the file."""
        ...

    def append(self, data: Buffer) -> None:
        """All of `data` at the end of the file, or an error; after an error any part of it may be there."""
        ...

    def write(self, position: int, data: Buffer) -> None:
        """All of `data` at `position`, or an error."""
        ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Content and size are durable when this returns. An error means: never trust this file again."""
        ...

    def close(self) -> None: ...


class FileSystem(Protocol):
    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        """`create` makes the file if it is missing and keeps its content if it is there."""
        ...

    def read_file(self, path: str) -> bytes: ...

    def map_file(self, path: str) -> memoryview:
        """The content as it is now, for reading; costs no copy on a real file system."""
        ...

    def exists(self, path: str) -> bool: ...

    def is_dir(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def modified_ms(self, path: str) -> int:
        """Return the wall-clock time of the last change of the content."""
        ...

    def set_modified_ms(self, path: str, modified_ms: int) -> None: ...

    def list_dir(self, path: str) -> Sequence[str]:
        """Names in the directory, sorted."""
        ...

    def make_dirs(self, path: str) -> None:
        """Create the directory with all its parents; no error if it exists."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces the target file."""
        ...

    def remove(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None: ...

    def sync_dir(self, path: str) -> None: ...


def write_atomically(files: FileSystem, path: str, data: bytes, *, sync: bool = True) -> None:
    """Replace a small state file: old or new after a crash, never a mix. The temporary name is Kafka's."""
    temporary = path + ".tmp"
    if files.exists(temporary):
        files.remove(temporary)
    file = files.open(temporary, create=True)
    try:
        file.append(data)
        if sync:
            file.sync()
    finally:
        file.close()
    files.rename(temporary, path)
    if sync:
        files.sync_dir(path.rpartition("/")[0] or ".")
