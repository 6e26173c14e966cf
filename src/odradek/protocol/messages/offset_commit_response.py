"""OffsetCommitResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class OffsetCommitResponsePartition(Message):
    __slots__ = (
        "error_code",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetCommitResponseTopic(Message):
    __slots__ = (
        "name",
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[OffsetCommitResponsePartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[OffsetCommitResponsePartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetCommitResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 8
    VERSIONS = (2, 10)
    FLEXIBLE_FROM = 8
    SCHEMA = """
OffsetCommitResponse response module=clients key=8 versions=2-10 flexible=8+
  ThrottleTimeMs int32 3+ ignorable
  Topics []OffsetCommitResponseTopic 0+
    Name string 0-9 ignorable entity=topicName
    TopicId uuid 10+ ignorable
    Partitions []OffsetCommitResponsePartition 0+
      PartitionIndex int32 0+
      ErrorCode int16 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponseTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetCommitResponseTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
