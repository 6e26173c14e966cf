"""ConsumerGroupCurrentMemberAssignmentValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class TopicPartitions(Message):
    __slots__ = (
        "assignment_epochs",
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = DEFAULT,
        assignment_epochs: list[int] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.assignment_epochs: list[int] | None = [] if assignment_epochs is DEFAULT else assignment_epochs
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    __slots__ = (
        "assigned_partitions",
        "member_epoch",
        "partitions_pending_revocation",
        "previous_member_epoch",
        "state",
    )

    API_KEY = 8
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ConsumerGroupCurrentMemberAssignmentValue coordinator-value module=group-coordinator key=8 versions=0 flexible=0+
  struct TopicPartitions
    TopicId uuid 0+
    Partitions []int32 0+
    AssignmentEpochs []int32 0+ nullable=0+ tag=0
  MemberEpoch int32 0+
  PreviousMemberEpoch int32 0+
  State int8 0+
  AssignedPartitions []TopicPartitions 0+
  PartitionsPendingRevocation []TopicPartitions 0+
"""

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[TopicPartitions] = DEFAULT,
        partitions_pending_revocation: list[TopicPartitions] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions: list[TopicPartitions] = [] if assigned_partitions is DEFAULT else assigned_partitions
        self.partitions_pending_revocation: list[TopicPartitions] = (
            [] if partitions_pending_revocation is DEFAULT else partitions_pending_revocation
        )
        self.unknown_tagged_fields = unknown_tagged_fields
