"""The offset index of a segment: from an offset to a position in the log file.

An entry is 8 bytes: the offset, relative to the base offset, and the position, both as 32-bit integers. The segment
adds one for the batch that follows each stretch of `index.interval.bytes`: the batch's *last* offset and where the
batch begins. So `lookup` leads to a batch at or before the wanted one, and a short walk over headers does the rest.
"""

import struct

from odradek.common.ports import FileSystem
from odradek.log.errors import CorruptIndex, InvalidOffset
from odradek.log.offsets import OffsetPosition
from odradek.log.segments.index_file import SPILL_BYTES, IndexFile, unpack_int

_ENTRY = struct.Struct(">ii")
_POSITION_AT = 4

_pack = _ENTRY.pack


class OffsetIndex(IndexFile):
    entry_bytes = _ENTRY.size

    __slots__ = ("_full_bytes", "_last_offset")

    def __init__(self, files: FileSystem, path: str, base_offset: int, max_bytes: int = 10 * 1024 * 1024) -> None:
        super().__init__(files, path, base_offset, max_bytes)
        self._full_bytes = self.max_entries * self.entry_bytes
        self._last_offset = base_offset - 1

    @property
    def is_full(self) -> bool:
        if self._stored < 0:
            self._load()
        return self._stored * 8 + len(self._tail) >= self._full_bytes

    @property
    def last_offset(self) -> int:
        """Offset of the last entry; the base offset if there is none."""
        return self._last_offset if self.entry_count else self.base_offset

    def entry(self, slot: int) -> OffsetPosition:
        relative, position = _ENTRY.unpack_from(*self._locate(slot))
        return OffsetPosition(self.base_offset + relative, position)

    def lookup(self, offset: int) -> OffsetPosition:
        """The last entry at or before `offset`, or the start of the segment."""
        count = self._count_up_to(unpack_int, 0, offset - self.base_offset)
        return self.entry(count - 1) if count else OffsetPosition(self.base_offset, 0)

    def fetch_upper_bound(self, position: int) -> OffsetPosition | None:
        """The first entry at `position` or behind it."""
        slot = self._count_up_to(unpack_int, _POSITION_AT, position - 1)
        return self.entry(slot) if slot < self.entry_count else None

    def append(self, offset: int, position: int) -> None:
        """Offsets must grow. A full index takes no more: the segment is rolled, or stays with a sparser index."""
        if self._stored < 0:
            self._load()
        tail = self._tail
        if self._stored * 8 + len(tail) >= self._full_bytes:
            return
        if offset <= self._last_offset:
            message = f"offset {offset} of the entry to add is not above the last, {self._last_offset}"
            raise InvalidOffset(self.path, self.size_bytes, message)
        self._last_offset = offset
        tail += _pack(offset - self.base_offset, position)
        if len(tail) >= SPILL_BYTES:
            self.write()

    def extend(self, entries: list[int]) -> None:
        """Recovery's way to append: relative offsets and positions in turn, known to grow. A full index takes none."""
        if self._stored < 0:
            self._load()
        free_bytes = self._full_bytes - self._stored * 8 - len(self._tail)
        data = struct.pack(f">{len(entries)}i", *entries)[: max(0, free_bytes)]
        if data:
            self._tail += data
            self._note_last()
            if len(self._tail) >= SPILL_BYTES:
                self.write()

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of `offset` and above."""
        self._truncate_to_entries(self._count_up_to(unpack_int, 0, offset - self.base_offset - 1))

    def check_entries(self, log_bytes: int) -> None:
        """Raises CorruptIndex unless offsets and positions grow from entry to entry and stay within the log."""
        last_offset, last_position = self.base_offset - 1, -1
        for slot in range(self.entry_count):
            offset, position = self.entry(slot)
            if offset <= last_offset or position <= last_position or position >= log_bytes:
                reason = f"offset {offset} at {position} cannot follow {last_offset} at {last_position}"
                raise CorruptIndex(self.path, slot * 8, f"{reason} in a log of {log_bytes} bytes")
            last_offset, last_position = offset, position

    def _note_last(self) -> None:
        count = self.entry_count
        self._last_offset = self.entry(count - 1).offset if count else self.base_offset - 1
