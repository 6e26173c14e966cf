"""TxnOffsetCommitRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class TxnOffsetCommitRequestPartition(Message):
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


class TxnOffsetCommitRequestTopic(Message):
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
        partitions: list[TxnOffsetCommitRequestPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[TxnOffsetCommitRequestPartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class TxnOffsetCommitRequest(Message):
    __slots__ = (
        "generation_id_or_member_epoch",
        "group_id",
        "group_instance_id",
        "member_id",
        "producer_epoch",
        "producer_id",
        "topics",
        "transactional_id",
    )

    API_KEY = 28
    VERSIONS = (0, 6)
    FLEXIBLE_FROM = 3
    SCHEMA = """
TxnOffsetCommitRequest request module=clients key=28 versions=0-6 flexible=3+
  TransactionalId string 0+ entity=transactionalId
  GroupId string 0+ entity=groupId
  ProducerId int64 0+ entity=producerId
  ProducerEpoch int16 0+
  GenerationIdOrMemberEpoch int32 3+ default=-1
  MemberId string 3+
  GroupInstanceId string 3+ nullable=3+ default=null
  Topics []TxnOffsetCommitRequestTopic 0+
    Name string 0-5 ignorable entity=topicName
    TopicId uuid 6+ ignorable
    Partitions []TxnOffsetCommitRequestPartition 0+
      PartitionIndex int32 0+
      CommittedOffset int64 0+
      CommittedLeaderEpoch int32 2+ default=-1 ignorable
      CommittedMetadata string 0+ nullable=0+
"""

    def __init__(
        self,
        *,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequestTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics: list[TxnOffsetCommitRequestTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
