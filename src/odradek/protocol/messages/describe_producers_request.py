"""DescribeProducersRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TopicRequest(Message):
    __slots__ = (
        "name",
        "partition_indexes",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partition_indexes: list[int] = [] if partition_indexes is DEFAULT else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeProducersRequest(Message):
    __slots__ = ("topics",)

    API_KEY = 61
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeProducersRequest request module=clients key=61 versions=0 flexible=0+
  Topics []TopicRequest 0+
    Name string 0+ key entity=topicName
    PartitionIndexes []int32 0+
"""

    def __init__(
        self,
        *,
        topics: list[TopicRequest] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[TopicRequest] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
