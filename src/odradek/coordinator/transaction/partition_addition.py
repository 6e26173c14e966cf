"""Adds partitions to a transaction, or verifies that they are in it: the rules of AddPartitionsToTxn.

A partition that does not exist, or that must not be written to, keeps all other partitions of its transaction out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.shard import Decision
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnTransaction

if TYPE_CHECKING:
    from odradek.coordinator.transaction.shard import TransactionShard

Answer = TypeVar("Answer")

PartitionErrors = dict[TopicPartition, int]

#: No partition is rejected before the coordinator is asked.
NOTHING_REJECTED: Mapping[TopicPartition, int] = {}


class TransactionOperations(Protocol):
    """The transaction coordinator of this broker; keys are transactional ids."""

    def start_write(self, key: str, operation: "Callable[[TransactionShard], Decision[Answer]]") -> Reply[Answer]: ...

    def start_read(self, key: str, operation: "Callable[[TransactionShard], Answer]") -> Reply[Answer]: ...


class PartitionAddition:
    def __init__(self, transactions: TransactionOperations, image: Callable[[], MetadataImage]) -> None:
        self._transactions = transactions
        self._image = image

    def add_or_verify(
        self,
        transaction: AddPartitionsToTxnTransaction,
        transaction_version: int,
        rejected: Mapping[TopicPartition, int] = NOTHING_REJECTED,
    ) -> Reply[PartitionErrors]:
        """Return the error codes of the partitions; the reply fails with the coordinator's error for the transaction.

        `rejected` are partitions that the caller does not allow, with their errors.
        """
        partitions = partitions_of(transaction)
        errors = {**rejected, **self._unknown(partitions, rejected)}
        if errors:
            return Reply.of({tp: errors.get(tp, ErrorCode.OPERATION_NOT_ATTEMPTED) for tp in partitions})
        transactional_id = transaction.transactional_id
        reply: Reply[PartitionErrors] = Reply()
        if not transactional_id:
            reply.fail(ApiError("A transactional id must not be empty.", ErrorCode.INVALID_REQUEST))
            return reply
        producer = (transaction.producer_id, transaction.producer_epoch)
        if transaction.verify_only:
            return self._transactions.start_read(
                transactional_id, lambda shard: shard.verify_partitions(transactional_id, *producer, partitions)
            )

        def on_written(written: Reply[None]) -> None:
            if written.error is None:
                reply.complete(dict.fromkeys(partitions, ErrorCode.NONE))
            else:
                reply.fail(written.error)

        self._transactions.start_write(
            transactional_id,
            lambda shard: shard.add_partitions(transactional_id, *producer, partitions, transaction_version),
        ).then(on_written)
        return reply

    def _unknown(
        self, partitions: Sequence[TopicPartition], rejected: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        topics = self._image().topics.by_name
        unknown: dict[TopicPartition, int] = {}
        for tp in partitions:
            topic = topics.get(tp.topic)
            if tp not in rejected and (topic is None or tp.partition not in topic.partitions):
                unknown[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return unknown


def partitions_of(transaction: AddPartitionsToTxnTransaction) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for topic in transaction.topics for partition in topic.partitions]
