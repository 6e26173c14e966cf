"""The state machine that the simulator replicates: a counter. Every record is the next number, so that anything lost,
repeated or out of order shows at once."""

from odradek.common.failures import check
from odradek.raft.effects import Commit, LeaderChange, LoadSnapshot
from odradek.raft.raft import Raft
from odradek.raft.values import OffsetAndEpoch


class ReplicatedCounter:
    """Lives as long as the process: a restart begins from the snapshot and the log."""

    def __init__(self, node_id: int, snapshot_interval: int) -> None:
        self._node_id = node_id
        self._snapshot_interval = snapshot_interval
        self._snapshot_at = 0
        self.committed = 0
        self.uncommitted = 0
        self.next_offset = 0
        self.leader_epoch: int | None = None

    def increment(self, raft: Raft, count: int, now_ms: int) -> None:
        """Append the next values in one batch."""
        if self.leader_epoch is not None:
            values = range(self.uncommitted + 1, self.uncommitted + count + 1)
            raft.append(self.leader_epoch, [value.to_bytes(8, "big") for value in values], now_ms)
            self.uncommitted += count

    def commit(self, raft: Raft, commit: Commit) -> None:
        for batch in commit.batches:
            check(batch.base_offset == self.next_offset, f"{self}: {batch.base_offset} is committed out of order")
            for value in batch.values:
                count = int.from_bytes(value, "big")
                check(count == self.committed + 1, f"{self}: {count} is committed after {self.committed}")
                self.committed = count
            self.next_offset = batch.last_offset + 1
        last = commit.batches[-1]
        if self.next_offset - self._snapshot_at >= self._snapshot_interval:
            self._snapshot(raft, OffsetAndEpoch(last.epoch, self.next_offset), last.append_time_ms)

    def _snapshot(self, raft: Raft, snapshot_id: OffsetAndEpoch, timestamp: int) -> None:
        self._snapshot_at = snapshot_id.offset
        writer = raft.create_snapshot(snapshot_id, timestamp)
        if writer is not None:
            writer.append([self.committed.to_bytes(8, "big")])
            writer.freeze()
            writer.close()
            raft.snapshot_frozen(snapshot_id)

    def load(self, raft: Raft, effect: LoadSnapshot) -> None:
        self.next_offset = effect.id.offset
        if effect.is_bootstrap:
            return
        check(self.leader_epoch is None, f"{self}: a leader loads the snapshot {effect.id}")
        for batch in raft.read_snapshot(effect.id):
            for value in batch.values:
                self.committed = int.from_bytes(value, "big")
        self._snapshot_at = effect.id.offset

    def leader_change(self, effect: LeaderChange) -> None:
        leads = effect.leader.leader_id == self._node_id
        self.leader_epoch = effect.leader.epoch if leads else None
        self.uncommitted = self.committed

    def __str__(self) -> str:
        return f"counter {self.committed} of node {self._node_id}"
