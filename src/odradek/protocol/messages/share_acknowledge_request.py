"""ShareAcknowledgeRequest. Made by tools/make_messages.py from tables/messages.txt."""

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


class AcknowledgePartition(Message):
    __slots__ = (
        "acknowledgement_batches",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        acknowledgement_batches: list[AcknowledgementBatch] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches: list[AcknowledgementBatch] = (
            [] if acknowledgement_batches is DEFAULT else acknowledgement_batches
        )
        self.unknown_tagged_fields = unknown_tagged_fields


class AcknowledgeTopic(Message):
    __slots__ = (
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: list[AcknowledgePartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[AcknowledgePartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ShareAcknowledgeRequest(Message):
    __slots__ = (
        "group_id",
        "is_renew_ack",
        "member_id",
        "share_session_epoch",
        "topics",
    )

    API_KEY = 79
    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ShareAcknowledgeRequest request module=clients key=79 versions=1-2 flexible=0+
  GroupId string 0+ nullable=0+ default=null entity=groupId
  MemberId string 0+ nullable=0+
  ShareSessionEpoch int32 0+
  IsRenewAck bool 2+
  Topics []AcknowledgeTopic 0+
    TopicId uuid 0+ key
    Partitions []AcknowledgePartition 0+
      PartitionIndex int32 0+ key
      AcknowledgementBatches []AcknowledgementBatch 0+
        FirstOffset int64 0+
        LastOffset int64 0+
        AcknowledgeTypes []int8 0+
"""

    def __init__(
        self,
        *,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: list[AcknowledgeTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics: list[AcknowledgeTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
