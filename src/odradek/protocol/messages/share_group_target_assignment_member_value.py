"""ShareGroupTargetAssignmentMemberValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class TopicPartition(Message):
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


class ShareGroupTargetAssignmentMemberValue(Message):
    __slots__ = ("topic_partitions",)

    API_KEY = 13
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ShareGroupTargetAssignmentMemberValue coordinator-value module=group-coordinator key=13 versions=0 flexible=0+
  TopicPartitions []TopicPartition 0+
    TopicId uuid 0+
    Partitions []int32 0+
"""

    def __init__(
        self,
        *,
        topic_partitions: list[TopicPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_partitions: list[TopicPartition] = [] if topic_partitions is DEFAULT else topic_partitions
        self.unknown_tagged_fields = unknown_tagged_fields
