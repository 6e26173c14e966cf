"""Whether the controllers still take this broker for what it takes itself for.

A controller fences a broker that it has not heard from for `broker.session.timeout.ms`, and elects other leaders. A
broker that is cut off does not learn of it: it still has the metadata of before. So each answered heartbeat is a lease:
until the session time after it was sent, no controller can have fenced the broker for its silence.

When the lease is over the broker cannot know whether it still leads. All controllers may be down, in which case nobody
else was elected and records must go on flowing; or the broker alone is cut off. The followers tell the two apart: they
go on fetching from a leader until they hear of another. `Partition.check_may_append` therefore accepts a client's
records for as long as every follower in the ISR fetches, and refuses them with NOT_LEADER_OR_FOLLOWER otherwise. One
fetch proves nothing: when a process was stopped for a while, a fetch of before is the first thing that it finds. In
Kafka such a leader goes on, and records with `acks` 0 or 1 are lost when it truncates its log later. With `acks` all
nothing changes but the error: they could not have been acknowledged without those followers.

A lease does not cover a broken heartbeat connection: a controller that sees it break fences the broker after a grace
(`controller/heartbeats`), within the lease. Nor does an answer say that the metadata of the new leaders has arrived.

A broker that was told that it is fenced refuses both records and reads.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("odradek.replica")

#: Until the driver tells of a heartbeat there is no lease that could end.
_ALWAYS_MS = 1 << 62


class ControllerContact:
    __slots__ = ("_heard_ms", "_is_refusing", "is_fenced", "session_timeout_ms", "trusted_until_ms")

    def __init__(self, session_timeout_ms: int) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.is_fenced = False
        #: The end of the lease, on the monotonic clock.
        self.trusted_until_ms = _ALWAYS_MS
        self._heard_ms = 0
        self._is_refusing = False

    def heard(self, sent_ms: int, *, is_fenced: bool) -> None:
        """A controller has answered the heartbeat that was sent at `sent_ms`."""
        self._heard_ms, self.is_fenced = sent_ms, is_fenced
        self.trusted_until_ms = -_ALWAYS_MS if is_fenced else sent_ms + self.session_timeout_ms
        if self._is_refusing and not is_fenced:
            self._is_refusing = False
            logger.info("a controller has answered: records are accepted again")

    def note_refusal(self, reason: str, now_ms: int) -> None:
        """Say once why records are refused, until they are accepted again."""
        if not self._is_refusing:
            self._is_refusing = True
            logger.warning(
                "records are refused: %s; the last heartbeat that a controller answered was sent %d ms ago",
                *(reason, now_ms - self._heard_ms),
            )
