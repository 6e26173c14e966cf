"""ShareFetchRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class AcknowledgementBatch(Message):
    __slots__ = (
        "acknowledge_types",
        "first_offset",
        "last_offset",
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types: list[int] = [] if acknowledge_types is DEFAULT else acknowledge_types
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchPartition(Message):
    __slots__ = (
        "acknowledgement_batches",
        "partition_index",
        "partition_max_bytes",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_max_bytes: int = 0,
        acknowledgement_batches: list[AcknowledgementBatch] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.partition_max_bytes = partition_max_bytes
        self.acknowledgement_batches: list[AcknowledgementBatch] = (
            [] if acknowledgement_batches is DEFAULT else acknowledgement_batches
        )
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchTopic(Message):
    __slots__ = (
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: list[FetchPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[FetchPartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ForgottenTopic(Message):
    __slots__ = (
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ShareFetchRequest(Message):
    __slots__ = (
        "batch_size",
        "forgotten_topics_data",
        "group_id",
        "is_renew_ack",
        "max_bytes",
        "max_records",
        "max_wait_ms",
        "member_id",
        "min_bytes",
        "share_acquire_mode",
        "share_session_epoch",
        "topics",
    )

    API_KEY = 78
    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ShareFetchRequest request module=clients key=78 versions=1-2 flexible=0+
  GroupId string 0+ nullable=0+ default=null entity=groupId
  MemberId string 0+ nullable=0+
  ShareSessionEpoch int32 0+
  MaxWaitMs int32 0+
  MinBytes int32 0+
  MaxBytes int32 0+ default=2147483647
  MaxRecords int32 1+
  BatchSize int32 1+
  ShareAcquireMode int8 2+ ignorable
  IsRenewAck bool 2+
  Topics []FetchTopic 0+
    TopicId uuid 0+ key
    Partitions []FetchPartition 0+
      PartitionIndex int32 0+ key
      PartitionMaxBytes int32 0
      AcknowledgementBatches []AcknowledgementBatch 0+
        FirstOffset int64 0+
        LastOffset int64 0+
        AcknowledgeTypes []int8 0+
  ForgottenTopicsData []ForgottenTopic 0+
    TopicId uuid 0+
    Partitions []int32 0+
"""

    def __init__(
        self,
        *,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        max_records: int = 0,
        batch_size: int = 0,
        share_acquire_mode: int = 0,
        is_renew_ack: bool = False,
        topics: list[FetchTopic] = DEFAULT,
        forgotten_topics_data: list[ForgottenTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.max_records = max_records
        self.batch_size = batch_size
        self.share_acquire_mode = share_acquire_mode
        self.is_renew_ack = is_renew_ack
        self.topics: list[FetchTopic] = [] if topics is DEFAULT else topics
        self.forgotten_topics_data: list[ForgottenTopic] = (
            [] if forgotten_topics_data is DEFAULT else forgotten_topics_data
        )
        self.unknown_tagged_fields = unknown_tagged_fields
