"""Resigned: was the leader of this epoch, and leads no more.

It tells the voters so until they have heard, and then waits for a successor. A leader that restarts begins here too:
what it had not synced may be gone, so it must not write again in its epoch, nor vote for another in it.
"""

from typing import ClassVar

from odradek.raft.states.state import State
from odradek.raft.values import Endpoints, ReplicaKey


class Resigned(State):
    name: ClassVar[str] = "Resigned"

    def __init__(
        self,
        epoch: int,
        local_id: int,
        *,
        endpoints: Endpoints,
        voter_ids: tuple[int, ...],
        preferred_successors: tuple[ReplicaKey, ...],
        election_deadline_ms: int,
        high_watermark: int | None,
    ) -> None:
        super().__init__(epoch, leader_id=local_id, leader_endpoints=endpoints, high_watermark=high_watermark)
        self.unacknowledged = [voter_id for voter_id in voter_ids if voter_id != local_id]
        #: The voters, those first that have the most of the log.
        self.preferred_successors = preferred_successors
        self.election_deadline_ms = election_deadline_ms

    def acknowledged(self, voter_id: int) -> None:
        if voter_id in self.unacknowledged:
            self.unacknowledged.remove(voter_id)

    def can_grant_vote(self, candidate: ReplicaKey, *, up_to_date: bool, pre_vote: bool) -> bool:
        return pre_vote and up_to_date
