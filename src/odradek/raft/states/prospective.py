"""Prospective: asks the voters whether it could be elected, before it starts an election (KIP-996).

Nothing changes for anybody by a pre-vote: the epoch stays, so a replica that was cut off does not depose the leader
that everybody else follows. A majority of grants makes it a candidate; without one it goes back to whom it followed.
"""

from typing import ClassVar

from odradek.raft.states.state import State, undecided_grants
from odradek.raft.states.vote_count import EpochElection
from odradek.raft.values import Endpoints, ReplicaKey


class Prospective(State):
    name: ClassVar[str] = "Prospective"

    def __init__(
        self,
        epoch: int,
        *,
        votes: EpochElection,
        election_deadline_ms: int,
        leader_id: int | None,
        leader_endpoints: Endpoints,
        voted_key: ReplicaKey | None,
        high_watermark: int | None,
        doubts_leader: bool,
    ) -> None:
        super().__init__(
            epoch,
            leader_id=leader_id,
            leader_endpoints=leader_endpoints,
            voted_key=voted_key,
            high_watermark=high_watermark,
        )
        self.votes = votes
        self.election_deadline_ms = election_deadline_ms
        #: Whether the leader of this epoch has resigned or is gone, as far as it knew when it was a follower.
        self.doubts_leader = doubts_leader

    def can_grant_vote(self, candidate: ReplicaKey, *, up_to_date: bool, pre_vote: bool) -> bool:
        return undecided_grants(self, candidate, up_to_date, pre_vote)
