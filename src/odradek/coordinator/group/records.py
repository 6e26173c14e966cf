"""The records of groups and offsets, in the versions that Kafka chooses."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.coordinator.group.values import CommittedOffset
from odradek.coordinator.runtime.shard import CoordinatorRecord
from odradek.protocol.messages.group_metadata_key import GroupMetadataKey
from odradek.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from odradek.protocol.messages.offset_commit_key import OffsetCommitKey
from odradek.protocol.messages.offset_commit_value import OffsetCommitValue

if TYPE_CHECKING:
    from odradek.coordinator.group.classic.classic_group import ClassicGroup

_GROUP_METADATA_VERSION = 3
_OFFSET_COMMIT_VERSION = 4
#: The only one that can say when an offset expires.
_OFFSET_COMMIT_EXPIRING_VERSION = 1


def group_metadata_record(group: "ClassicGroup", assignments: Mapping[str, bytes]) -> CoordinatorRecord:
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=-1 if group.state_timestamp_ms is None else group.state_timestamp_ms,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=assignments[member.member_id],
            )
            for member in group.members.values()
        ],
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, _GROUP_METADATA_VERSION)


def empty_group_metadata_record(group: "ClassicGroup") -> CoordinatorRecord:
    """Build the record of a new group."""
    value = GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=-1 if group.state_timestamp_ms is None else group.state_timestamp_ms,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, _GROUP_METADATA_VERSION)


def group_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=group_id))


def offset_commit_record(group_id: str, topic: str, partition: int, committed: CommittedOffset) -> CoordinatorRecord:
    expires = committed.expire_timestamp_ms
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        expire_timestamp=-1 if expires is None else expires,
        topic_id=committed.topic_id,
    )
    version = _OFFSET_COMMIT_VERSION if expires is None else _OFFSET_COMMIT_EXPIRING_VERSION
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), value, version)


def offset_commit_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition))
