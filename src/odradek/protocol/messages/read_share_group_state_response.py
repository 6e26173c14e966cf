"""ReadShareGroupStateResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class StateBatch(Message):
    __slots__ = (
        "delivery_count",
        "delivery_state",
        "first_offset",
        "last_offset",
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "partition",
        "start_offset",
        "state_batches",
        "state_epoch",
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        start_offset: int = 0,
        state_batches: list[StateBatch] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.start_offset = start_offset
        self.state_batches: list[StateBatch] = [] if state_batches is DEFAULT else state_batches
        self.unknown_tagged_fields = unknown_tagged_fields


class ReadStateResult(Message):
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


class ReadShareGroupStateResponse(Message):
    __slots__ = ("results",)

    API_KEY = 84
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ReadShareGroupStateResponse response module=clients key=84 versions=0 flexible=0+
  Results []ReadStateResult 0+
    TopicId uuid 0+
    Partitions []PartitionResult 0+
      Partition int32 0+
      ErrorCode int16 0+
      ErrorMessage string 0+ nullable=0+ default=null
      StateEpoch int32 0+
      StartOffset int64 0+
      StateBatches []StateBatch 0+
        FirstOffset int64 0+
        LastOffset int64 0+
        DeliveryState int8 0+
        DeliveryCount int16 0+
"""

    def __init__(
        self,
        *,
        results: list[ReadStateResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.results: list[ReadStateResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
