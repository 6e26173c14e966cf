"""TxnOffsetCommitResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class TxnOffsetCommitResponsePartition(Message):
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


class TxnOffsetCommitResponseTopic(Message):
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
        partitions: list[TxnOffsetCommitResponsePartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[TxnOffsetCommitResponsePartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class TxnOffsetCommitResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 28
    VERSIONS = (0, 6)
    FLEXIBLE_FROM = 3
    SCHEMA = """
TxnOffsetCommitResponse response module=clients key=28 versions=0-6 flexible=3+
  ThrottleTimeMs int32 0+
  Topics []TxnOffsetCommitResponseTopic 0+
    Name string 0-5 ignorable entity=topicName
    TopicId uuid 6+ ignorable
    Partitions []TxnOffsetCommitResponsePartition 0+
      PartitionIndex int32 0+
      ErrorCode int16 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[TxnOffsetCommitResponseTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[TxnOffsetCommitResponseTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
