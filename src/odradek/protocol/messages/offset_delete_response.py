"""OffsetDeleteResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class OffsetDeleteResponsePartition(Message):
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


class OffsetDeleteResponseTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[OffsetDeleteResponsePartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[OffsetDeleteResponsePartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetDeleteResponse(Message):
    __slots__ = (
        "error_code",
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 47
    VERSIONS = (0, 0)
    SCHEMA = """
OffsetDeleteResponse response module=clients key=47 versions=0 flexible=none
  ErrorCode int16 0+
  ThrottleTimeMs int32 0+ ignorable
  Topics []OffsetDeleteResponseTopic 0+
    Name string 0+ key entity=topicName
    Partitions []OffsetDeleteResponsePartition 0+
      PartitionIndex int32 0+ key
      ErrorCode int16 0+
"""

    def __init__(
        self,
        *,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetDeleteResponseTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
