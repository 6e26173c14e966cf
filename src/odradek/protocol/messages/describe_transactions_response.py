"""DescribeTransactionsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TopicData(Message):
    __slots__ = (
        "partitions",
        "topic",
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class TransactionState(Message):
    __slots__ = (
        "error_code",
        "producer_epoch",
        "producer_id",
        "topics",
        "transaction_start_time_ms",
        "transaction_state",
        "transaction_timeout_ms",
        "transactional_id",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[TopicData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics: list[TopicData] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeTransactionsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "transaction_states",
    )

    API_KEY = 65
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeTransactionsResponse response module=clients key=65 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  TransactionStates []TransactionState 0+
    ErrorCode int16 0+
    TransactionalId string 0+ entity=transactionalId
    TransactionState string 0+
    TransactionTimeoutMs int32 0+
    TransactionStartTimeMs int64 0+
    ProducerId int64 0+ entity=producerId
    ProducerEpoch int16 0+
    Topics []TopicData 0+
      Topic string 0+ key entity=topicName
      Partitions []int32 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        transaction_states: list[TransactionState] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states: list[TransactionState] = [] if transaction_states is DEFAULT else transaction_states
        self.unknown_tagged_fields = unknown_tagged_fields
