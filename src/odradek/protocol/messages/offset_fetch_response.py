"""OffsetFetchResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class OffsetFetchResponsePartition(Message):
    __slots__ = (
        "committed_leader_epoch",
        "committed_offset",
        "error_code",
        "metadata",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchResponseTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[OffsetFetchResponsePartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchResponsePartitions(Message):
    __slots__ = (
        "committed_leader_epoch",
        "committed_offset",
        "error_code",
        "metadata",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchResponseTopics(Message):
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
        partitions: list[OffsetFetchResponsePartitions] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[OffsetFetchResponsePartitions] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchResponseGroup(Message):
    __slots__ = (
        "error_code",
        "group_id",
        "topics",
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[OffsetFetchResponseTopics] = DEFAULT,
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics: list[OffsetFetchResponseTopics] = [] if topics is DEFAULT else topics
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchResponse(Message):
    __slots__ = (
        "error_code",
        "groups",
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 9
    VERSIONS = (1, 10)
    FLEXIBLE_FROM = 6
    SCHEMA = """
OffsetFetchResponse response module=clients key=9 versions=1-10 flexible=6+
  ThrottleTimeMs int32 3+ ignorable
  Topics []OffsetFetchResponseTopic 0-7
    Name string 0-7 entity=topicName
    Partitions []OffsetFetchResponsePartition 0-7
      PartitionIndex int32 0-7
      CommittedOffset int64 0-7
      CommittedLeaderEpoch int32 5-7 default=-1 ignorable
      Metadata string 0-7 nullable=0-7
      ErrorCode int16 0-7
  ErrorCode int16 2-7 ignorable
  Groups []OffsetFetchResponseGroup 8+
    GroupId string 8+ entity=groupId
    Topics []OffsetFetchResponseTopics 8+
      Name string 8-9 ignorable entity=topicName
      TopicId uuid 10+ ignorable
      Partitions []OffsetFetchResponsePartitions 8+
        PartitionIndex int32 8+
        CommittedOffset int64 8+
        CommittedLeaderEpoch int32 8+ default=-1 ignorable
        Metadata string 8+ nullable=8+
        ErrorCode int16 8+
    ErrorCode int16 8+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = DEFAULT,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetFetchResponseTopic] = [] if topics is DEFAULT else topics
        self.error_code = error_code
        self.groups: list[OffsetFetchResponseGroup] = [] if groups is DEFAULT else groups
        self.unknown_tagged_fields = unknown_tagged_fields
