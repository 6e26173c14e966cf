"""ListOffsetsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ListOffsetsPartitionResponse(Message):
    __slots__ = (
        "error_code",
        "leader_epoch",
        "offset",
        "partition_index",
        "timestamp",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class ListOffsetsTopicResponse(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[ListOffsetsPartitionResponse] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[ListOffsetsPartitionResponse] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ListOffsetsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 2
    VERSIONS = (1, 11)
    FLEXIBLE_FROM = 6
    SCHEMA = """
ListOffsetsResponse response module=clients key=2 versions=1-11 flexible=6+
  ThrottleTimeMs int32 2+ ignorable
  Topics []ListOffsetsTopicResponse 0+
    Name string 0+ entity=topicName
    Partitions []ListOffsetsPartitionResponse 0+
      PartitionIndex int32 0+
      ErrorCode int16 0+
      Timestamp int64 1+ default=-1
      Offset int64 1+ default=-1
      LeaderEpoch int32 4+ default=-1
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsTopicResponse] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[ListOffsetsTopicResponse] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
