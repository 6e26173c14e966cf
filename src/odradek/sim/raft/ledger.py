"""Invariants of a quorum, checked after every event.

`Ledger` is what an all-knowing observer writes down: every batch that was ever in any log, everything that was ever
committed, every vote and every leader. A log is named by a digest of all that it holds (`log`), so each check
costs a look into a dictionary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.raft.states.leader import Leader
from odradek.raft.states.resigned import Resigned
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.values import OffsetAndEpoch, ReplicaKey
from odradek.sim.raft.log import SimulatedEntry
from odradek.sim.world.results import InvariantViolated

if TYPE_CHECKING:
    from odradek.sim.raft.node import SimulatedNode


class Ledger:
    """`data_loss`: a disk was wiped on purpose, so its node may forget votes, epochs and data."""

    def __init__(self) -> None:
        self.data_loss = False
        self._chains: dict[tuple[int, int], int] = {(0, 0): 0}
        self._committed: dict[int, int] = {0: 0}
        self.committed_end = 0
        self._leaders: dict[int, int] = {}
        self._votes: dict[tuple[int, bytes, int], ReplicaKey] = {}
        self._epochs: dict[int, int] = {}
        self._high_watermarks: dict[tuple[int, int], int] = {}

    @property
    def elections(self) -> int:
        return len(self._leaders)

    def appended(self, entry: SimulatedEntry) -> None:
        """Log matching: logs that have a batch of the same offset and epoch are the same up to it."""
        chain = self._chains.setdefault((entry.next_offset, entry.epoch), entry.chain)
        if chain != entry.chain:
            raise InvariantViolated(
                f"two logs differ before the batch that ends at {entry.next_offset} of epoch {entry.epoch}"
            )

    def chain_of(self, snapshot_id: OffsetAndEpoch) -> int:
        chain = self._chains.get((snapshot_id.offset, snapshot_id.epoch))
        if chain is None:
            raise InvariantViolated(f"no log ever ended at {snapshot_id}, where a snapshot ends")
        return chain

    def persisted(self, node: SimulatedNode, election: ElectionState) -> None:
        """One vote for each epoch, across restarts. A vote for a candidate and then for its leader is one."""
        if election.voted_key is not None:
            key = (node.id, node.directory_id, election.epoch)
            vote = self._votes.setdefault(key, election.voted_key)
            if not (vote.covers(election.voted_key) or election.voted_key.covers(vote)):
                raise InvariantViolated(f"{node} votes for {vote} and {election.voted_key} in epoch {election.epoch}")

    def check(self, node: SimulatedNode) -> None:
        """After every event, of the node that it happened to."""
        raft = node.raft
        if raft is None:
            return
        if raft.contradictions:
            raise InvariantViolated(f"{node} got a message of a peer that contradicts its own state")
        self._check_epoch(node, raft.state.epoch)
        leader_id = raft.state.leader_id
        if leader_id is not None:
            known_leader = self._leaders.setdefault(raft.state.epoch, leader_id)
            if known_leader != leader_id:
                raise InvariantViolated(f"epoch {raft.state.epoch} has the leaders {known_leader} and {leader_id}")
        log = node.log
        if log.start_offset > 0 and (earliest := log.earliest_snapshot_id) is not None:
            if earliest.offset != log.start_offset:
                raise InvariantViolated(
                    f"{node} has a log from {log.start_offset} on, but its snapshot ends at {earliest}"
                )
        elif log.start_offset > 0:
            raise InvariantViolated(f"{node} has a log from {log.start_offset} on, but no snapshot")
        high_watermark = raft.high_watermark
        if high_watermark is not None:
            self._check_high_watermark(node, high_watermark)

    def _check_epoch(self, node: SimulatedNode, epoch: int) -> None:
        stored = node.election
        if stored is None or stored.epoch != epoch:
            raise InvariantViolated(f"{node} is in epoch {epoch}, but remembers {stored}")
        if epoch < self._epochs.get(node.id, 0) and not self.data_loss:
            raise InvariantViolated(f"{node} goes back from epoch {self._epochs[node.id]} to {epoch}")
        self._epochs[node.id] = epoch

    def _check_high_watermark(self, node: SimulatedNode, high_watermark: int) -> None:
        log = node.log
        if high_watermark > log.end_offset:
            raise InvariantViolated(f"{node} has {log}, but the high watermark {high_watermark}")
        previous = self._high_watermarks.get((node.id, node.incarnation))
        if previous == high_watermark:
            return
        raft = node.raft
        assert raft is not None
        if previous is not None and high_watermark < previous and not raft.is_leader:
            raise InvariantViolated(f"the high watermark of {node} goes back from {previous} to {high_watermark}")
        self._high_watermarks[node.id, node.incarnation] = max(high_watermark, previous or 0)
        if isinstance(raft.state, Leader | Resigned) and high_watermark > self.committed_end:
            self._commit(node, high_watermark)
        elif high_watermark > self.committed_end:
            raise InvariantViolated(
                f"{node} has the high watermark {high_watermark}; no leader is beyond {self.committed_end}"
            )
        chain = log.chain_at(high_watermark)
        if self._committed.get(high_watermark, chain) != chain:
            raise InvariantViolated(f"{node} has another log before {high_watermark} than the one that was committed")

    def exposed(self, node: SimulatedNode, high_watermark: int) -> None:
        """This is about to leave the node, or to reach its state machine; at the end of the event it might be too late
        to look, since the node may crash before."""
        raft = node.raft
        if high_watermark > self.committed_end and raft is not None and isinstance(raft.state, Leader | Resigned):
            self._commit(node, high_watermark)

    def _commit(self, node: SimulatedNode, high_watermark: int) -> None:
        """Check that committed batches are still there, and that a majority of the voters has the new ones on disk."""
        log = node.log
        end = self.committed_end
        if end >= log.start_offset and log.chain_at(end) != self._committed[end]:
            raise InvariantViolated(f"leader {node} has lost what was committed before {end}")
        self.majority_has(node, high_watermark)
        for entry in log.entries:
            if end < entry.next_offset <= high_watermark:
                self._committed[entry.next_offset] = entry.chain
        self.committed_end = high_watermark

    def majority_has(self, node: SimulatedNode, high_watermark: int) -> None:
        if self.data_loss:
            return
        raft, chain = node.raft, node.log.chain_at(high_watermark)
        assert raft is not None
        voters = raft.voters
        have = sum(
            voter.key.covers(other.key) and self._has_synced(other, high_watermark, chain)
            for voter in voters
            if (other := node.cluster.nodes.get(voter.key.id)) is not None
        )
        if have < len(voters) // 2 + 1:
            raise InvariantViolated(
                f"leader {node} commits {high_watermark}, which {have} of {len(voters)} have on disk"
            )

    @staticmethod
    def _has_synced(node: SimulatedNode, high_watermark: int, chain: int | None) -> bool:
        """A voter whose log begins later has it in a snapshot."""
        return node.log.start_offset > high_watermark or node.log.chain_at(high_watermark, synced=True) == chain

    def check_end(self, nodes: list[SimulatedNode]) -> None:
        """All that is committed is the same everywhere."""
        for node in nodes:
            for entry in node.log.entries:
                committed = self._committed.get(entry.next_offset)
                is_committed = node.raft is not None and (node.raft.high_watermark or 0) >= entry.next_offset
                if is_committed and committed is not None and committed != entry.chain:
                    raise InvariantViolated(
                        f"{node} has another batch before {entry.next_offset} than the one committed"
                    )
