"""Follower: fetches from the leader, as a voter or as an observer.

A voter that has not fetched successfully for the fetch time-out becomes prospective. While its fetches succeed it
grants no pre-vote, so a leader that a majority can reach stays in place.
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
        #: When to check again whether the voter set in the log describes this replica correctly. A few fetches come
        #: first.
        self.update_voters_at_ms = now_ms + fetch_timeout_ms
        #: Whether the leader has answered within the fetch time-out.
        self.has_leader_contact = False
        #: Whether the leader has resigned or refused a connection.
        self.doubts_leader = False
        #: With static voters this replica reports itself to every new leader once: the log cannot say it.
        self.has_updated_leader = False
        #: The snapshot that is being fetched, if any; fetches of the log wait for it.
        self.snapshot: RawSnapshot | None = None

    def record_leader_contact(self, now_ms: int) -> None:
        """Restart the fetch time-out."""
        self.fetch_deadline_ms = now_ms + self._fetch_timeout_ms
        self.has_leader_contact = True
        self.doubts_leader = False

    def doubt_leader(self, deadline_ms: int) -> None:
        """Shorten the fetch time-out and grant pre-votes: the leader resigned, or its process does not run."""
        self.fetch_deadline_ms = min(self.fetch_deadline_ms, deadline_ms)
        self.has_leader_contact = False
        self.doubts_leader = True

    def lose_leader_contact(self) -> None:
        """Grant pre-votes from now on."""
        self.has_leader_contact = False

    def record_leader_update(self, now_ms: int) -> None:
        """Record that the leader has accepted what this replica reported about itself."""
        self.has_updated_leader = True
        self.record_leader_contact(now_ms)

    def schedule_voter_update(self, now_ms: int) -> None:
        """Plan the next check of the voter set, after that of `now_ms`."""
        self.update_voters_at_ms = now_ms + self._fetch_timeout_ms

    def set_snapshot(self, snapshot: RawSnapshot | None) -> None:
        """Fetch this snapshot, and discard what was fetched of another one."""
        if self.snapshot is not None:
            self.snapshot.close()
        self.snapshot = snapshot

    def update_high_watermark(self, offset: int) -> bool:
        """Return whether the high watermark moved."""
        before = self.high_watermark
        check(before is None or offset >= before, f"the high watermark would go back from {before} to {offset}")
        self.high_watermark = offset
        return offset != before

    def can_grant_vote(self, candidate: ReplicaKey, *, up_to_date: bool, pre_vote: bool) -> bool:
        return pre_vote and up_to_date and not self.has_leader_contact
