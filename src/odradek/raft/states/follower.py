"""Follower: fetches from the leader, as a voter or as an observer.

A voter that has not fetched successfully for the fetch time-out becomes prospective. While it hears the leader it
grants no pre-vote, which is what keeps a leader that a majority can hear in place.
"""

from typing import ClassVar

from odradek.common.failures import check
from odradek.raft.states.state import State
from odradek.raft.storage.raft_log import RawSnapshot
from odradek.raft.values import Endpoints, ReplicaKey


class Follower(State):
    name: ClassVar[str] = "Follower"

    leader_id: int

    def __init__(
        self,
        epoch: int,
        *,
        leader_id: int,
        leader_endpoints: Endpoints,
        voted_key: ReplicaKey | None,
        high_watermark: int | None,
        fetch_timeout_ms: int,
        now_ms: int,
    ) -> None:
        super().__init__(
            epoch,
            leader_id=leader_id,
            leader_endpoints=leader_endpoints,
            voted_key=voted_key,
            high_watermark=high_watermark,
        )
        self._fetch_timeout_ms = fetch_timeout_ms
        self.fetch_deadline_ms = now_ms + fetch_timeout_ms
        #: When to look again whether the voters in the log say the right thing about us. A few fetches come first.
        self.update_voters_at_ms = now_ms + fetch_timeout_ms
        #: Whether there is a reason to believe that the leader lives; and whether there is one to believe that it does
        #: not.
        self.hears_leader = False
        self.doubts_leader = False
        #: With static voters every new leader is told about us once, since it cannot read it in the log.
        self.has_updated_leader = False
        #: Fetches wait while a snapshot is being fetched.
        self.snapshot: RawSnapshot | None = None

    def heard_leader(self, now_ms: int) -> None:
        self.fetch_deadline_ms = now_ms + self._fetch_timeout_ms
        self.hears_leader = True
        self.doubts_leader = False

    def doubt_leader(self, deadline_ms: int) -> None:
        """The leader resigned, or its process is gone: do not wait for all of the time-out, let others be elected."""
        self.fetch_deadline_ms = min(self.fetch_deadline_ms, deadline_ms)
        self.hears_leader = False
        self.doubts_leader = True

    def updated_voters(self, now_ms: int) -> None:
        self.update_voters_at_ms = now_ms + self._fetch_timeout_ms

    def set_snapshot(self, snapshot: RawSnapshot | None) -> None:
        if self.snapshot is not None:
            self.snapshot.close()
        self.snapshot = snapshot

    def update_high_watermark(self, offset: int) -> bool:
        """Whether it moved."""
        before = self.high_watermark
        check(before is None or offset >= before, f"the high watermark would go back from {before} to {offset}")
        self.high_watermark = offset
        return offset != before

    def can_grant_vote(self, candidate: ReplicaKey, *, up_to_date: bool, pre_vote: bool) -> bool:
        return pre_vote and up_to_date and not self.hears_leader
