"""The transaction index of a segment: the aborted transactions whose markers lie in it (KIP-98).

An entry is 34 bytes: version (0), producer id, first offset, last offset (that of the marker) and the last stable
offset when the marker was written. A `read_committed` consumer is told of those that overlap what it fetches. The file
is made with the first entry; most segments have none.
"""

import struct
from collections.abc import Iterator

from odradek.log.errors import CorruptIndex, InvalidOffset
from odradek.log.index_file import SPILL_BYTES, IndexFile, unpack_long
from odradek.log.offsets import AbortedTxn

CURRENT_VERSION = 0

_ENTRY = struct.Struct(">hqqqq")
_LAST_OFFSET_AT = 18


class TxnIndex(IndexFile):
    entry_bytes = _ENTRY.size

    __slots__ = ()

    @property
    def is_empty(self) -> bool:
        return self.entry_count == 0

    def entry(self, slot: int) -> AbortedTxn:
        version, *fields = _ENTRY.unpack_from(*self._locate(slot))
        if version != CURRENT_VERSION:
            raise CorruptIndex(self.path, slot * 34, f"version {version} of an aborted transaction is unknown")
        return AbortedTxn(*fields)

    def entries(self, start: int = 0) -> Iterator[AbortedTxn]:
        for slot in range(start, self.entry_count):
            yield self.entry(slot)

    def append(self, aborted: AbortedTxn) -> None:
        count = self.entry_count
        if count and aborted.last_offset <= (last := self.entry(count - 1).last_offset):
            raise InvalidOffset(
                self.path, count * 34, f"last offset {aborted.last_offset} of the entry to add is not above {last}"
            )
        self._tail += _ENTRY.pack(CURRENT_VERSION, *aborted)
        if len(self._tail) >= SPILL_BYTES:
            self.write()

    def collect(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """Those that overlap offsets from `fetch_offset` to below `upper_bound_offset`, and whether the search is
        over: once the last stable offset has passed the range, no later transaction can reach into it."""
        found: list[AbortedTxn] = []
        for aborted in self.entries(self._count_up_to(unpack_long, _LAST_OFFSET_AT, fetch_offset - 1)):
            if aborted.first_offset < upper_bound_offset:
                found.append(aborted)
            if aborted.last_stable_offset >= upper_bound_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions that end at `offset` or above."""
        self._truncate_to_entries(self._count_up_to(unpack_long, _LAST_OFFSET_AT, offset - 1))

    def sanity_check(self) -> None:
        """A missing file is an empty index."""
        if not self._files.exists(self.path):
            return
        super().sanity_check()
        for slot, aborted in enumerate(self.entries()):
            if aborted.last_offset < self.base_offset:
                reason = f"last offset {aborted.last_offset} is below the base offset {self.base_offset}"
                raise CorruptIndex(self.path, slot * 34, reason)
