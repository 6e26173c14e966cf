"""Who is alive: when each broker was last heard, how far it has read, whether it is stopping.

Soft state of the active controller: nothing of it is in the log, and a new active controller begins by believing that
every unfenced broker was heard just now. A broker is stale when it was silent for the session time-out, or for a short
grace after its heartbeat connection broke: a live broker connects again well within that, and fencing one too early
costs it only the time to be unfenced again.

A second process of a broker is refused while the first has a session. What a new active controller only believes does
not count for that after the grace: had the first process been alive, it would have been heard. (Who starts two nodes
with one id may so see the second take the place of the first; epochs keep them apart, as ever.)

Timeline of a broker that stops cleanly: it asks to shut down; the controller moves its leaderships away and remembers
the offset of those records; it may go once it leads nothing and every active broker has read up to that offset.
"""

from dataclasses import dataclass
from enum import Enum


class BrokerControlState(Enum):
    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"


@dataclass(frozen=True, slots=True)
class HeartbeatLimits:
    #: `broker.session.timeout.ms`
    session_timeout_ms: int = 9_000
    #: `odradek.broker.disconnect.grace.ms`; None leaves a broken connection to the session time-out.
    disconnect_grace_ms: int | None = 300


@dataclass(slots=True)
class _Session:
    epoch: int
    heard_ms: int
    disconnected_ms: int | None = None
    metadata_offset: int = -1
    controlled_shutdown_offset: int = -1
    #: Nothing was heard of it since this controller became active.
    is_assumed: bool = False


class Heartbeats:
    def __init__(self, limits: HeartbeatLimits) -> None:
        self._limits = limits
        self._sessions: dict[int, _Session] = {}

    def heard(self, broker_id: int, epoch: int, now_ms: int, metadata_offset: int | None = None) -> None:
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            session = self._sessions[broker_id] = _Session(epoch, now_ms)
        session.heard_ms, session.disconnected_ms, session.is_assumed = now_ms, None, False
        if metadata_offset is not None:
            session.metadata_offset = metadata_offset

    def assume(self, broker_id: int, epoch: int, now_ms: int) -> None:
        """A new active controller takes it for heard."""
        self._sessions[broker_id] = _Session(epoch, now_ms, is_assumed=True)

    def connection_lost(self, broker_id: int, epoch: int, now_ms: int) -> None:
        session = self._sessions.get(broker_id)
        if session is not None and session.epoch == epoch:
            session.disconnected_ms = now_ms

    def forget(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def may_be_replaced(self, broker_id: int, epoch: int, now_ms: int) -> bool:
        """Whether another process of this broker may be registered: this one has no session, or only one that was
        assumed and not confirmed."""
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            return True
        grace_ms = self._limits.disconnect_grace_ms
        is_unconfirmed = session.is_assumed and grace_ms is not None and session.heard_ms + grace_ms <= now_ms
        return is_unconfirmed or self._expires_ms(session) <= now_ms

    def is_shutting_down(self, broker_id: int) -> bool:
        session = self._sessions.get(broker_id)
        return session is not None and session.controlled_shutdown_offset >= 0

    def shutdown_began(self, broker_id: int, offset: int) -> None:
        """The first offset counts: leaderships moved later are moved by later heartbeats."""
        session = self._sessions.get(broker_id)
        if session is not None and session.controlled_shutdown_offset < 0:
            session.controlled_shutdown_offset = offset

    def shutdown_ended(self, broker_id: int) -> None:
        """A fenced broker is no longer stopping: at its next heartbeat it may go at once."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.controlled_shutdown_offset = -1

    def shutdown_offset(self, broker_id: int) -> int:
        session = self._sessions.get(broker_id)
        return -1 if session is None else session.controlled_shutdown_offset

    def metadata_offset(self, broker_id: int) -> int:
        session = self._sessions.get(broker_id)
        return -1 if session is None else session.metadata_offset

    def stale(self, broker_ids: list[int], now_ms: int) -> int | None:
        """Of these, the one that has been stale for the longest."""
        expired = [
            (self._expires_ms(session), broker_id)
            for broker_id in broker_ids
            if (session := self._sessions.get(broker_id)) is not None and self._expires_ms(session) <= now_ms
        ]
        return min(expired)[1] if expired else None

    def deadline_ms(self, broker_ids: list[int]) -> int | None:
        """When the first of these becomes stale if nothing is heard."""
        sessions = [self._sessions[broker_id] for broker_id in broker_ids if broker_id in self._sessions]
        return min((self._expires_ms(session) for session in sessions), default=None)

    def _expires_ms(self, session: _Session) -> int:
        expires_ms = session.heard_ms + self._limits.session_timeout_ms
        if session.disconnected_ms is not None and self._limits.disconnect_grace_ms is not None:
            return min(expires_ms, session.disconnected_ms + self._limits.disconnect_grace_ms)
        return expires_ms
