"""A replicated log in memory, with what a disk may do to it in a crash: the port `RaftLog` for the simulator.

Synced batches survive. Of what was appended since, some first batches may survive; and of a truncation that was not
synced, the old end may come back. Batches are bytes as in a real log. Each carries a digest of everything up to and
with it, so that two logs are compared by comparing two numbers.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from odradek.common.failures import check
from odradek.common.ports import Buffer
from odradek.raft.values import OffsetAndEpoch
from odradek.records.batch import read_batches
from odradek.records.errors import InvalidRecord

#: Snapshots that a cleaned log keeps.
_RETAINED_SNAPSHOTS = 2


class SimulatedEntry(NamedTuple):
    base_offset: int
    next_offset: int
    epoch: int
    data: bytes
    #: Of the whole log up to the end of this batch.
    chain: int


class SimulatedSnapshot:
    def __init__(self, log: "SimulatedRaftLog", snapshot_id: OffsetAndEpoch) -> None:
        self._log = log
        self._data = bytearray()
        self.id = snapshot_id
        self.is_frozen = False

    @property
    def size_bytes(self) -> int:
        return len(self._data)

    def append(self, data: Buffer) -> None:
        self._data += data

    def freeze(self) -> None:
        self.is_frozen = True
        self._log.add_snapshot(self.id, bytes(self._data))

    def close(self) -> None:
        self._data = bytearray() if not self.is_frozen else self._data


class SimulatedRaftLog:
    """`on_append` sees every batch that is added; `chain_of` knows the digest of a log that ends at a snapshot."""

    def __init__(
        self, on_append: Callable[[SimulatedEntry], None], chain_of: Callable[[OffsetAndEpoch], int], random: Random
    ) -> None:
        self._on_append = on_append
        self._chain_of = chain_of
        self._random = random
        self.start_offset = 0
        self._start_chain = 0
        self.entries: list[SimulatedEntry] = []
        self._ends: list[int] = []
        self.synced: list[SimulatedEntry] = []
        self._leader_epoch = 0
        self.high_watermark = 0
        self._snapshots: dict[OffsetAndEpoch, bytes] = {}

    @property
    def end_offset(self) -> int:
        return self.entries[-1].next_offset if self.entries else self.start_offset

    @property
    def last_epoch(self) -> int:
        if self.entries:
            return self.entries[-1].epoch
        snapshot_id = self.latest_snapshot_id
        return 0 if snapshot_id is None else snapshot_id.epoch

    def update_high_watermark(self, offset: int) -> None:
        check(offset <= self.end_offset, f"the high watermark {offset} is beyond the end {self.end_offset}")
        self.high_watermark = offset

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        if epoch >= self.last_epoch:
            epoch = self._leader_epoch if self.last_epoch < self._leader_epoch <= epoch else self.last_epoch
            return OffsetAndEpoch(epoch, self.end_offset)
        end = self.start_offset
        last_epoch = epoch
        for entry in self.entries:
            if entry.epoch > epoch:
                break
            end, last_epoch = entry.next_offset, entry.epoch
        earliest = self.earliest_snapshot_id
        if end == self.start_offset and earliest is not None and end == earliest.offset:
            return earliest
        return OffsetAndEpoch(last_epoch, end)

    def initialize_leader_epoch(self, epoch: int) -> None:
        self._leader_epoch = epoch

    def append_as_leader(self, batches: Buffer, epoch: int) -> None:
        self._append(batches, epoch)

    def append_as_follower(self, batches: Buffer, epoch: int) -> None:
        self._append(batches, epoch)

    def _append(self, batches: Buffer, epoch: int) -> None:
        for batch in read_batches(batches):
            batch.check()
            if batch.leader_epoch > epoch:
                return
            if batch.base_offset != self.end_offset or batch.leader_epoch < self.last_epoch:
                raise InvalidRecord(f"{batch} of epoch {batch.leader_epoch} does not continue {self}")
            chain = hash((self._last_chain, batch.base_offset, batch.leader_epoch, batch.crc))
            entry = SimulatedEntry(batch.base_offset, batch.next_offset, batch.leader_epoch, bytes(batch.buffer), chain)
            self._on_append(entry)
            self.entries.append(entry)
            self._ends.append(entry.next_offset)

    @property
    def _last_chain(self) -> int:
        return self.entries[-1].chain if self.entries else self._start_chain

    def read(self, offset: int, max_bytes: int, *, committed: bool) -> Buffer:
        end_offset = self.high_watermark if committed else self.end_offset
        check(self.start_offset <= offset <= end_offset, f"{offset} is outside of {self}")
        index = bisect_right(self._ends, offset)
        pieces: list[bytes] = []
        for entry in self.entries[index:]:
            max_bytes -= len(entry.data)
            if entry.next_offset > end_offset or (pieces and max_bytes < 0):
                break
            pieces.append(entry.data)
        return b"".join(pieces)

    def truncate_to(self, offset: int) -> None:
        check(offset >= self.high_watermark, f"{offset} is below the high watermark {self.high_watermark}")
        count = bisect_right(self._ends, offset)
        del self.entries[count:]
        del self._ends[count:]

    def flush(self) -> None:
        self.synced = self.entries.copy()

    @property
    def latest_snapshot_id(self) -> OffsetAndEpoch | None:
        return max(self._snapshots, default=None)

    @property
    def earliest_snapshot_id(self) -> OffsetAndEpoch | None:
        return min(self._snapshots, default=None)

    def snapshot_size_bytes(self, snapshot_id: OffsetAndEpoch) -> int | None:
        data = self._snapshots.get(snapshot_id)
        return None if data is None else len(data)

    def read_snapshot(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> Buffer:
        return self._snapshots[snapshot_id][position : position + max_bytes]

    def create_snapshot(self, snapshot_id: OffsetAndEpoch) -> SimulatedSnapshot | None:
        return None if snapshot_id in self._snapshots else SimulatedSnapshot(self, snapshot_id)

    def add_snapshot(self, snapshot_id: OffsetAndEpoch, data: bytes) -> None:
        self._snapshots[snapshot_id] = data

    def truncate_to_latest_snapshot(self) -> bool:
        latest = self.latest_snapshot_id
        if latest is None or latest <= OffsetAndEpoch(self.last_epoch, self.end_offset):
            return False
        self._snapshots = {latest: self._snapshots[latest]}
        self.start_offset = self.high_watermark = latest.offset
        self._start_chain = self._chain_of(latest)
        self.entries, self._ends, self.synced, self._leader_epoch = [], [], [], 0
        return True

    def delete_before_snapshot(self, snapshot_id: OffsetAndEpoch) -> bool:
        if snapshot_id not in self._snapshots or snapshot_id.offset <= self.start_offset:
            return False
        removed = bisect_right(self._ends, snapshot_id.offset)
        self._start_chain = self.entries[removed - 1].chain
        self.start_offset = snapshot_id.offset
        self.entries, self._ends = self.entries[removed:], self._ends[removed:]
        self.synced = [entry for entry in self.synced if entry.base_offset >= self.start_offset]
        self._snapshots = {key: data for key, data in self._snapshots.items() if key >= snapshot_id}
        return True

    def clean(self, wall_ms: int) -> bool:
        if len(self._snapshots) <= _RETAINED_SNAPSHOTS:
            return False
        return self.delete_before_snapshot(sorted(self._snapshots)[-_RETAINED_SNAPSHOTS])

    def crash(self) -> None:
        """Reduce the log to a state that the next process may find."""
        agreed = next(
            (i for i, pair in enumerate(zip(self.entries, self.synced, strict=False)) if pair[0] is not pair[1]),
            min(len(self.entries), len(self.synced)),
        )
        if agreed < len(self.synced) and self._random.randrange(2):
            self.entries = self.synced.copy()
        else:
            self.entries = self.entries[: self._random.randint(agreed, len(self.entries))]
        self.synced = self.entries.copy()
        self._ends = [entry.next_offset for entry in self.entries]
        self._leader_epoch = 0
        self.high_watermark = self.start_offset
        self.truncate_to_latest_snapshot()

    def chain_at(self, offset: int, *, synced: bool = False) -> int | None:
        """The digest of the log up to `offset`; None if it has no batch that ends there."""
        if offset == self.start_offset:
            return self._start_chain
        entries = self.synced if synced else self.entries
        index = bisect_left(entries, offset, key=lambda entry: entry.next_offset)
        return entries[index].chain if index < len(entries) and entries[index].next_offset == offset else None

    def __str__(self) -> str:
        return f"log from {self.start_offset} to {self.end_offset}"
