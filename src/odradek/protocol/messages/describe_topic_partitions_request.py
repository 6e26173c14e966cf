"""DescribeTopicPartitionsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TopicRequest(Message):
    __slots__ = ("name",)

    def __init__(
        self,
        *,
        name: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.unknown_tagged_fields = unknown_tagged_fields


class Cursor(Message):
    __slots__ = (
        "partition_index",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partition_index: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeTopicPartitionsRequest(Message):
    __slots__ = (
        "cursor",
        "response_partition_limit",
        "topics",
    )

    API_KEY = 75
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeTopicPartitionsRequest request module=clients key=75 versions=0 flexible=0+
  Topics []TopicRequest 0+
    Name string 0+ entity=topicName
  ResponsePartitionLimit int32 0+ default=2000
  Cursor Cursor 0+ nullable=0+ default=null
    TopicName string 0+ entity=topicName
    PartitionIndex int32 0+
"""

    def __init__(
        self,
        *,
        topics: list[TopicRequest] = DEFAULT,
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[TopicRequest] = [] if topics is DEFAULT else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor
        self.unknown_tagged_fields = unknown_tagged_fields
