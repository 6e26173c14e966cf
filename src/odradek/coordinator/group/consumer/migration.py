"""Groups that change their protocol while they have members, one member at a time.

**Upgrade.** The first member that speaks the consumer protocol turns a classic group into a consumer group. Everybody
keeps what was assigned to it, and the generation becomes the epoch of the group and of all members; those who speak the
classic protocol go on in it (see `classic`). **Downgrade.** When the last member that speaks the consumer
protocol goes, those who are left become a classic group, with the group's epoch as generation and the targets as
assignments, and begin with a rebalance.

`group.consumer.migration.policy` says which of these is allowed; a group without members becomes of either kind freely.
"""

import logging
from collections.abc import Container

from odradek.common.failures import ApiError, ProtocolError
from odradek.coordinator.group.classic.classic_group import ClassicGroup, ClassicState, join_error
from odradek.coordinator.group.classic.classic_member import EMPTY_ASSIGNMENT, ClassicMember
from odradek.coordinator.group.consumer.assignors import Assignment
from odradek.coordinator.group.consumer.draft import Draft
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.member import ClassicSide, ConsumerMember
from odradek.coordinator.group.consumer.protocol import (
    PROTOCOL_TYPE,
    read_assignment,
    read_subscription,
    write_assignment,
)
from odradek.coordinator.group.consumer.records import (
    current_assignment_record,
    epoch_record,
    member_record,
    target_epoch_record,
    target_record,
)
from odradek.coordinator.group.consumer.topics import names_wanted
from odradek.coordinator.group.settings import GroupSettings
from odradek.coordinator.group.topic_hash import group_hash
from odradek.coordinator.group.values import refusal
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.sync_group_response import SyncGroupResponse

_log = logging.getLogger("odradek.groups")


def upgraded(group: ClassicGroup, settings: GroupSettings, image: MetadataImage) -> Draft:
    """The classic group as a consumer group. Raises ApiError, GROUP_ID_NOT_FOUND, where it has to stay what it is."""
    _check_upgrade(group, settings)
    members = [_consumer_member(group, member, image) for member in group.members.values()]
    for waiting in group.members.values():
        group.complete_join(waiting, join_error(waiting.member_id, ErrorCode.REBALANCE_IN_PROGRESS))
        group.complete_sync(waiting, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    draft = Draft(ConsumerGroup(group.group_id), group.tombstones())
    group_id, epoch = group.group_id, group.generation
    draft.write(*(member_record(group_id, member) for member in members))
    draft.write(epoch_record(group_id, epoch, group_hash(image, names_wanted(draft.group, members))))
    draft.write(*(target_record(group_id, member.member_id, _partitions(member)) for member in members))
    draft.write(target_epoch_record(group_id, epoch, 0))
    draft.write(*(current_assignment_record(group_id, member) for member in members))
    _log.info("group %s: a consumer group now, at epoch %d with %d classic members", group_id, epoch, len(members))
    return draft


def may_downgrade(group: ConsumerGroup, leaving: Container[str], settings: GroupSettings) -> bool:
    """Return whether all remaining members use the classic protocol and the group may become a classic one."""
    staying = [member for member in group.members.values() if member.member_id not in leaving]
    if not staying or any(member.classic is None for member in staying):
        return False
    if not settings.consumer.migration_policy.may_downgrade:
        _log.info("group %s stays a consumer group: group.consumer.migration.policy", group.group_id)
        return False
    if len(staying) > settings.max_size:
        _log.info("group %s stays a consumer group: group.max.size is %d", group.group_id, settings.max_size)
        return False
    return True


def downgraded(group: ConsumerGroup, leaving: Container[str], image: MetadataImage, wall_ms: int) -> ClassicGroup:
    """Return the remaining members as a classic group."""
    classic = ClassicGroup(
        group.group_id, ClassicState.STABLE, wall_ms, generation=group.epoch, protocol_type=PROTOCOL_TYPE
    )
    for member in group.members.values():
        if member.member_id not in leaving and member.classic is not None:
            classic.add(_classic_member(member, member.classic))
    classic.protocol_name = classic.select_protocol()
    classic.update_subscribed_topics()
    for classic_member in classic.members.values():
        metadata = classic_member.metadata(classic.protocol_name)
        classic_member.assignment = write_assignment(group.target_of(classic_member.member_id), image, metadata)
    _log.info("group %s: a classic group now, at generation %d", group.group_id, classic.generation)
    return classic


def _check_upgrade(group: ClassicGroup, settings: GroupSettings) -> None:
    if not settings.consumer.migration_policy.may_upgrade:
        raise _cannot_upgrade(group, "online upgrade is disabled")
    if not group.uses_consumer_protocol:
        raise _cannot_upgrade(group, "the group does not use the consumer embedded protocol")
    if len(group.members) > settings.consumer.max_size:
        raise _cannot_upgrade(group, "the group size exceeds the consumer group maximum size")


def _consumer_member(group: ClassicGroup, member: ClassicMember, image: MetadataImage) -> ConsumerMember:
    try:
        # Before its first generation a group has not chosen a protocol; they all say the same of topics.
        protocol_name = group.protocol_name
        metadata = member.protocols[0].metadata if protocol_name is None else member.metadata(protocol_name)
        subscription = read_subscription(metadata)
        assigned = _assigned(group, member, image)
    except ProtocolError as error:
        raise _cannot_upgrade(group, "the embedded consumer protocol is malformed") from error
    return ConsumerMember(
        member.member_id,
        member_epoch=group.generation,
        previous_epoch=group.generation,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topic_names=tuple(sorted(subscription.topics)),
        assigned={each: dict.fromkeys(numbers, group.generation) for each, numbers in assigned.items()},
        classic=ClassicSide(member.session_timeout_ms, member.protocols),
    )


def _assigned(group: ClassicGroup, member: ClassicMember, image: MetadataImage) -> Assignment:
    """Nothing before its first sync."""
    if member.assignment == EMPTY_ASSIGNMENT:
        return {}
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        raise _cannot_upgrade(
            group,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
            "assignor before re-attempting the upgrade",
        )
    topics = image.topics.by_name
    return {
        topics[topic.topic].id: tuple(sorted(topic.partitions))
        for topic in assignment.assigned_partitions
        if topic.topic in topics
    }


def _classic_member(member: ConsumerMember, side: ClassicSide) -> ClassicMember:
    return ClassicMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        side.session_timeout_ms,
        PROTOCOL_TYPE,
        side.protocols,
    )


def _partitions(member: ConsumerMember) -> Assignment:
    return {topic_id: tuple(numbers) for topic_id, numbers in member.assigned.items()}


def _cannot_upgrade(group: ClassicGroup, reason: str) -> ApiError:
    _log.info("group %s stays a classic group: %s", group.group_id, reason)
    return refusal(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}.",
    )
