"""OffsetDeleteRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class OffsetDeleteRequestPartition(Message):
    __slots__ = ("partition_index",)

    def __init__(
        self,
        *,
        partition_index: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetDeleteRequestTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[OffsetDeleteRequestPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[OffsetDeleteRequestPartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetDeleteRequest(Message):
    __slots__ = (
        "group_id",
        "topics",
    )

    API_KEY = 47
    VERSIONS = (0, 0)
    SCHEMA = """
OffsetDeleteRequest request module=clients key=47 versions=0 flexible=none
  GroupId string 0+ entity=groupId
  Topics []OffsetDeleteRequestTopic 0+
    Name string 0+ key entity=topicName
    Partitions []OffsetDeleteRequestPartition 0+
      PartitionIndex int32 0+
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[OffsetDeleteRequestTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics: list[OffsetDeleteRequestTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
