"""The transaction index of a segment: the aborted transactions whose markers lie in it (KIP-98).

An entry is 34 bytes: version (0), producer id, first offset, last offset (that of the marker) and the last stable
offset when the marker was written. A `read_committed` consumer is told of those that overlap what it fetches. The file
is made with the first entry; most segments have none.

**What can be trusted.** Entries are in the order of their last offsets, over all segments of a log. Producer, first
and last offset are right. The last stable offset may be too high in a file that Apache Kafka (up to 4.3.1) wrote: where
a follower gets several batches in one append, Kafka enters all their transactions before it writes the index, and may
take the start of a later transaction for the last stable offset. A search that believes it ends too early, and the
consumer sees aborted records.

The right value is known without the log. Right behind its marker, the last stable offset is the start of the oldest
transaction that was still open, and that is below the marker, or else the offset after the marker. An open transaction
was always found first, so a value up to the offset after the marker is right, and one beyond stands for the offset
after the marker. `entry` reads it so; `repair` writes it so when a log is loaded.
"""

import struct
from collections.abc import Iterator

from odradek.common.ports import write_atomically
from odradek.log.errors import CorruptIndex, InvalidOffset
from odradek.log.offsets import AbortedTxn
from odradek.log.segments.index_file import SPILL_BYTES, IndexFile, unpack_long

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
        """An entry with the right last stable offset, whatever the file says."""
        version, producer_id, first_offset, last_offset, last_stable_offset = _ENTRY.unpack_from(*self._locate(slot))
        if version != CURRENT_VERSION:
            raise CorruptIndex(self.path, slot * 34, f"version {version} of an aborted transaction is unknown")
        return AbortedTxn(producer_id, first_offset, last_offset, min(last_stable_offset, last_offset + 1))

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
        """Return the transactions that overlap offsets from `fetch_offset` to below `upper_bound_offset`, and whether
        the search is over: once the last stable offset has passed the range, every transaction that ends later has
        begun behind it.

        The cost: one bisection to the first entry that ends in or behind the range, then the entries up to the first
        one behind the range at whose marker no transaction was open that reaches into it. Without transactions that
        stay open for long this is the first entry behind the range."""
        overlapping: list[AbortedTxn] = []
        for aborted in self.entries(self._count_up_to(unpack_long, _LAST_OFFSET_AT, fetch_offset - 1)):
            if aborted.first_offset < upper_bound_offset:
                overlapping.append(aborted)
            if aborted.last_stable_offset >= upper_bound_offset:
                return overlapping, True
        return overlapping, False

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions that end at `offset` or above."""
        self._truncate_to_entries(self._count_up_to(unpack_long, _LAST_OFFSET_AT, offset - 1))

    def repair(self) -> int:
        """Correct the last stable offsets that are too high, all at once and durably; returns how many were."""
        if self.is_empty:
            return 0
        stored = self._mapped()[: self._stored * self.entry_bytes]
        wrong: int = sum(last_stable > last + 1 for _, _, _, last, last_stable in _ENTRY.iter_unpack(stored))
        if wrong:
            corrected = b"".join(_ENTRY.pack(CURRENT_VERSION, *entry) for entry in self.entries())
            self.release()
            write_atomically(self._files, self.path, corrected)
            self._tail.clear()
            self._load()
        return wrong

    def sanity_check(self) -> None:
        """A missing file is an empty index."""
        if not self._files.exists(self.path):
            return
        super().sanity_check()
        for slot, aborted in enumerate(self.entries()):
            if aborted.last_offset < self.base_offset:
                reason = f"last offset {aborted.last_offset} is below the base offset {self.base_offset}"
                raise CorruptIndex(self.path, slot * 34, reason)
