"""History of the control records of the log: the voters and `kraft.version`, now and at earlier offsets.

Always read up to the end of the log, committed or not: Raft's rule is that a new set of voters holds from the moment
it is in a log. Truncation takes entries back. A new snapshot at some offset needs what held there, so older entries
are kept until the log behind a snapshot is forgotten.

Entries from a snapshot stand at its last contained offset; those of the bootstrap snapshot so at -1.
"""

from bisect import bisect_right
from typing import Generic, TypeVar

from odradek.common.failures import check
from odradek.protocol.messages.kraft_version_record import KRaftVersionRecord
from odradek.protocol.messages.voters_record import VotersRecord
from odradek.raft.storage.control_records import ControlRecord, read_control_records
from odradek.raft.storage.raft_log import RaftLog
from odradek.raft.storage.snapshots import snapshot_batches
from odradek.raft.voters import VoterSet
from odradek.records.batch import read_batches

T = TypeVar("T")

#: How much of the log is read at a time when all of it is.
_READ_BYTES = 1 << 20


class History(Generic[T]):
    """Values by the offset from which they apply."""

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._values: list[T] = []

    def add(self, offset: int, value: T) -> None:
        check(not self._offsets or offset > self._offsets[-1], f"a value at {offset} comes after {self._offsets[-1:]}")
        self._offsets.append(offset)
        self._values.append(value)

    @property
    def last(self) -> tuple[int, T] | None:
        return (self._offsets[-1], self._values[-1]) if self._offsets else None

    def at(self, offset: int) -> T | None:
        index = bisect_right(self._offsets, offset)
        return self._values[index - 1] if index else None

    def truncate_new(self, end_offset: int) -> None:
        while self._offsets and self._offsets[-1] >= end_offset:
            self._offsets.pop()
            self._values.pop()

    def truncate_old(self, start_offset: int) -> None:
        """Drop all values from before `start_offset` but the last."""
        surplus = bisect_right(self._offsets, start_offset) - 1
        if surplus > 0:
            del self._offsets[:surplus]
            del self._values[:surplus]

    def clear(self) -> None:
        self._offsets.clear()
        self._values.clear()


class ControlState:
    def __init__(self, log: RaftLog, static_voters: VoterSet) -> None:
        self._log = log
        self._static_voters = static_voters
        self._voters: History[VoterSet] = History()
        self._kraft_versions: History[int] = History()
        self._next_offset: int | None = None
        self.voters = static_voters
        self.kraft_version = 0
        self.update()

    @property
    def voters_entry(self) -> tuple[int, VoterSet] | None:
        """Last voters in the log and their offset; None while the static ones apply."""
        return self._voters.last

    @property
    def voters_before(self) -> VoterSet | None:
        """Return the voters before the last voters in the log; None if the log does not have them any more."""
        entry = self._voters.last
        return None if entry is None else self._voters.at(entry[0] - 1)

    def voters_at(self, offset: int) -> VoterSet | None:
        return self._voters.at(offset)

    def kraft_version_at(self, offset: int) -> int:
        return self._kraft_versions.at(offset) or 0

    def update(self) -> None:
        """Read the control records after every change of the log but truncation."""
        self._maybe_load_snapshot()
        self._load_log()
        self._refresh()

    def pass_over(self, base_offset: int, end_offset: int) -> None:
        """Skip the records from `base_offset` on, which have no control records."""
        if self._next_offset == base_offset:
            self._next_offset = end_offset

    def truncate_new(self, end_offset: int) -> None:
        """Drop values after `end_offset`, to which the log was truncated."""
        self._voters.truncate_new(end_offset)
        self._kraft_versions.truncate_new(end_offset)
        if self._next_offset is not None:
            self._next_offset = min(self._next_offset, end_offset)
        self._refresh()

    def truncate_old(self, start_offset: int) -> None:
        """Drop values from before `start_offset`, the end of a snapshot."""
        self._voters.truncate_old(start_offset)
        self._kraft_versions.truncate_old(start_offset)

    def _refresh(self) -> None:
        voters, version = self._voters.last, self._kraft_versions.last
        self.voters = self._static_voters if voters is None else voters[1]
        self.kraft_version = 0 if version is None else version[1]

    def _maybe_load_snapshot(self) -> None:
        snapshot_id = self._log.latest_snapshot_id
        if self._next_offset is not None and self._next_offset >= self._log.start_offset:
            return
        self._voters.clear()
        self._kraft_versions.clear()
        self._next_offset = 0
        if snapshot_id is not None:
            for batch in snapshot_batches(self._log, snapshot_id):
                if batch.is_control:
                    for record in read_control_records(batch):
                        self._replay(ControlRecord(snapshot_id.offset - 1, record.message))
            self._next_offset = snapshot_id.offset

    def _load_log(self) -> None:
        next_offset = self._next_offset or 0
        while next_offset < self._log.end_offset:
            for batch in read_batches(self._log.read(next_offset, _READ_BYTES, committed=False)):
                if batch.is_control:
                    for record in read_control_records(batch):
                        self._replay(record)
                next_offset = batch.next_offset
        self._next_offset = next_offset

    def _replay(self, record: ControlRecord) -> None:
        if isinstance(record.message, VotersRecord):
            self._voters.add(record.offset, VoterSet.from_record(record.message))
        elif isinstance(record.message, KRaftVersionRecord):
            self._kraft_versions.add(record.offset, record.message.kraft_version)
