"""TransactionLogValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class PartitionsSchema(Message):
    __slots__ = (
        "partition_ids",
        "topic",
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partition_ids: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.partition_ids: list[int] = [] if partition_ids is DEFAULT else partition_ids
        self.unknown_tagged_fields = unknown_tagged_fields


class TransactionLogValue(Message):
    __slots__ = (
        "client_transaction_version",
        "next_producer_epoch",
        "next_producer_id",
        "previous_producer_id",
        "producer_epoch",
        "producer_id",
        "transaction_last_update_timestamp_ms",
        "transaction_partitions",
        "transaction_start_timestamp_ms",
        "transaction_status",
        "transaction_timeout_ms",
    )

    API_KEY = 0
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 1
    SCHEMA = """
TransactionLogValue coordinator-value module=transaction-coordinator key=0 versions=0-1 flexible=1+
  ProducerId int64 0+
  PreviousProducerId int64 1+ default=-1 tag=0
  NextProducerId int64 1+ default=-1 tag=1
  ProducerEpoch int16 0+
  NextProducerEpoch int16 1+ default=-1 tag=3
  TransactionTimeoutMs int32 0+
  TransactionStatus int8 0+
  TransactionPartitions []PartitionsSchema 0+ nullable=0+
    Topic string 0+
    PartitionIds []int32 0+
  TransactionLastUpdateTimestampMs int64 0+
  TransactionStartTimestampMs int64 0+
  ClientTransactionVersion int16 1+ tag=2
"""

    def __init__(
        self,
        *,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[PartitionsSchema] | None = DEFAULT,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions: list[PartitionsSchema] | None = (
            [] if transaction_partitions is DEFAULT else transaction_partitions
        )
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version
        self.unknown_tagged_fields = unknown_tagged_fields
