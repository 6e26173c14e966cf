"""How far each replica has come, as the leader knows it from their fetches."""

from odradek.raft.values import NEVER_MS, Endpoints, ReplicaKey

#: Before any time there is.
LONG_AGO_MS = -NEVER_MS


class ReplicaProgress:
    __slots__ = (
        "_leader_end_at_last_fetch",
        "caught_up_ms",
        "end_offset",
        "endpoints",
        "has_acknowledged",
        "key",
        "last_fetch_ms",
    )

    def __init__(self, key: ReplicaKey, endpoints: Endpoints, *, has_acknowledged: bool = False) -> None:
        self.key = key
        self.endpoints = endpoints
        #: Everything before it is on this replica's disk. None until its first fetch.
        self.end_offset: int | None = None
        self.last_fetch_ms = LONG_AGO_MS
        self.caught_up_ms = LONG_AGO_MS
        #: Whether it knows who leads.
        self.has_acknowledged = has_acknowledged
        self._leader_end_at_last_fetch = 0

    def fetched(self, now_ms: int, fetch_offset: int, leader_end_offset: int | None) -> None:
        """It has caught up now if it asks for the end of the log, and had at its last fetch if for the end of then."""
        if leader_end_offset is not None:
            if fetch_offset >= leader_end_offset:
                self.caught_up_ms = max(self.caught_up_ms, now_ms)
            elif 0 < self._leader_end_at_last_fetch <= fetch_offset:
                self.caught_up_ms = max(self.caught_up_ms, self.last_fetch_ms)
            self._leader_end_at_last_fetch = leader_end_offset
        self.last_fetch_ms = max(self.last_fetch_ms, now_ms)
        self.end_offset = fetch_offset
        self.has_acknowledged = True

    @property
    def order(self) -> tuple[int, ReplicaKey]:
        """The one with the most of the log first."""
        return (1 if self.end_offset is None else -self.end_offset, self.key)
