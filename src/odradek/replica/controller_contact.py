"""The lease that heartbeats give a broker, and the checks that replace it when it has expired.

A controller fences a broker from which it has received no heartbeat for `broker.session.timeout.ms`, and elects other
leaders. A broker that is cut off does not learn of it: its metadata stays as it was. So each acknowledged heartbeat is
a lease: until the session timeout after it was sent, no controller can have fenced the broker for its silence.

When the lease has expired the broker cannot know whether it still leads. Either all controllers are down, in which case
no other leader was elected and records must continue to flow, or the broker alone is cut off. The followers tell the
two cases apart: they continue to fetch from a leader until they learn of another. `PartitionLeader.check_may_append`
therefore accepts a client's records for as long as every follower in the ISR fetches, and rejects them with
NOT_LEADER_OR_FOLLOWER otherwise. A single fetch proves nothing: a process that was suspended for a while first reads
a fetch from before the suspension. In Kafka such a leader continues, and records with `acks` 0 or 1 are lost when it
truncates its log later. With `acks` all only the error code changes: the records could not have been acknowledged
without those followers.

A lease does not cover a broken heartbeat connection: a controller that sees it break fences the broker after a grace
period (`controller/heartbeats`), within the lease. Nor does an acknowledged heartbeat mean that the metadata of the
new leaders has arrived.

A broker that has been notified of its fencing rejects both appends and reads.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("odradek.replica")

#: Before the first heartbeat there is no lease that could expire.
_ALWAYS_MS = 1 << 62


class ControllerContact:
    __slots__ = ("_is_rejecting", "_last_sent_ms", "is_fenced", "session_timeout_ms", "trusted_until_ms")

    def __init__(self, session_timeout_ms: int) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.is_fenced = False
        #: End of the lease, on the monotonic clock.
        self.trusted_until_ms = _ALWAYS_MS
        self._last_sent_ms = 0
        self._is_rejecting = False

    def heartbeat_acknowledged(self, sent_ms: int, *, is_fenced: bool) -> None:
        """Record that a controller has acknowledged the heartbeat that was sent at `sent_ms`."""
        self._last_sent_ms, self.is_fenced = sent_ms, is_fenced
        self.trusted_until_ms = -_ALWAYS_MS if is_fenced else sent_ms + self.session_timeout_ms
        if self._is_rejecting and not is_fenced:
            self._is_rejecting = False
            logger.info("a controller has acknowledged a heartbeat: records are accepted again")

    def log_rejection(self, reason: str, now_ms: int) -> None:
        """Log once why records are rejected, until they are accepted again."""
        if not self._is_rejecting:
            self._is_rejecting = True
            logger.warning(
                "records are rejected: %s; the last heartbeat that a controller acknowledged was sent %d ms ago",
                *(reason, now_ms - self._last_sent_ms),
            )
