"""AlterShareGroupOffsetsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AlterShareGroupOffsetsRequestPartition(Message):
    __slots__ = (
        "partition_index",
        "start_offset",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        start_offset: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterShareGroupOffsetsRequestTopic(Message):
    __slots__ = (
        "partitions",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: list[AlterShareGroupOffsetsRequestPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[AlterShareGroupOffsetsRequestPartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterShareGroupOffsetsRequest(Message):
    __slots__ = (
        "group_id",
        "topics",
    )

    API_KEY = 91
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AlterShareGroupOffsetsRequest request module=clients key=91 versions=0 flexible=0+
  GroupId string 0+ entity=groupId
  Topics []AlterShareGroupOffsetsRequestTopic 0+
    TopicName string 0+ key entity=topicName
    Partitions []AlterShareGroupOffsetsRequestPartition 0+
      PartitionIndex int32 0+
      StartOffset int64 0+
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[AlterShareGroupOffsetsRequestTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics: list[AlterShareGroupOffsetsRequestTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
