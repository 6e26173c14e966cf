"""DescribeShareGroupOffsetsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DescribeShareGroupOffsetsRequestTopic(Message):
    __slots__ = (
        "partitions",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeShareGroupOffsetsRequestGroup(Message):
    __slots__ = (
        "group_id",
        "topics",
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics: list[DescribeShareGroupOffsetsRequestTopic] | None = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeShareGroupOffsetsRequest(Message):
    __slots__ = ("groups",)

    API_KEY = 90
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeShareGroupOffsetsRequest request module=clients key=90 versions=0-1 flexible=0+
  Groups []DescribeShareGroupOffsetsRequestGroup 0+
    GroupId string 0+ entity=groupId
    Topics []DescribeShareGroupOffsetsRequestTopic 0+ nullable=0+
      TopicName string 0+ entity=topicName
      Partitions []int32 0+
"""

    def __init__(
        self,
        *,
        groups: list[DescribeShareGroupOffsetsRequestGroup] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.groups: list[DescribeShareGroupOffsetsRequestGroup] = [] if groups is DEFAULT else groups
        self.unknown_tagged_fields = unknown_tagged_fields
