"""The time index of a segment: from a timestamp to an offset.

An entry is 12 bytes: a timestamp in 8, and relative to the base offset, in 4, the last offset of the batch that had it.
It says: no batch before this one is as late. Entries are added with those of the offset index, but only if time has
moved on since; one last entry, with the largest timestamp of all, is added when the segment is rolled or closed, which
is why a place is kept free for it.
"""

import struct

from odradek.common.failures import fail
from odradek.common.ports import FileSystem
from odradek.log.errors import CorruptIndex, InvalidOffset
from odradek.log.offsets import NO_TIMESTAMP, TimestampOffset
from odradek.log.segments.index_file import SPILL_BYTES, IndexFile, unpack_int, unpack_long

_ENTRY = struct.Struct(">qi")
_OFFSET_AT = 8

_pack = _ENTRY.pack


class TimeIndex(IndexFile):
    entry_bytes = _ENTRY.size

    __slots__ = ("_full_bytes", "_last_offset", "_last_timestamp")

    def __init__(self, files: FileSystem, path: str, base_offset: int, max_bytes: int = 10 * 1024 * 1024) -> None:
        super().__init__(files, path, base_offset, max_bytes)
        self._full_bytes = (self.max_entries - 1) * self.entry_bytes
        self._last_timestamp = NO_TIMESTAMP
        self._last_offset = base_offset

    @property
    def is_full(self) -> bool:
        if self._stored < 0:
            self._load()
        return self._stored * 12 + len(self._tail) >= self._full_bytes

    @property
    def last_entry(self) -> TimestampOffset:
        """No timestamp and the base offset, if there is none."""
        if self._stored < 0:
            self._load()
        return TimestampOffset(self._last_timestamp, self._last_offset)

    def entry(self, slot: int) -> TimestampOffset:
        timestamp, relative = _ENTRY.unpack_from(*self._locate(slot))
        return TimestampOffset(timestamp, self.base_offset + relative)

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The last entry at or before `timestamp`, or the start of the segment."""
        count = self._count_up_to(unpack_long, 0, timestamp)
        return self.entry(count - 1) if count else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def maybe_append(self, timestamp: int, offset: int, *, even_if_full: bool = False) -> None:
        """Add an entry if `timestamp` is above the last one. `even_if_full` is for the last entry of a segment."""
        if self._stored < 0:
            self._load()
        tail = self._tail
        if self._stored * 12 + len(tail) >= self._full_bytes and not even_if_full:
            return
        if offset < self._last_offset and self.entry_count:
            message = f"offset {offset} of the entry to add is below the last, {self._last_offset}"
            raise InvalidOffset(self.path, self.size_bytes, message)
        if timestamp > self._last_timestamp:
            self._last_timestamp = timestamp
            self._last_offset = offset
            tail += _pack(timestamp, offset - self.base_offset)
            if len(tail) >= SPILL_BYTES:
                self.write()
        elif timestamp < self._last_timestamp:
            fail(f"{self.path}: timestamp {timestamp} is below the last, {self._last_timestamp}")

    def extend(self, entries: list[int]) -> None:
        """Recovery's way to append: timestamps and relative offsets in turn, known to grow."""
        if self._stored < 0:
            self._load()
        free_bytes = self._full_bytes - self._stored * 12 - len(self._tail)
        data = struct.pack(">" + "qi" * (len(entries) // 2), *entries)[: max(0, free_bytes)]
        if data:
            self._tail += data
            self._note_last()
            if len(self._tail) >= SPILL_BYTES:
                self.write()

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

    def _note_last(self) -> None:
        count = self.entry_count
        last = self.entry(count - 1) if count else TimestampOffset(NO_TIMESTAMP, self.base_offset)
        self._last_timestamp, self._last_offset = last
