"""DescribeProducersResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ProducerState(Message):
    __slots__ = (
        "coordinator_epoch",
        "current_txn_start_offset",
        "last_sequence",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionResponse(Message):
    __slots__ = (
        "active_producers",
        "error_code",
        "error_message",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[ProducerState] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers: list[ProducerState] = [] if active_producers is DEFAULT else active_producers
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicResponse(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[PartitionResponse] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[PartitionResponse] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeProducersResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 61
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeProducersResponse response module=clients key=61 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  Topics []TopicResponse 0+
    Name string 0+ entity=topicName
    Partitions []PartitionResponse 0+
      PartitionIndex int32 0+
      ErrorCode int16 0+
      ErrorMessage string 0+ nullable=0+ default=null
      ActiveProducers []ProducerState 0+
        ProducerId int64 0+ entity=producerId
        ProducerEpoch int32 0+
        LastSequence int32 0+ default=-1
        LastTimestamp int64 0+ default=-1
        CoordinatorEpoch int32 0+
        CurrentTxnStartOffset int64 0+ default=-1
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[TopicResponse] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[TopicResponse] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
