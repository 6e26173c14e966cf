"""AddPartitionsToTxnResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AddPartitionsToTxnPartitionResult(Message):
    __slots__ = (
        "partition_error_code",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class AddPartitionsToTxnTopicResult(Message):
    __slots__ = (
        "name",
        "results_by_partition",
    )

    def __init__(
        self,
        *,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.results_by_partition: list[AddPartitionsToTxnPartitionResult] = (
            [] if results_by_partition is DEFAULT else results_by_partition
        )
        self.unknown_tagged_fields = unknown_tagged_fields


class AddPartitionsToTxnResult(Message):
    __slots__ = (
        "topic_results",
        "transactional_id",
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnTopicResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results: list[AddPartitionsToTxnTopicResult] = [] if topic_results is DEFAULT else topic_results
        self.unknown_tagged_fields = unknown_tagged_fields


class AddPartitionsToTxnResponse(Message):
    __slots__ = (
        "error_code",
        "results_by_topic_v3_and_below",
        "results_by_transaction",
        "throttle_time_ms",
    )

    API_KEY = 24
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 3
    SCHEMA = """
AddPartitionsToTxnResponse response module=clients key=24 versions=0-5 flexible=3+
  struct AddPartitionsToTxnTopicResult
    Name string 0+ key entity=topicName
    ResultsByPartition []AddPartitionsToTxnPartitionResult 0+
  struct AddPartitionsToTxnPartitionResult
    PartitionIndex int32 0+ key
    PartitionErrorCode int16 0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 4+ ignorable
  ResultsByTransaction []AddPartitionsToTxnResult 4+
    TransactionalId string 4+ key entity=transactionalId
    TopicResults []AddPartitionsToTxnTopicResult 4+
  ResultsByTopicV3AndBelow []AddPartitionsToTxnTopicResult 0-3
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] = DEFAULT,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction: list[AddPartitionsToTxnResult] = (
            [] if results_by_transaction is DEFAULT else results_by_transaction
        )
        self.results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = (
            [] if results_by_topic_v3_and_below is DEFAULT else results_by_topic_v3_and_below
        )
        self.unknown_tagged_fields = unknown_tagged_fields
