"""The limit on how fast replicas are copied while partitions are being reassigned (KIP-73).

A broker has one rate as leader, one as follower and one for moves between its log directories. The topic says which of
its replicas the rate applies to: `*`, or pairs of partition and broker. A replica that is in sync is never throttled:
it would fall out of the ISR.

The quota keeps a balance of bytes. Each copy is taken from it, time adds to it at the rate, and nothing more is
copied while it is below zero. A copy that came later than the rate allows leaves credit, but never more than the worth
of one window (`replication.quota.window.size.seconds`). Balance and credit are forgotten when nothing was copied for
`replication.quota.window.num` windows; the next copy then begins without credit. So

- T seconds after the first copy, at most `rate * T` bytes and one fetch response have been copied;
- no interval of T seconds gets more than `rate * (T + window)` bytes and one fetch response.

The one response is because a copy is counted once its size is known. The debt is never more than the worth of all
windows: a replica that is in sync is counted but not throttled, so its topic's load may exceed the rate for hours, and
the other replicas must continue soon after, not hours later. A response larger than that counts as much, so with a rate
this low one response is copied per `replication.quota.window.num` windows.

Kafka divides the bytes of the last eleven windows by the time since the oldest of them began. That is as steady while
a copy runs at its limit, but a copy that was slow for ten seconds may send what it did not use in one burst.
"""

from __future__ import annotations

from dataclasses import dataclass

from odradek.common.ids import TopicPartition

_ALL_REPLICAS = ("*",)


@dataclass(frozen=True, slots=True)
class QuotaWindows:
    """`…replication.quota.window.num` and `…replication.quota.window.size.seconds`, with Kafka's defaults."""

    count: int = 11
    size_ms: int = 1_000


class ReplicationQuota:
    """A limit of `rate_bytes` per second; if it is None there is no limit, and nothing is measured."""

    __slots__ = ("_balance", "_broker_id", "_last_copy_ms", "_updated_ms", "_windows", "rate_bytes")

    def __init__(self, broker_id: int, windows: QuotaWindows) -> None:
        self.rate_bytes: int | None = None
        self._broker_id = str(broker_id)
        self._windows = windows
        #: In thousandths of a byte, so that a millisecond adds an integer.
        self._balance = 0
        self._updated_ms = 0
        self._last_copy_ms: int | None = None

    def set_rate(self, rate_bytes: int | None) -> None:
        """Set the limit; None removes it."""
        self.rate_bytes = rate_bytes

    def applies_to(self, tp: TopicPartition, throttled_replicas: tuple[str, ...]) -> bool:
        """Return whether the rate applies to this broker's replica, given its topic's setting."""
        if self.rate_bytes is None or not throttled_replicas:
            return False
        return throttled_replicas == _ALL_REPLICAS or f"{tp.partition}:{self._broker_id}" in throttled_replicas

    def record(self, copied_bytes: int, now_ms: int) -> None:
        """Count copied bytes."""
        self._update_balance(now_ms)
        self._balance -= copied_bytes * 1_000
        self._last_copy_ms = now_ms

    def is_exceeded(self, now_ms: int) -> bool:
        return self.delay_ms(now_ms) > 0

    def delay_ms(self, now_ms: int) -> int:
        """Return the time until more may be copied at the current rate; 0 if it may be copied now."""
        if self.rate_bytes is None:
            return 0
        self._update_balance(now_ms)
        if self._balance >= 0 or self._last_copy_ms is None:
            return 0
        expires_in_ms = self._last_copy_ms + self._memory_ms - now_ms
        if self.rate_bytes == 0:
            return expires_in_ms
        return min(-(self._balance // self.rate_bytes), expires_in_ms)

    @property
    def _memory_ms(self) -> int:
        return self._windows.count * self._windows.size_ms

    @property
    def _largest_debt(self) -> int:
        """Largest debt at the current rate, which may have changed since; negative, also at a rate of 0."""
        return -max(1, (self.rate_bytes or 0) * self._memory_ms)

    def _update_balance(self, now_ms: int) -> None:
        if self._last_copy_ms is None or now_ms - self._last_copy_ms >= self._memory_ms:
            self._balance, self._last_copy_ms = 0, None
        elif self.rate_bytes is not None:
            credit = self.rate_bytes * self._windows.size_ms
            balance = max(self._balance, self._largest_debt)
            self._balance = min(balance + self.rate_bytes * (now_ms - self._updated_ms), credit)
        self._updated_ms = now_ms
