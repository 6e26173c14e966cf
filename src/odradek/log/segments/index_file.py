"""Common part of the three indexes of a segment: a file of entries of one size, sorted, that only grows at its end.

Entries live in two places. Those in the file are read through a mapping that is made when they are first looked at,
so an index that nobody asks costs one small object. Those appended since the last `write` are in memory, in `_tail`.
They go to the file in one piece at flush, roll and close, and whenever the tail has grown to `SPILL_BYTES`. A crash
loses the tail, and recovery rebuilds the index from its segment, just as it does for Kafka's unflushed mappings.

Kafka fills the file of an active segment with zeros up to its greatest size, and a crash leaves them there. An entry
of zeros behind the first is never real, since keys grow, so a zero tail is recognised when the file is opened and cut
off by the next write. A tail behind a damaged or shortened file is cut off likewise.
"""

import struct
from collections.abc import Callable
from typing import Any

from odradek.common.ports import Buffer, File, FileSystem
from odradek.log.errors import CorruptIndex

#: Bound of an index's memory. An entry of 8 bytes stands for 4 KiB of log, so this is one write for 32 MiB of log.
SPILL_BYTES = 64 * 1024

#: Offsets are stored as four bytes, relative to the segment's base offset.
MAX_RELATIVE_OFFSET = 2**31 - 1

_UNKNOWN = -1

Unpack = Callable[[Buffer, int], tuple[Any, ...]]

unpack_int: Unpack = struct.Struct(">i").unpack_from
unpack_long: Unpack = struct.Struct(">q").unpack_from


class IndexFile:
    """Entries `0 .. entry_count - 1`; subclasses know what is in one, add its bytes to `_tail`, and keep what they need
    of the last one at hand."""

    entry_bytes: int

    __slots__ = (
        "_file",
        "_file_bytes",
        "_files",
        "_map",
        "_planned_writes",
        "_stored",
        "_synced_writes",
        "_tail",
        "_writes",
        "base_offset",
        "max_bytes",
        "path",
    )

    def __init__(self, files: FileSystem, path: str, base_offset: int, max_bytes: int = 0) -> None:
        self._files = files
        self.path = path
        self.base_offset = base_offset
        self.max_bytes = max_bytes
        self._stored = _UNKNOWN  # valid entries in the file
        self._file_bytes = 0  # what the file holds, valid or not
        self._map: memoryview | None = None
        self._tail = bytearray()
        self._file: File | None = None
        # How often the file was changed: ever, before the running flush, before the last finished one.
        self._writes = self._planned_writes = self._synced_writes = 0

    @property
    def entry_count(self) -> int:
        if self._stored < 0:
            self._load()
        return self._stored + len(self._tail) // self.entry_bytes

    @property
    def size_bytes(self) -> int:
        return self.entry_count * self.entry_bytes

    @property
    def max_entries(self) -> int:
        return self.max_bytes // self.entry_bytes

    def create(self) -> None:
        """An empty file, whatever was there before."""
        self._stored = 0
        self._tail.clear()
        self._note_last()
        self._file_bytes = self._open().size()
        self._writes += 1
        self.write()

    def ensure_exists(self) -> None:
        """A missing index would be rebuilt at every start, so an empty one is a file too."""
        if not self._files.exists(self.path):
            self._open()
            self._writes += 1

    def reset(self) -> None:
        """Forget all entries; the file is emptied by the next write."""
        self._truncate_to_entries(0)

    def write(self) -> None:
        """Bring the file up to date; it is durable only after `flush_plan` and `sync`."""
        if self._stored < 0:
            return
        end = self._stored * self.entry_bytes
        if self._file_bytes > end:
            self._map = None  # a mapping must never reach beyond its file
            self._open().truncate(end)
            self._file_bytes = end
            self._writes += 1
        if self._tail:
            self._map = None
            tail, self._tail = self._tail, bytearray()
            self._open().write(end, tail)
            self._stored += len(tail) // self.entry_bytes
            self._file_bytes = end + len(tail)
            self._writes += 1

    def flush_plan(self) -> list[File]:
        """Write what is pending; the file to sync, unless nothing has changed since it last was."""
        self.write()
        self._planned_writes = self._writes
        return [] if self._writes == self._synced_writes else [self._open()]

    def flush_done(self) -> None:
        self._synced_writes = self._planned_writes

    def release(self) -> None:
        """Let go of mapping and file; both come back when they are needed."""
        self._map = None
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        self.write()
        self.release()

    def rename(self, path: str) -> None:
        """The file may be missing: an index of no entries need not be there."""
        if self._files.exists(self.path):
            self._files.rename(self.path, path)
        self.path = path

    def delete(self) -> bool:
        """Delete the file; return whether there was one."""
        self.release()
        if not self._files.exists(self.path):
            return False
        self._files.remove(self.path)
        return True

    def sanity_check(self) -> None:
        """Raises CorruptIndex for a file that cannot be an index; looks at its size only."""
        if not self._files.exists(self.path):
            raise CorruptIndex(self.path, None, "the file is missing")
        size = self._files.size(self.path)
        if size % self.entry_bytes:
            raise CorruptIndex(self.path, size, f"{size} bytes are not a multiple of {self.entry_bytes}")

    def _note_last(self) -> None:
        """The last entry has changed other than by an append; `_stored` is known."""

    def _truncate_to_entries(self, count: int) -> None:
        if self._stored < 0:
            self._load()
        if count >= self._stored:
            del self._tail[(count - self._stored) * self.entry_bytes :]
        else:
            self._tail.clear()
            self._stored = count
        self._note_last()

    def _locate(self, slot: int) -> tuple[Buffer, int]:
        """The buffer that an entry lies in, and where in it."""
        stored = self._stored
        if slot >= stored:
            return self._tail, (slot - stored) * self.entry_bytes
        return self._mapped(), slot * self.entry_bytes

    def _count_up_to(self, unpack: Unpack, field_at: int, bound: int) -> int:
        """Count the entries with a field of `bound` or less; the field grows from entry to entry."""
        if self._stored < 0:
            self._load()
        stored, step = self._stored, self.entry_bytes
        if self._tail and unpack(self._tail, field_at)[0] <= bound:
            buffer: Buffer = self._tail
            low, high, covered = 1, len(buffer) // step, stored
        elif stored:
            buffer = self._mapped()
            low, high, covered = 0, stored, 0
        else:
            return 0
        while low < high:
            middle = (low + high) >> 1
            if unpack(buffer, middle * step + field_at)[0] <= bound:
                low = middle + 1
            else:
                high = middle
        return covered + low

    def _mapped(self) -> memoryview:
        if self._map is None:
            self._map = self._files.map_file(self.path)
        return self._map

    def _open(self) -> File:
        if self._file is None:
            self._file = self._files.open(self.path, create=True)
        return self._file

    def _load(self) -> None:
        self._file_bytes = self._files.size(self.path) if self._files.exists(self.path) else 0
        self._stored = self._without_zero_tail(self._file_bytes // self.entry_bytes)
        self._note_last()

    def _without_zero_tail(self, count: int) -> int:
        """Entries before the zeros. Real entries come first and are not zero, but for the very first, so the border
        is found by halving; a file of one entry of zeros holds that entry."""
        if count < 2:
            return count
        buffer, step = self._mapped(), self.entry_bytes
        zeros = bytes(step)
        low, high = 1, count
        while low < high:
            middle = (low + high) >> 1
            if buffer[middle * step : (middle + 1) * step] == zeros:
                high = middle
            else:
                low = middle + 1
        return 0 if low == 1 and buffer[:step] == zeros else low
