"""ConsumerProtocolAssignment. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TopicPartition(Message):
    __slots__ = (
        "partitions",
        "topic",
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerProtocolAssignment(Message):
    __slots__ = (
        "assigned_partitions",
        "user_data",
    )

    VERSIONS = (0, 3)
    SCHEMA = """
ConsumerProtocolAssignment data module=clients versions=0-3 flexible=none
  AssignedPartitions []TopicPartition 0+
    Topic string 0+ key entity=topicName
    Partitions []int32 0+
  UserData bytes 0+ nullable=0+ default=null
"""

    def __init__(
        self,
        *,
        assigned_partitions: list[TopicPartition] = DEFAULT,
        user_data: bytes | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.assigned_partitions: list[TopicPartition] = [] if assigned_partitions is DEFAULT else assigned_partitions
        self.user_data = user_data
        self.unknown_tagged_fields = unknown_tagged_fields
