"""The one request of a member of the consumer protocol (KIP-848): what it says, and what it need not say again. Pure.

A coordinator remembers what a member has told it. Everything is said when joining and after an error, since it is not
known then what got through; otherwise only what has changed. The partitions are said again after each reconciliation,
even if they are the same: that is the acknowledgement.

What a member does not name it is taken not to have, and others may get it. Therefore it names, beside what it has, what
it was told to have, now or when its application began to take it: it may come to have it before it hears the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek.client.group.core import MemberConfig
from odradek.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
#: Of a static member, which means to come back: nobody else gets its partitions until its session is over.
STATIC_LEAVE_EPOCH = -2


@dataclass(frozen=True, slots=True)
class LocalAssignment:
    """Partitions by topic id. `number` tells one that came again from one that was there before."""

    number: int = -1
    partitions: Mapping[bytes, tuple[int, ...]] | None = None

    @property
    def is_none(self) -> bool:
        return self.partitions is None

    def by_topic(self) -> Mapping[bytes, tuple[int, ...]]:
        return self.partitions or {}


NO_ASSIGNMENT = LocalAssignment()


@dataclass(frozen=True, slots=True)
class HeartbeatFields:
    """Fields of a heartbeat, which are sent when they change."""

    topics: tuple[str, ...]
    pattern: str | None
    #: What the member has.
    current: LocalAssignment
    #: What it is to have.
    target: LocalAssignment
    #: What its application is about to have.
    taking: LocalAssignment = NO_ASSIGNMENT

    def partitions(self) -> dict[bytes, list[int]]:
        named: dict[bytes, list[int]] = {}
        for assignment in (self.current, self.target, self.taking):
            for topic_id, partition_indexes in assignment.by_topic().items():
                named[topic_id] = sorted({*named.get(topic_id, ()), *partition_indexes})
        return named


class Heartbeats:
    def __init__(self, config: MemberConfig, member_id: str) -> None:
        self._config = config
        self._member_id = member_id
        self._last_sent: HeartbeatFields | None = None

    def forget(self) -> None:
        """It is not known what the coordinator knows."""
        self._last_sent = None

    def has_news(self, fields: HeartbeatFields) -> bool:
        last_sent = self._last_sent
        return last_sent is None or last_sent.topics != fields.topics or last_sent.pattern != fields.pattern

    def make(self, epoch: int, fields: HeartbeatFields, *, is_joining: bool) -> ConsumerGroupHeartbeatRequest:
        last_sent = None if is_joining else self._last_sent
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._config.group_id,
            member_id=self._member_id,
            member_epoch=epoch,
            instance_id=self._config.group_instance_id,
        )
        if is_joining:
            request.rack_id = self._config.rack_id
        if last_sent is None:
            request.rebalance_timeout_ms = self._config.max_poll_interval_ms
            request.server_assignor = self._config.server_assignor
        if last_sent is None or last_sent.topics != fields.topics:
            request.subscribed_topic_names = list(fields.topics)
        if fields.pattern is not None if last_sent is None else last_sent.pattern != fields.pattern:
            request.subscribed_topic_regex = fields.pattern or ""
        if last_sent is None or last_sent.current != fields.current:
            request.topic_partitions = [
                TopicPartitions(topic_id=topic_id, partitions=partition_indexes)
                for topic_id, partition_indexes in fields.partitions().items()
            ]
        self._last_sent = fields
        return request
