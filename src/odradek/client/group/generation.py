"""Generation of a classic group, as one of its members knows it; and when the member must join the next one. Pure.

UNJOINED ── join sent ──▶ PREPARING_REBALANCE ── joined, sync sent ──▶ COMPLETING_REBALANCE ── synced ──▶ STABLE
    ▲                                                                                                      │
    └────────── unknown, fenced, left: the generation and the member's partitions are lost ────────────────┘
"""

from enum import Enum

from odradek.client.group.core import Identity


class ClassicMemberState(Enum):
    UNJOINED = "unjoined"
    PREPARING_REBALANCE = "preparing rebalance"
    COMPLETING_REBALANCE = "completing rebalance"
    STABLE = "stable"


class Generation:
    """State and identity of the member. Nobody else changes them."""

    def __init__(self) -> None:
        self.state = ClassicMemberState.UNJOINED
        self.identity = Identity()

    @property
    def is_joined(self) -> bool:
        return self.state in (ClassicMemberState.COMPLETING_REBALANCE, ClassicMemberState.STABLE)

    @property
    def is_stable(self) -> bool:
        return self.state is ClassicMemberState.STABLE

    def start_join(self) -> None:
        self.state = ClassicMemberState.PREPARING_REBALANCE

    def accept_member_id(self, member_id: str) -> None:
        """Take the member id that the coordinator requires the next join to have."""
        self.identity = Identity(member_id)

    def join(self, member_id: str, generation_id: int, protocol_name: str) -> None:
        self.state = ClassicMemberState.COMPLETING_REBALANCE
        self.identity = Identity(member_id, generation_id, protocol_name)

    def complete(self) -> None:
        self.state = ClassicMemberState.STABLE

    def reset(self, *, forget_member_id: bool) -> None:
        self.state = ClassicMemberState.UNJOINED
        self.identity = Identity("" if forget_member_id else self.identity.member_id)


class RejoinTimer:
    """Subscription of the member, why it must join again, and the earliest time for it."""

    def __init__(self) -> None:
        #: Subscribed topics; None without a subscription.
        self.topics: tuple[str, ...] | None = None
        self.retry_at_ms = 0.0
        self._joined_topics: tuple[str, ...] | None = None
        self._reason: str | None = ""

    @property
    def is_requested(self) -> bool:
        return self._reason is not None

    @property
    def is_needed(self) -> bool:
        return self._reason is not None or self.topics != self._joined_topics

    def subscribe(self, topics: tuple[str, ...] | None) -> None:
        self.topics = topics

    def includes(self, topic: str) -> bool:
        return topic in (self.topics or ())

    def request(self, reason: str) -> None:
        self._reason = reason

    def delay_until(self, retry_at_ms: float) -> None:
        self.retry_at_ms = retry_at_ms

    def start(self) -> str:
        """Return the reason of a join that is sent now with the current subscription."""
        self._joined_topics = self.topics or ()
        return self._reason or "subscription has changed"

    def complete(self) -> None:
        self._reason = None
