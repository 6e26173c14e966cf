"""Unattached: knows the epoch, and perhaps who leads it, but not how to reach that leader.

With a vote in it, this is the state that the Raft paper's followers have while an election runs (Kafka once called it
Voted). A voter waits for an election time-out; an observer asks the bootstrap servers for as long as it takes.
"""

from typing import ClassVar

from odradek.raft.states.state import State, undecided_grants
from odradek.raft.values import ReplicaKey


class Unattached(State):
    name: ClassVar[str] = "Unattached"

    def __init__(
        self,
        epoch: int,
        *,
        election_deadline_ms: int,
        leader_id: int | None = None,
        voted_key: ReplicaKey | None = None,
        high_watermark: int | None = None,
    ) -> None:
        super().__init__(epoch, leader_id=leader_id, voted_key=voted_key, high_watermark=high_watermark)
        self.election_deadline_ms = election_deadline_ms

    def can_grant_vote(self, candidate: ReplicaKey, *, up_to_date: bool, pre_vote: bool) -> bool:
        return undecided_grants(self, candidate, up_to_date, pre_vote)
