"""The records of consumer groups (KIP-848), as Kafka writes them, and what they say."""

from collections.abc import Iterable

from odradek.coordinator.group.classic.classic_member import MemberProtocol
from odradek.coordinator.group.consumer.assignors import Assignment
from odradek.coordinator.group.consumer.member import ClassicSide, ConsumerMember, MemberState, Owned
from odradek.coordinator.runtime.shard import CoordinatorRecord
from odradek.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from odradek.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from odradek.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from odradek.protocol.messages.consumer_group_member_metadata_value import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataValue,
)
from odradek.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from odradek.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from odradek.protocol.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from odradek.protocol.messages.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from odradek.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from odradek.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from odradek.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), value)


def member_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=_classic_metadata(member.classic),
    )
    return CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value)


def current_assignment_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_topic_partitions(member.assigned),
        partitions_pending_revocation=_topic_partitions(member.revoking),
    )
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value)


def target_record(group_id: str, member_id: str, assignment: Assignment) -> CoordinatorRecord:
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TopicPartition(topic_id=topic_id, partitions=list(numbers)) for topic_id, numbers in assignment.items()
        ]
    )
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def target_epoch_record(group_id: str, epoch: int, wall_ms: int) -> CoordinatorRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=wall_ms)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """In Kafka's order: what it has, what it was to have, itself."""
    return [
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)),
    ]


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex))


def group_tombstones(group_id: str, member_ids: Iterable[str], regexes: Iterable[str]) -> list[CoordinatorRecord]:
    ids = list(member_ids)
    current, target, own = ([member_tombstones(group_id, member_id)[place] for member_id in ids] for place in range(3))
    return [
        *current,
        *target,
        CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)),
        *own,
        *(regex_tombstone(group_id, regex) for regex in regexes),
        CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id)),
    ]


def assignment_of(value: ConsumerGroupTargetAssignmentMemberValue) -> Assignment:
    return {topic.topic_id: tuple(sorted(topic.partitions)) for topic in value.topic_partitions}


def with_metadata(value: ConsumerGroupMemberMetadataValue) -> dict[str, object]:
    """Return the member with the metadata of the record."""
    return {
        "instance_id": value.instance_id,
        "rack_id": value.rack_id,
        "client_id": value.client_id,
        "client_host": value.client_host,
        "topic_names": tuple(sorted(value.subscribed_topic_names)),
        "topic_regex": value.subscribed_topic_regex,
        "rebalance_timeout_ms": value.rebalance_timeout_ms,
        "assignor": value.server_assignor,
        "classic": _classic_side(value.classic_member_metadata),
    }


def with_current(value: ConsumerGroupCurrentMemberAssignmentValue) -> dict[str, object]:
    is_known_state = value.state in MemberState.__members__.values()
    return {
        "member_epoch": value.member_epoch,
        "previous_epoch": value.previous_member_epoch,
        "state": MemberState(value.state) if is_known_state else MemberState.UNKNOWN,
        "assigned": _owned(value.assigned_partitions, value.member_epoch),
        "revoking": _owned(value.partitions_pending_revocation, value.member_epoch),
    }


def _classic_metadata(classic: ClassicSide | None) -> ClassicMemberMetadata | None:
    """None has to be said: what is left out reads as a classic member without protocols, in Kafka's generated code."""
    if classic is None:
        return None
    protocols = [ClassicProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in classic.protocols]
    return ClassicMemberMetadata(session_timeout_ms=classic.session_timeout_ms, supported_protocols=protocols)


def _classic_side(metadata: ClassicMemberMetadata | None) -> ClassicSide | None:
    if metadata is None or not metadata.supported_protocols:
        return None
    protocols = tuple(
        MemberProtocol(protocol.name, bytes(protocol.metadata)) for protocol in metadata.supported_protocols
    )
    return ClassicSide(metadata.session_timeout_ms, protocols)


def _topic_partitions(owned: Owned) -> list[TopicPartitions]:
    return [
        TopicPartitions(
            topic_id=topic_id, partitions=list(numbers), assignment_epochs=[numbers[number] for number in numbers]
        )
        for topic_id, numbers in owned.items()
    ]


def _owned(topics: Iterable[TopicPartitions], member_epoch: int) -> Owned:
    """Coordinators of older versions wrote no epochs: a partition was then assigned in the member's epoch or before."""
    return {
        topic.topic_id: dict(
            zip(topic.partitions, topic.assignment_epochs or [member_epoch] * len(topic.partitions), strict=False)
        )
        for topic in topics
    }
