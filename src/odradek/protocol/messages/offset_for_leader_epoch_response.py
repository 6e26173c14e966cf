"""OffsetForLeaderEpochResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class EpochEndOffset(Message):
    __slots__ = (
        "end_offset",
        "error_code",
        "leader_epoch",
        "partition",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetForLeaderTopicResult(Message):
    __slots__ = (
        "partitions",
        "topic",
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: list[EpochEndOffset] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions: list[EpochEndOffset] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetForLeaderEpochResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 23
    VERSIONS = (2, 4)
    FLEXIBLE_FROM = 4
    SCHEMA = """
OffsetForLeaderEpochResponse response module=clients key=23 versions=2-4 flexible=4+
  ThrottleTimeMs int32 2+ ignorable
  Topics []OffsetForLeaderTopicResult 0+
    Topic string 0+ key entity=topicName
    Partitions []EpochEndOffset 0+
      ErrorCode int16 0+
      Partition int32 0+
      LeaderEpoch int32 1+ default=-1 ignorable
      EndOffset int64 0+ default=-1
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderTopicResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetForLeaderTopicResult] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
