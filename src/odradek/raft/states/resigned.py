"""Resigned: was the leader of this epoch, and does not lead any more.

It notifies the voters until they have acknowledged it, and then waits for a successor. A leader that restarts begins
here too: what it had not synced may be lost, so it must not write again in its epoch, nor vote for another in it.
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
        #: The other voters, those with the most of the log first.
        self.preferred_successors = preferred_successors
        self.election_deadline_ms = election_deadline_ms

    def record_acknowledgement(self, voter_id: int) -> None:
        """Record that a voter knows that this replica has resigned."""
        if voter_id in self.unacknowledged:
            self.unacknowledged.remove(voter_id)

    def can_grant_vote(self, candidate: ReplicaKey, *, up_to_date: bool, pre_vote: bool) -> bool:
        return pre_vote and up_to_date
