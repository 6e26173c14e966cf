"""Sessions of brokers: the last contact with each broker, the offset it has read, and whether it is stopping.

This is soft state of the active controller and not in the log. A new active controller assumes a contact with every
unfenced broker just now. A broker is stale when it was silent for the session timeout, or for a short grace period
after its heartbeat connection broke: a live broker reconnects well within that, and fencing one too early costs it only
the time until it is unfenced again.

A second process of a broker is rejected while the first has a session. A session that a new active controller only
assumed does not count after the grace period: a live process would have sent a heartbeat. (If two nodes are started
with the same id, the second may so replace the first; epochs distinguish them.)

Timeline of a broker that stops cleanly: it requests its shutdown; the controller moves its leaderships away and
remembers the offset of those records; the broker may stop once it leads nothing and every active broker has read that
offset.
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
    #: `odradek.broker.disconnect.grace.ms`; None: only the session timeout counts.
    disconnect_grace_ms: int | None = 300


@dataclass(slots=True)
class _Session:
    epoch: int
    last_contact_ms: int
    disconnected_ms: int | None = None
    metadata_offset: int = -1
    controlled_shutdown_offset: int = -1
    #: Whether no heartbeat came since this controller became active.
    is_assumed: bool = False

    def record_heartbeat(self, now_ms: int, metadata_offset: int | None) -> None:
        self.last_contact_ms, self.disconnected_ms, self.is_assumed = now_ms, None, False
        if metadata_offset is not None:
            self.metadata_offset = metadata_offset

    def record_disconnect(self, now_ms: int) -> None:
        self.disconnected_ms = now_ms

    def start_shutdown(self, offset: int) -> None:
        if self.controlled_shutdown_offset < 0:
            self.controlled_shutdown_offset = offset

    def end_shutdown(self) -> None:
        self.controlled_shutdown_offset = -1


class Heartbeats:
    def __init__(self, limits: HeartbeatLimits) -> None:
        self._limits = limits
        self._sessions: dict[int, _Session] = {}

    def record_heartbeat(self, broker_id: int, epoch: int, now_ms: int, metadata_offset: int | None = None) -> None:
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            session = self._sessions[broker_id] = _Session(epoch, now_ms)
        session.record_heartbeat(now_ms, metadata_offset)

    def assume(self, broker_id: int, epoch: int, now_ms: int) -> None:
        """Assume a contact, as a new active controller does."""
        self._sessions[broker_id] = _Session(epoch, now_ms, is_assumed=True)

    def connection_lost(self, broker_id: int, epoch: int, now_ms: int) -> None:
        session = self._sessions.get(broker_id)
        if session is not None and session.epoch == epoch:
            session.record_disconnect(now_ms)

    def forget(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def may_be_replaced(self, broker_id: int, epoch: int, now_ms: int) -> bool:
        """Return whether another process of this broker may register: this one has no session, or only an assumed one
        that was not confirmed within the grace period."""
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            return True
        grace_ms = self._limits.disconnect_grace_ms
        is_unconfirmed = session.is_assumed and grace_ms is not None and session.last_contact_ms + grace_ms <= now_ms
        return is_unconfirmed or self._expires_ms(session) <= now_ms

    def is_shutting_down(self, broker_id: int) -> bool:
        session = self._sessions.get(broker_id)
        return session is not None and session.controlled_shutdown_offset >= 0

    def start_shutdown(self, broker_id: int, offset: int) -> None:
        """Start a controlled shutdown. The first offset counts: later heartbeats move later leaderships."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.start_shutdown(offset)

    def end_shutdown(self, broker_id: int) -> None:
        """End a controlled shutdown: the broker was fenced, and may stop with its next heartbeat."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.end_shutdown()

    def shutdown_offset(self, broker_id: int) -> int:
        session = self._sessions.get(broker_id)
        return -1 if session is None else session.controlled_shutdown_offset

    def metadata_offset(self, broker_id: int) -> int:
        session = self._sessions.get(broker_id)
        return -1 if session is None else session.metadata_offset

    def stale(self, broker_ids: list[int], now_ms: int) -> int | None:
        """Return the broker that has been stale for the longest; None if none is stale."""
        expired = [
            (self._expires_ms(session), broker_id)
            for broker_id in broker_ids
            if (session := self._sessions.get(broker_id)) is not None and self._expires_ms(session) <= now_ms
        ]
        return min(expired)[1] if expired else None

    def deadline_ms(self, broker_ids: list[int]) -> int | None:
        """Return the time at which the first of these becomes stale without heartbeats."""
        sessions = [self._sessions[broker_id] for broker_id in broker_ids if broker_id in self._sessions]
        return min((self._expires_ms(session) for session in sessions), default=None)

    def _expires_ms(self, session: _Session) -> int:
        expires_ms = session.last_contact_ms + self._limits.session_timeout_ms
        if session.disconnected_ms is not None and self._limits.disconnect_grace_ms is not None:
            return min(expires_ms, session.disconnected_ms + self._limits.disconnect_grace_ms)
        return expires_ms
