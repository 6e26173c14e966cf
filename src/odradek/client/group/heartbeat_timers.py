"""Deadlines of a member of a classic group: the next heartbeat, the session, and the next poll. Pure."""

from odradek.client.group.core import MemberConfig
from odradek.common.randomness import Randomness


class HeartbeatTimers:
    def __init__(self, config: MemberConfig, randomness: Randomness) -> None:
        self._config = config
        self._randomness = randomness
        self._failures = 0
        self._beat_at_ms = 0.0
        self._session_ends_ms = 0.0
        self._poll_ends_ms = 0.0
        self.is_in_flight = False

    def reset(self, now_ms: float) -> None:
        """Start the deadlines of a new generation."""
        self._failures = 0
        self.is_in_flight = False
        self._beat_at_ms = now_ms + self._config.heartbeat_interval_ms
        self.polled(now_ms)
        self.reset_session(now_ms)

    def reset_session(self, now_ms: float) -> None:
        self._session_ends_ms = now_ms + self._config.session_timeout_ms

    def polled(self, now_ms: float) -> None:
        self._poll_ends_ms = now_ms + self._config.max_poll_interval_ms

    def sent(self, now_ms: float) -> None:
        self.is_in_flight = True
        self._beat_at_ms = now_ms + self._config.heartbeat_interval_ms

    def received(self, now_ms: float) -> None:
        self.is_in_flight = False
        self._failures = 0
        self.reset_session(now_ms)

    def failed(self, now_ms: float) -> None:
        self.is_in_flight = False
        self._failures += 1
        self._beat_at_ms = now_ms + self._config.backoff.delay_ms(self._failures, self._randomness)

    def is_due(self, now_ms: float) -> bool:
        return not self.is_in_flight and now_ms >= self._beat_at_ms

    def session_is_over(self, now_ms: float) -> bool:
        return now_ms >= self._session_ends_ms

    def poll_is_over(self, now_ms: float) -> bool:
        return now_ms >= self._poll_ends_ms

    def next_ms(self) -> float:
        ends_ms = min(self._session_ends_ms, self._poll_ends_ms)
        return ends_ms if self.is_in_flight else min(ends_ms, self._beat_at_ms)
