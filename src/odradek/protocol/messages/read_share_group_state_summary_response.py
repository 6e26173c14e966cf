"""ReadShareGroupStateSummaryResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class PartitionResult(Message):
    __slots__ = (
        "delivery_complete_count",
        "error_code",
        "error_message",
        "leader_epoch",
        "partition",
        "start_offset",
        "state_epoch",
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.unknown_tagged_fields = unknown_tagged_fields


class ReadStateSummaryResult(Message):
    __slots__ = (
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[PartitionResult] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ReadShareGroupStateSummaryResponse(Message):
    __slots__ = ("results",)

    API_KEY = 87
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ReadShareGroupStateSummaryResponse response module=clients key=87 versions=0-1 flexible=0+
  Results []ReadStateSummaryResult 0+
    TopicId uuid 0+
    Partitions []PartitionResult 0+
      Partition int32 0+
      ErrorCode int16 0+
      ErrorMessage string 0+ nullable=0+ default=null
      StateEpoch int32 0+
      LeaderEpoch int32 0+
      StartOffset int64 0+
      DeliveryCompleteCount int32 1+ default=-1 ignorable
"""

    def __init__(
        self,
        *,
        results: list[ReadStateSummaryResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.results: list[ReadStateSummaryResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
