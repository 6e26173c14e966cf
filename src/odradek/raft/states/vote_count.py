"""The count of one election: who granted, who rejected, who has not responded."""

from odradek.common.failures import check
from odradek.raft.values import ReplicaKey
from odradek.raft.voters import VoterSet


class EpochElection:
    def __init__(self, voters: VoterSet, local_id: int) -> None:
        """Count the vote for this replica itself, which counts only if it is a voter."""
        self._voters = voters
        self._votes: dict[int, bool] = {local_id: True} if local_id in voters else {}

    def can_record(self, voter_id: int) -> bool:
        return voter_id in self._voters

    def record(self, voter_id: int, granted: bool) -> None:
        check(voter_id in self._voters, f"{voter_id} answers a vote request, but is no voter of {self._voters}")
        self._votes[voter_id] = granted

    def vote_of(self, voter_id: int) -> bool | None:
        return self._votes.get(voter_id)

    @property
    def majority_size(self) -> int:
        return len(self._voters) // 2 + 1

    @property
    def is_granted(self) -> bool:
        return sum(self._votes.values()) >= self.majority_size

    @property
    def is_rejected(self) -> bool:
        """Return whether a majority is impossible even if all other voters grant their votes."""
        against = sum(not vote for vote in self._votes.values())
        return len(self._voters) - against < self.majority_size

    @property
    def unrecorded(self) -> list[ReplicaKey]:
        return [key for key in self._voters.keys if key.id not in self._votes]

    @property
    def granting(self) -> list[int]:
        return sorted(voter_id for voter_id, vote in self._votes.items() if vote)
