"""Records of consumer groups find their way to the group."""

from collections.abc import Callable
from typing import Any

from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.runtime.shard import CoordinatorRecord
from odradek.protocol.message import Message
from odradek.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from odradek.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from odradek.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from odradek.protocol.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from odradek.protocol.messages.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from odradek.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)


def _replay_epoch(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is not None:
        group.replay_epoch(value)


#: By the kind of key; a tombstone of `ConsumerGroupMetadataKey` ends the group itself.
CONSUMER_REPLAYS: dict[type[Message], Callable[[ConsumerGroup, Any, Any], None]] = {
    ConsumerGroupMetadataKey: _replay_epoch,
    ConsumerGroupMemberMetadataKey: lambda group, key, value: group.replay_member(key.member_id, value),
    ConsumerGroupCurrentMemberAssignmentKey: lambda group, key, value: group.replay_current(key.member_id, value),
    ConsumerGroupTargetAssignmentMemberKey: lambda group, key, value: group.replay_target(key.member_id, value),
    ConsumerGroupTargetAssignmentMetadataKey: lambda group, key, value: group.replay_target_epoch(value),
    ConsumerGroupRegularExpressionKey: lambda group, key, value: group.replay_regex(key.regular_expression, value),
}


def replay_consumer_record(group: ConsumerGroup, record: CoordinatorRecord) -> None:
    replay = CONSUMER_REPLAYS.get(type(record.key))
    if replay is not None:
        replay(group, record.key, record.value)
