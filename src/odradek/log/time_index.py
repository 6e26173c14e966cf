"""The time index of a segment: from a timestamp to an offset.

An entry is 12 bytes: a timestamp in 8, and relative to the base offset, in 4, the last offset of the batch that had it.
It says: no batch before this one is as late. Entries are added with those of the offset index, but only if time has
moved on since; one last entry, with the largest timestamp of all, is added when the segment is rolled or closed, which
is why a place is kept free for it.
"""

import struct

from odradek.common.failures import check
from odradek.log.errors import CorruptIndex, InvalidOffset
from odradek.log.index_file import IndexFile, unpack_int, unpack_long
from odradek.log.offsets import NO_TIMESTAMP, TimestampOffset

_ENTRY = struct.Struct(">qi")
_OFFSET_AT = 8


class TimeIndex(IndexFile):
    entry_bytes = _ENTRY.size

    __slots__ = ()

    @property
    def is_full(self) -> bool:
        return self.entry_count >= self.max_bytes // 12 - 1

    @property
    def last_entry(self) -> TimestampOffset:
        count = self.entry_count
        return self.entry(count - 1) if count else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def entry(self, slot: int) -> TimestampOffset:
        timestamp, relative = _ENTRY.unpack_from(*self._locate(slot))
        return TimestampOffset(timestamp, self.base_offset + relative)

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The last entry at or before `timestamp`, or the start of the segment."""
        count = self._count_up_to(unpack_long, 0, timestamp)
        return self.entry(count - 1) if count else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def maybe_append(self, timestamp: int, offset: int, *, even_if_full: bool = False) -> None:
        """Add an entry if `timestamp` is above the last one. `even_if_full` is for the last entry of a segment."""
        count = self.entry_count
        if not even_if_full and count >= self.max_bytes // 12 - 1:
            return
        last_timestamp, last_offset = self.last_entry
        if count:
            if offset < last_offset:
                raise InvalidOffset(
                    self.path, count * 12, f"offset {offset} of the entry to add is below the last, {last_offset}"
                )
            check(timestamp >= last_timestamp, f"{self.path}: timestamp {timestamp} is below the last {last_timestamp}")
        if timestamp > last_timestamp:
            self._append_entry(_ENTRY.pack(timestamp, offset - self.base_offset))

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of `offset` and above."""
        self._truncate_to_entries(self._count_up_to(unpack_int, _OFFSET_AT, offset - self.base_offset - 1))

    def check_entries(self) -> None:
        """Raises CorruptIndex unless timestamps and offsets grow from entry to entry."""
        last = TimestampOffset(NO_TIMESTAMP, self.base_offset - 1)
        for slot in range(self.entry_count):
            entry = self.entry(slot)
            if entry.timestamp <= last.timestamp or entry.offset <= last.offset:
                reason = f"timestamp {entry.timestamp} of offset {entry.offset} cannot follow"
                raise CorruptIndex(self.path, slot * 12, f"{reason} {last.timestamp} of {last.offset}")
            last = entry
