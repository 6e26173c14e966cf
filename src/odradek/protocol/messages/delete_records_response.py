"""DeleteRecordsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DeleteRecordsPartitionResult(Message):
    __slots__ = (
        "error_code",
        "low_watermark",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteRecordsTopicResult(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[DeleteRecordsPartitionResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[DeleteRecordsPartitionResult] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteRecordsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 21
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DeleteRecordsResponse response module=clients key=21 versions=0-2 flexible=2+
  ThrottleTimeMs int32 0+
  Topics []DeleteRecordsTopicResult 0+
    Name string 0+ key entity=topicName
    Partitions []DeleteRecordsPartitionResult 0+
      PartitionIndex int32 0+ key
      LowWatermark int64 0+
      ErrorCode int16 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsTopicResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[DeleteRecordsTopicResult] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
