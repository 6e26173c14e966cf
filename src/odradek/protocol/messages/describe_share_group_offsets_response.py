"""DescribeShareGroupOffsetsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class DescribeShareGroupOffsetsResponsePartition(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "lag",
        "leader_epoch",
        "partition_index",
        "start_offset",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeShareGroupOffsetsResponseTopic(Message):
    __slots__ = (
        "partitions",
        "topic_id",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions: list[DescribeShareGroupOffsetsResponsePartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeShareGroupOffsetsResponseGroup(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "topics",
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsResponseTopic] = DEFAULT,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics: list[DescribeShareGroupOffsetsResponseTopic] = [] if topics is DEFAULT else topics
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeShareGroupOffsetsResponse(Message):
    __slots__ = (
        "groups",
        "throttle_time_ms",
    )

    API_KEY = 90
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeShareGroupOffsetsResponse response module=clients key=90 versions=0-1 flexible=0+
  ThrottleTimeMs int32 0+
  Groups []DescribeShareGroupOffsetsResponseGroup 0+
    GroupId string 0+ entity=groupId
    Topics []DescribeShareGroupOffsetsResponseTopic 0+
      TopicName string 0+ entity=topicName
      TopicId uuid 0+
      Partitions []DescribeShareGroupOffsetsResponsePartition 0+
        PartitionIndex int32 0+
        StartOffset int64 0+
        LeaderEpoch int32 0+
        Lag int64 1+ default=-1 ignorable
        ErrorCode int16 0+
        ErrorMessage string 0+ nullable=0+ default=null
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+ default=null
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: list[DescribeShareGroupOffsetsResponseGroup] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[DescribeShareGroupOffsetsResponseGroup] = [] if groups is DEFAULT else groups
        self.unknown_tagged_fields = unknown_tagged_fields
