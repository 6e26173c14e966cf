"""DescribeLogDirsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DescribableLogDirTopic(Message):
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


class DescribeLogDirsRequest(Message):
    __slots__ = ("topics",)

    API_KEY = 35
    VERSIONS = (1, 5)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DescribeLogDirsRequest request module=clients key=35 versions=1-5 flexible=2+
  Topics []DescribableLogDirTopic 0+ nullable=0+
    Topic string 0+ key entity=topicName
    Partitions []int32 0+
"""

    def __init__(
        self,
        *,
        topics: list[DescribableLogDirTopic] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[DescribableLogDirTopic] | None = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
