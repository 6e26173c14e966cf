"""The groups of a shard, and what all operations on them have at hand."""

import logging
from dataclasses import dataclass, field

from odradek.coordinator.group.classic.classic_group import ClassicGroup, ClassicState
from odradek.coordinator.group.classic.classic_member import ClassicMember, MemberProtocol
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.replay import replay_consumer_record
from odradek.coordinator.group.group import Group
from odradek.coordinator.group.settings import GroupSettings
from odradek.coordinator.group.values import group_not_found
from odradek.coordinator.runtime.shard import CoordinatorRecord, ShardContext
from odradek.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from odradek.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata

_log = logging.getLogger("odradek.groups")


@dataclass(frozen=True, slots=True)
class GroupStore:
    context: ShardContext
    settings: GroupSettings
    groups: dict[str, Group] = field(default_factory=dict)

    def group(self, group_id: str) -> Group:
        """Raises ApiError, GROUP_ID_NOT_FOUND."""
        group = self.groups.get(group_id)
        if group is None:
            raise group_not_found(group_id)
        return group

    def classic_group(self, group_id: str) -> ClassicGroup | None:
        """None also for a group of another kind."""
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def create_classic_group(self, group_id: str) -> ClassicGroup:
        group = ClassicGroup(group_id, ClassicState.EMPTY, self.context.clock.wall_ms())
        self.groups[group_id] = group
        return group

    def replay_group_metadata(self, group_id: str, value: GroupMetadataValue | None) -> None:
        if value is None:
            self.groups.pop(group_id, None)
            return
        timestamp_ms = value.current_state_timestamp
        group = ClassicGroup(
            group_id,
            ClassicState.STABLE if value.members else ClassicState.EMPTY,
            None if timestamp_ms == -1 else timestamp_ms,
            generation=value.generation,
            protocol_type=value.protocol_type or None,
            protocol_name=value.protocol,
            leader_id=value.leader,
        )
        for member in value.members:
            group.add(_loaded_member(member, value))
        group.update_subscribed_topics()
        self.groups[group_id] = group

    def replay_consumer_record(self, record: CoordinatorRecord) -> None:
        """A simple group, of which there were only offsets, becomes a consumer group with the first record of one."""
        group_id: str = record.key.group_id  # type: ignore[attr-defined]
        group = self.groups.get(group_id)
        if isinstance(record.key, ConsumerGroupMetadataKey) and record.value is None:
            if isinstance(group, ConsumerGroup):
                del self.groups[group_id]
            return
        if not isinstance(group, ConsumerGroup):
            if record.value is None:
                return
            group = self.groups[group_id] = ConsumerGroup(group_id)
        replay_consumer_record(group, record)


def _loaded_member(member: MemberMetadata, value: GroupMetadataValue) -> ClassicMember:
    """Return the member as it was written: the log has only the selected one of its protocols."""
    has_no_rebalance_timeout = member.rebalance_timeout == -1  # written before there was one
    return ClassicMember(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        member.session_timeout if has_no_rebalance_timeout else member.rebalance_timeout,
        member.session_timeout,
        value.protocol_type,
        (MemberProtocol(value.protocol or "", bytes(member.subscription)),),
        bytes(member.assignment),
    )
