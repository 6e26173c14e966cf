"""Interface of the states of a replica. Each state has its own file; `transitions` has the transitions.

A state lives in one epoch, and knows what it must remember about it on disk: the leader, if there is one, and whom it
has voted for. Times are deadlines on the monotonic clock.
"""

from typing import ClassVar

from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.values import NO_ENDPOINTS, Endpoints, LeaderAndEpoch, ReplicaKey


class State:
    name: ClassVar[str]

    def __init__(
        self,
        epoch: int,
        *,
        leader_id: int | None = None,
        leader_endpoints: Endpoints = NO_ENDPOINTS,
        voted_key: ReplicaKey | None = None,
        high_watermark: int | None = None,
    ) -> None:
        self.epoch = epoch
        self.leader_id = leader_id
        self.leader_endpoints = leader_endpoints
        self.voted_key = voted_key
        self.high_watermark = high_watermark

    @property
    def leader_and_epoch(self) -> LeaderAndEpoch:
        return LeaderAndEpoch(self.leader_id, self.epoch)

    def election(self, voter_ids: tuple[int, ...]) -> ElectionState:
        return ElectionState(self.epoch, self.leader_id, self.voted_key, voter_ids)

    def can_grant_vote(self, candidate: ReplicaKey, *, up_to_date: bool, pre_vote: bool) -> bool:
        """Return whether `candidate`, whose log is at least as long as ours or not, may have our vote in this epoch.

        A pre-vote (KIP-996) asks only whether it could have it: nothing is promised and nothing remembered.
        """
        raise NotImplementedError

    def __str__(self) -> str:
        leader = "" if self.leader_id is None else f", leader {self.leader_id}"
        voted = "" if self.voted_key is None else f", voted for {self.voted_key.id}"
        return f"{self.name} in epoch {self.epoch}{leader}{voted}"


def undecided_grants(state: State, candidate: ReplicaKey, up_to_date: bool, pre_vote: bool) -> bool:
    """Return whether a replica without a leader grants a vote: one vote for each epoch, to a log as good as ours, and
    none in an epoch that has its leader."""
    if pre_vote:
        return up_to_date
    if state.voted_key is not None:
        return state.voted_key.covers(candidate)
    return up_to_date and state.leader_id is None
