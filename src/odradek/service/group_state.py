"""State of a service in its group: joining it, waiting for partitions, or reading. Pure.

A service that was killed without a farewell is still a member of its group until its session expires, and until then
the one that is started in its place gets no partitions. With the classic protocol its join is answered only then. With
the consumer protocol it becomes a member at once, and the partitions follow when the session has expired. Either way
nothing is handled meanwhile, which is no fault, and no readiness either.

An instance may also have no partitions because the group has more members than partitions. With the classic protocol
an assignment without partitions says so. With the consumer protocol it cannot be told from the wait for another member,
so that it counts as idle after a whole session without partitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from odradek.client.types import TopicPartition


class GroupPhase(Enum):
    #: The group has not answered yet, or a rebalance is under way that took all partitions.
    JOINING = "joining"
    #: A member without partitions, while another member may still hold them.
    WAITING = "waiting"
    READING = "reading"
    #: A member without partitions: the group has more members than partitions.
    IDLE = "idle"


class GroupState:
    def __init__(self, group_id: str, protocol: str, session_timeout_ms: int, now_ms: int) -> None:
        self._group_id = group_id
        self._is_classic = protocol == "classic"
        self._session_timeout_ms = session_timeout_ms
        self._partitions: set[TopicPartition] = set()
        self._is_member = False
        self._since_ms = now_ms

    @property
    def partitions(self) -> int:
        return len(self._partitions)

    def assigned(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        self._partitions.update(partitions)
        if not self._is_member:
            self._is_member, self._since_ms = True, now_ms

    def taken_away(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        self._partitions.difference_update(partitions)
        if not self._partitions:
            # The classic protocol is joined anew; in the other one the next assignment comes by itself.
            self._is_member, self._since_ms = not self._is_classic, now_ms

    def phase(self, now_ms: int) -> GroupPhase:
        if self._partitions:
            return GroupPhase.READING
        if not self._is_member:
            return GroupPhase.JOINING
        may_follow = not self._is_classic and now_ms - self._since_ms < self._session_timeout_ms
        return GroupPhase.WAITING if may_follow else GroupPhase.IDLE

    def waiting_ms(self, now_ms: int) -> int:
        """Return for how long it has been joining, or waiting for partitions."""
        return 0 if self._partitions else now_ms - self._since_ms

    def text(self, now_ms: int) -> str:
        """One line for people."""
        phase, seconds = self.phase(now_ms), self.waiting_ms(now_ms) // 1000
        session = f"until its session expires, up to {self._session_timeout_ms / 1000:g} s"
        if phase is GroupPhase.JOINING:
            return (
                f"joining group {self._group_id} for {seconds} s: waiting for its other members; "
                f"a member that died without leaving is waited for {session}"
            )
        if phase is GroupPhase.WAITING:
            return (
                f"waiting for partitions in group {self._group_id} for {seconds} s: other members have them; "
                f"a member that died without leaving keeps them {session}"
            )
        if phase is GroupPhase.IDLE:
            return f"idle: group {self._group_id} has more members than partitions"
        return f"reading {len(self._partitions)} partitions"
