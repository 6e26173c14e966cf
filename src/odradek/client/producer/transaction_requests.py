"""Requests that initialize a producer, add partitions to a transaction, and end it. Pure."""

from collections.abc import Iterable
from typing import Any

from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.producer.pending_request import (
    COORDINATOR_MOVED,
    FENCED,
    PendingRequest,
    Priority,
    ProducerSnapshot,
    TransactionEvents,
    error_of,
    is_retriable_code,
)
from odradek.client.producer.producer_identity import NO_IDENTITY, ProducerIdentity
from odradek.client.types import TopicPartition
from odradek.errors import TransactionMustAbort
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.protocol.messages.end_txn_request import EndTxnRequest
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest

#: Backoff while the previous transaction is being completed: it takes only moments, and everything waits for it.
ADD_PARTITIONS_BACKOFF_MS = 20

#: Last version of EndTxn that means version 1 of transactions, in which the epoch stays.
_END_TXN_V1 = 4
#: Version 4 is for brokers.
_ADD_PARTITIONS_LAST = 3
#: Two-phase commits begin with version 6.
_INIT_PRODUCER_ID_LAST = 5

_NO_TIMEOUT_MS = 2**31 - 1


class InitProducerId(PendingRequest):
    last_version = _INIT_PRODUCER_ID_LAST

    def __init__(self, events: TransactionEvents, producer: ProducerSnapshot, *, is_epoch_bump: bool = False) -> None:
        """Raise the epoch of the producer's identity, or begin without one."""
        super().__init__(events, producer)
        self._is_epoch_bump = is_epoch_bump
        self._is_transactional = producer.transactional_id is not None
        self.priority = Priority.EPOCH_BUMP if is_epoch_bump else Priority.INIT_PRODUCER_ID
        producer_id, epoch = producer.identity if is_epoch_bump else NO_IDENTITY
        self._request = InitProducerIdRequest(
            transactional_id=producer.transactional_id,
            transaction_timeout_ms=producer.transaction_timeout_ms if self._is_transactional else _NO_TIMEOUT_MS,
            producer_id=producer_id,
            producer_epoch=epoch,
        )

    @property
    def request(self) -> Message:
        return self._request

    @property
    def coordinator(self) -> CoordinatorKind | None:
        return CoordinatorKind.TRANSACTION if self._is_transactional else None

    def handle_response(self, response: Any) -> None:
        code = response.error_code
        if code == ErrorCode.NONE:
            identity = ProducerIdentity(response.producer_id, response.producer_epoch)
            self._events.initialized(identity, is_epoch_bump=self._is_epoch_bump)
            self.result.complete()
        elif code in (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
            self._fail_transaction(error_of(code))
        elif code == ErrorCode.UNKNOWN_PRODUCER_ID:
            self._fail_producer(error_of(code))
        else:
            self._handle_code(code)


class AddPartitions(PendingRequest):
    last_version = _ADD_PARTITIONS_LAST

    def __init__(
        self, events: TransactionEvents, producer: ProducerSnapshot, partitions: Iterable[TopicPartition]
    ) -> None:
        super().__init__(events, producer)
        self._partitions = tuple(partitions)
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for topic, partition_index in self._partitions:
            topics.setdefault(topic, AddPartitionsToTxnTopic(name=topic)).partitions.append(partition_index)
        self._request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._transactional_id,
            v3_and_below_producer_id=self._identity.producer_id,
            v3_and_below_producer_epoch=self._identity.epoch,
            v3_and_below_topics=list(topics.values()),
        )

    @property
    def request(self) -> Message:
        return self._request

    def handle_response(self, response: Any) -> None:
        codes = {
            TopicPartition(topic.name, partition.partition_index): partition.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for partition in topic.results_by_partition
        }
        errors = {partition: code for partition, code in codes.items() if code}
        for code in errors.values():
            if code == ErrorCode.CONCURRENT_TRANSACTIONS:
                # The first partitions of a transaction wait for the end of the previous one.
                self._retry(None if self._events.has_partitions else ADD_PARTITIONS_BACKOFF_MS)
                return
            if code not in _PARTITION_ERRORS and _concerns_all(code):
                self._handle_code(code)
                return
        if errors:
            self._events.partitions_rejected(self._partitions)
            rejected = sorted(f"{partition} ({ErrorCode(code).name})" for partition, code in errors.items())
            self._fail_transaction(TransactionMustAbort(f"not added to the transaction: {', '.join(rejected)}"))
        else:
            self._events.partitions_added(self._partitions)
            self.result.complete()


def _concerns_all(code: int) -> bool:
    """Return whether an error is about the transaction and not about single partitions."""
    return code in _TRANSACTION_ERRORS or is_retriable_code(code)


_PARTITION_ERRORS = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.OPERATION_NOT_ATTEMPTED)

_TRANSACTION_ERRORS = (
    *COORDINATOR_MOVED,
    *FENCED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.TRANSACTION_ABORTABLE,
)


class EndTransaction(PendingRequest):
    priority = Priority.END_TXN

    def __init__(self, events: TransactionEvents, producer: ProducerSnapshot, *, is_commit: bool) -> None:
        super().__init__(events, producer)
        self.is_commit = is_commit
        self.last_version = None if producer.is_version_2 else _END_TXN_V1
        self._request = EndTxnRequest(
            transactional_id=self._transactional_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            committed=is_commit,
        )

    @property
    def request(self) -> Message:
        return self._request

    def handle_response(self, response: Any) -> None:
        code = response.error_code
        if code == ErrorCode.NONE:
            next_identity = ProducerIdentity(response.producer_id, response.producer_epoch)
            self._events.ended(next_identity if next_identity.is_valid else None)
            self.result.complete()
        elif code == ErrorCode.TRANSACTION_ABORTABLE and not self.is_commit:
            # Aborting the abort would never end.
            self._fail_producer(error_of(code))
        else:
            self._handle_code(code)
