"""How fast replicas may be copied while partitions are being reassigned (KIP-73).

A rate belongs to the broker, one as leader and one as follower; which replicas it concerns is said by their topic: `*`,
or pairs of partition and broker. A replica that is in sync is never held back: it would fall out of the ISR.

The rate is measured over the last eleven seconds, the current one included, as Kafka does: a short burst is let
through, and made up for afterwards.
"""

from __future__ import annotations

from collections import deque

from odradek.common.ids import TopicPartition

#: `replication.quota.window.num` and `replication.quota.window.size.seconds`, which nobody changes.
_WINDOWS = 11
_WINDOW_MS = 1_000

_ALL = ("*",)


class ReplicationThrottle:
    """`rate_bytes` per second; None: no limit, and nothing is measured."""

    __slots__ = ("_broker_id", "_windows", "rate_bytes")

    def __init__(self, broker_id: int) -> None:
        self.rate_bytes: int | None = None
        self._broker_id = str(broker_id)
        #: Start and bytes of each second in which anything was copied.
        self._windows: deque[tuple[int, int]] = deque()

    def is_throttled(self, tp: TopicPartition, throttled_replicas: tuple[str, ...]) -> bool:
        """Whether the rate concerns this broker's replica, by its topic's setting."""
        if self.rate_bytes is None or not throttled_replicas:
            return False
        return throttled_replicas == _ALL or f"{tp.partition}:{self._broker_id}" in throttled_replicas

    def record(self, copied_bytes: int, now_ms: int) -> None:
        start_ms = now_ms - now_ms % _WINDOW_MS
        windows = self._windows
        if windows and windows[-1][0] == start_ms:
            copied_bytes += windows.pop()[1]
        windows.append((start_ms, copied_bytes))

    def is_exceeded(self, now_ms: int) -> bool:
        if self.rate_bytes is None:
            return False
        first_ms = now_ms - now_ms % _WINDOW_MS - (_WINDOWS - 1) * _WINDOW_MS
        windows = self._windows
        while windows and windows[0][0] < first_ms:
            windows.popleft()
        copied_bytes = sum(count for _, count in windows)
        # Kafka divides by at least all windows but one, so that a first burst does not look like a high rate.
        elapsed_ms = max(now_ms - first_ms, (_WINDOWS - 1) * _WINDOW_MS)
        return copied_bytes * 1_000 > self.rate_bytes * elapsed_ms
