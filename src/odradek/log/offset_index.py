"""The offset index of a segment: from an offset to a position in the log file.

An entry is 8 bytes: the offset, relative to the base offset, and the position, both as 32-bit integers. The segment
adds one for the batch that follows each stretch of `index.interval.bytes`: the batch's *last* offset and where the
batch begins. So `lookup` leads to a batch at or before the wanted one, and a short walk over headers does the rest.
"""

import struct

from odradek.log.errors import CorruptIndex, InvalidOffset
from odradek.log.index_file import IndexFile, unpack_int
from odradek.log.offsets import OffsetPosition

_ENTRY = struct.Struct(">ii")
_POSITION_AT = 4


class OffsetIndex(IndexFile):
    entry_bytes = _ENTRY.size

    __slots__ = ()

    @property
    def is_full(self) -> bool:
        return self.entry_count >= self.max_bytes // 8

    @property
    def last_offset(self) -> int:
        """Of the last entry; the base offset if there is none."""
        count = self.entry_count
        return self.entry(count - 1).offset if count else self.base_offset

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
        count = self.entry_count
        if count >= self.max_bytes // 8:
            return
        if count and offset <= self.last_offset:
            raise InvalidOffset(
                self.path, count * 8, f"offset {offset} of the entry to add is not above the last, {self.last_offset}"
            )
        self._append_entry(_ENTRY.pack(offset - self.base_offset, position))

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
