"""Progress of one replica, as the leader derives it from the replica's fetches."""

from odradek.common.failures import check
from odradek.raft.values import NEVER_MS, NO_ENDPOINTS, Endpoints, ReplicaKey

#: Earlier than any time of the monotonic clock.
LONG_AGO_MS = -NEVER_MS


class ReplicaProgress:
    __slots__ = (
        "_leader_end_at_last_fetch",
        "caught_up_ms",
        "end_offset",
        "endpoints",
        "key",
        "last_fetch_ms",
    )

    def __init__(self, key: ReplicaKey, endpoints: Endpoints) -> None:
        self.key = key
        self.endpoints = endpoints
        #: Everything before this offset is on the replica's disk. None until its first fetch.
        self.end_offset: int | None = None
        self.last_fetch_ms = LONG_AGO_MS
        self.caught_up_ms = LONG_AGO_MS
        self._leader_end_at_last_fetch = 0

    def record_fetch(self, now_ms: int, fetch_offset: int, leader_end_offset: int | None) -> None:
        """Record a fetch. The replica has caught up now if it fetches from the end of the leader's log, and had caught
        up at its last fetch if it fetches from where the log ended then."""
        if leader_end_offset is not None:
            if fetch_offset >= leader_end_offset:
                self.caught_up_ms = max(self.caught_up_ms, now_ms)
            elif 0 < self._leader_end_at_last_fetch <= fetch_offset:
                self.caught_up_ms = max(self.caught_up_ms, self.last_fetch_ms)
            self._leader_end_at_last_fetch = leader_end_offset
        self.last_fetch_ms = max(self.last_fetch_ms, now_ms)
        self.end_offset = fetch_offset

    def record_append(self, end_offset: int) -> None:
        """Record the end of the leader's own log."""
        check(self.end_offset is None or self.end_offset <= end_offset, "the leader's log only grows")
        self.end_offset = end_offset

    def set_voter(self, key: ReplicaKey, endpoints: Endpoints) -> None:
        """Take over what the voter set says about this replica."""
        self.key = key
        self.endpoints = endpoints

    def set_observer(self) -> None:
        """Drop the endpoints, which only voters have."""
        self.endpoints = NO_ENDPOINTS

    @property
    def order(self) -> tuple[int, ReplicaKey]:
        """Sort key that puts the replica with the most of the log first."""
        return (1 if self.end_offset is None else -self.end_offset, self.key)
