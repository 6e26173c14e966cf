"""ShareGroupStatePartitionMetadataValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class TopicPartitionsInfo(Message):
    __slots__ = (
        "partitions",
        "topic_id",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicInfo(Message):
    __slots__ = (
        "topic_id",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.unknown_tagged_fields = unknown_tagged_fields


class ShareGroupStatePartitionMetadataValue(Message):
    __slots__ = (
        "deleting_topics",
        "initialized_topics",
        "initializing_topics",
    )

    API_KEY = 15
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ShareGroupStatePartitionMetadataValue coordinator-value module=group-coordinator key=15 versions=0 flexible=0+
  struct TopicPartitionsInfo
    TopicId uuid 0+
    TopicName string 0+
    Partitions []int32 0+
  struct TopicInfo
    TopicId uuid 0+
    TopicName string 0+
  InitializingTopics []TopicPartitionsInfo 0+
  InitializedTopics []TopicPartitionsInfo 0+
  DeletingTopics []TopicInfo 0+
"""

    def __init__(
        self,
        *,
        initializing_topics: list[TopicPartitionsInfo] = DEFAULT,
        initialized_topics: list[TopicPartitionsInfo] = DEFAULT,
        deleting_topics: list[TopicInfo] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.initializing_topics: list[TopicPartitionsInfo] = (
            [] if initializing_topics is DEFAULT else initializing_topics
        )
        self.initialized_topics: list[TopicPartitionsInfo] = [] if initialized_topics is DEFAULT else initialized_topics
        self.deleting_topics: list[TopicInfo] = [] if deleting_topics is DEFAULT else deleting_topics
        self.unknown_tagged_fields = unknown_tagged_fields
