"""OffsetCommitRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class OffsetCommitRequestPartition(Message):
    __slots__ = (
        "committed_leader_epoch",
        "committed_metadata",
        "committed_offset",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetCommitRequestTopic(Message):
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
        partitions: list[OffsetCommitRequestPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[OffsetCommitRequestPartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetCommitRequest(Message):
    __slots__ = (
        "generation_id_or_member_epoch",
        "group_id",
        "group_instance_id",
        "member_id",
        "retention_time_ms",
        "topics",
    )

    API_KEY = 8
    VERSIONS = (2, 10)
    FLEXIBLE_FROM = 8
    SCHEMA = """
OffsetCommitRequest request module=clients key=8 versions=2-10 flexible=8+
  GroupId string 0+ entity=groupId
  GenerationIdOrMemberEpoch int32 1+ default=-1 ignorable
  MemberId string 1+ ignorable
  GroupInstanceId string 7+ nullable=7+ default=null
  RetentionTimeMs int64 2-4 default=-1 ignorable
  Topics []OffsetCommitRequestTopic 0+
    Name string 0-9 ignorable entity=topicName
    TopicId uuid 10+ ignorable
    Partitions []OffsetCommitRequestPartition 0+
      PartitionIndex int32 0+
      CommittedOffset int64 0+
      CommittedLeaderEpoch int32 6+ default=-1 ignorable
      CommittedMetadata string 0+ nullable=0+
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequestTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics: list[OffsetCommitRequestTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
