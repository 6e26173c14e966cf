"""Candidate: has begun a new epoch, has voted for itself in it, and asks for the votes of the others.

A majority makes it the leader. Without one it waits for the rest of its random election time-out, so that not the same
candidates collide again, and asks anew as prospective.
"""

from typing import ClassVar

from odradek.common.failures import check
from odradek.raft.states.state import State
from odradek.raft.states.vote_count import EpochElection
from odradek.raft.values import ReplicaKey


class Candidate(State):
    name: ClassVar[str] = "Candidate"

    def __init__(
        self,
        epoch: int,
        local_key: ReplicaKey,
        *,
        votes: EpochElection,
        election_deadline_ms: int,
        high_watermark: int | None,
    ) -> None:
        super().__init__(epoch, voted_key=local_key, high_watermark=high_watermark)
        self.votes = votes
        self.election_deadline_ms = election_deadline_ms

    def record_vote(self, voter_id: int, granted: bool) -> None:
        check(
            self.votes.vote_of(voter_id) in (None, granted),
            f"{voter_id} changed its vote for us in epoch {self.epoch} to {granted}",
        )
        self.votes.record(voter_id, granted)

    def can_grant_vote(self, candidate: ReplicaKey, *, up_to_date: bool, pre_vote: bool) -> bool:
        return pre_vote and up_to_date
