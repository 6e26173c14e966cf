"""ShareGroupCurrentMemberAssignmentValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class TopicPartitions(Message):
    __slots__ = (
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ShareGroupCurrentMemberAssignmentValue(Message):
    __slots__ = (
        "assigned_partitions",
        "member_epoch",
        "previous_member_epoch",
        "state",
    )

    API_KEY = 14
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ShareGroupCurrentMemberAssignmentValue coordinator-value module=group-coordinator key=14 versions=0 flexible=0+
  struct TopicPartitions
    TopicId uuid 0+
    Partitions []int32 0+
  MemberEpoch int32 0+
  PreviousMemberEpoch int32 0+
  State int8 0+
  AssignedPartitions []TopicPartitions 0+
"""

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[TopicPartitions] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions: list[TopicPartitions] = [] if assigned_partitions is DEFAULT else assigned_partitions
        self.unknown_tagged_fields = unknown_tagged_fields
