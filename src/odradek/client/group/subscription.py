"""Messages between members of a classic group and their leader (ConsumerProtocol). Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from odradek.client.types import TopicPartition
from odradek.protocol.messages import consumer_protocol_assignment as assignment_message
from odradek.protocol.messages import consumer_protocol_subscription as subscription_message
from odradek.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from odradek.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from odradek.protocol.version_prefixed import read_prefixed, write_prefixed

PROTOCOL_TYPE = "consumer"

NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    topics: tuple[str, ...]
    #: What the assignor wants its leader to know.
    user_data: bytes | None = None
    #: Since version 1: what the member has, and keeps until it is told otherwise (cooperative).
    owned_partitions: tuple[TopicPartition, ...] = ()
    #: Since version 2: of when `owned_partitions` is.
    generation_id: int = NO_GENERATION
    #: Since version 3.
    rack_id: str | None = None
    #: Told by the coordinator, not by the member.
    group_instance_id: str | None = None


def encode_subscription(subscription: MemberSubscription, version: int | None = None) -> bytes:
    return write_prefixed(
        ConsumerProtocolSubscription(
            topics=sorted(subscription.topics),
            user_data=subscription.user_data,
            owned_partitions=[
                subscription_message.TopicPartition(topic=topic, partitions=partition_indexes)
                for topic, partition_indexes in by_topic(sorted(subscription.owned_partitions)).items()
            ],
            generation_id=subscription.generation_id,
            rack_id=subscription.rack_id,
        ),
        version,
    )


def decode_subscription(data: bytes, group_instance_id: str | None = None) -> MemberSubscription:
    """Raises ProtocolError."""
    message = read_prefixed(ConsumerProtocolSubscription, data)
    return MemberSubscription(
        tuple(message.topics),
        message.user_data,
        tuple(
            TopicPartition(topic.topic, partition_index)
            for topic in message.owned_partitions
            for partition_index in topic.partitions
        ),
        message.generation_id,
        message.rack_id or None,
        group_instance_id,
    )


def encode_assignment(
    partitions: Iterable[TopicPartition], user_data: bytes | None = None, version: int | None = None
) -> bytes:
    topics = [
        assignment_message.TopicPartition(topic=topic, partitions=partition_indexes)
        for topic, partition_indexes in by_topic(partitions).items()
    ]
    return write_prefixed(ConsumerProtocolAssignment(assigned_partitions=topics, user_data=user_data), version)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """Raises ProtocolError."""
    message = read_prefixed(ConsumerProtocolAssignment, data)
    return [
        TopicPartition(topic.topic, partition_index)
        for topic in message.assigned_partitions
        for partition_index in topic.partitions
    ]


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    partitions_by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        partitions_by_topic.setdefault(topic, []).append(partition)
    return partitions_by_topic


#: For each topic its partitions by number, and for each of them the racks of its replicas, where they are known.
Topics = Mapping[str, Sequence[tuple[str, ...]]]
Members = Mapping[str, MemberSubscription]
Assignment = dict[str, list[TopicPartition]]


def subscribed_only(topics: Topics, members: Members) -> Topics:
    """Return the topics that any member subscribes to."""
    subscribed = frozenset(topic for member in members.values() for topic in member.topics)
    return {topic: partitions for topic, partitions in topics.items() if topic in subscribed}


def member_order(member_id: str, subscription: MemberSubscription) -> tuple[bool, str]:
    """Static members first and by their instance id: they keep their place when they come back with a new member id."""
    instance_id = subscription.group_instance_id
    return (True, member_id) if instance_id is None else (False, instance_id)


def uses_racks(member_racks: Iterable[str], partition_racks: Sequence[tuple[str, ...]]) -> bool:
    """Return whether racks matter: members and replicas share some, and not every partition is in all of them."""
    in_use = frozenset(rack for racks in partition_racks for rack in racks)
    if in_use.isdisjoint(member_racks):
        return False
    return any(frozenset(racks) != in_use for racks in partition_racks)
