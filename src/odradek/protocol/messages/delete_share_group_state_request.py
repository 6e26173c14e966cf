"""DeleteShareGroupStateRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class PartitionData(Message):
    __slots__ = ("partition",)

    def __init__(
        self,
        *,
        partition: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition = partition
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteStateData(Message):
    __slots__ = (
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[PartitionData] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteShareGroupStateRequest(Message):
    __slots__ = (
        "group_id",
        "topics",
    )

    API_KEY = 86
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DeleteShareGroupStateRequest request module=clients key=86 versions=0 flexible=0+
  GroupId string 0+
  Topics []DeleteStateData 0+
    TopicId uuid 0+
    Partitions []PartitionData 0+
      Partition int32 0+
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[DeleteStateData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics: list[DeleteStateData] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
