"""The requests of a transaction manager, and what each answer makes of it. Pure.

One at a time is on its way. Whoever sends it looks up the coordinator (`coordinator`, None for any broker), waits
`backoff_ms` before it if that is not zero, and tells what came of it: `handle_response`, or `handle_error` where there
was none. Errors fall into four kinds, as in Kafka's producer: the coordinator is elsewhere, ask again, abort, give up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol

from odradek.client.errors import refusal
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.producer.batch_sequences import ProducerIdentity
from odradek.client.producer.transaction_states import Result
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.errors import ProducerFenced, TransactionMustAbort
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from odradek.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.protocol.messages.end_txn_request import EndTxnRequest
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

if TYPE_CHECKING:
    from odradek.client.producer.transaction_manager import TransactionManager

#: While the last transaction is being completed; it takes only moments, and everything waits for it.
ADD_PARTITIONS_BACKOFF_MS = 20

#: Versions that mean version 1 of transactions, in which partitions are added by the client and epochs stay.
_END_TXN_V1, _TXN_OFFSET_COMMIT_V1 = 4, 4
#: The last with names of topics instead of ids.
_TXN_OFFSET_COMMIT_LAST = 5
#: Version 4 is for brokers.
_ADD_PARTITIONS_LAST = 3
#: Two-phase commits begin with version 6.
_INIT_PRODUCER_ID_LAST = 5

_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
_NO_TIMEOUT_MS = 2**31 - 1


class Priority(IntEnum):
    INIT_PRODUCER_ID = 1
    ADD_PARTITIONS_OR_OFFSETS = 2
    END_TXN = 3
    EPOCH_BUMP = 4


class GroupIdentity(Protocol):
    """What a transaction needs to know of the consumer whose offsets it commits: `consumer.group_metadata()`."""

    @property
    def group_id(self) -> str: ...
    @property
    def generation_id(self) -> int: ...
    @property
    def member_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...


class CommittedOffset(Protocol):
    """`OffsetAndMetadata`."""

    @property
    def offset(self) -> int: ...
    @property
    def leader_epoch(self) -> int | None: ...
    @property
    def metadata(self) -> str: ...


class PendingRequest(ABC):
    priority = Priority.ADD_PARTITIONS_OR_OFFSETS
    #: The newest version that may be used; None is any.
    last_version: int | None = None

    def __init__(self, manager: TransactionManager, result: Result | None = None) -> None:
        self.result = result or Result()
        #: Before it is sent; not zero once it had to be repeated.
        self.backoff_ms: float = 0
        self._manager = manager
        self._identity = manager.identity

    @property
    @abstractmethod
    def request(self) -> Message: ...

    @property
    def coordinator(self) -> CoordinatorKind | None:
        return CoordinatorKind.TRANSACTION

    @property
    def coordinator_key(self) -> str:
        return self._manager.transactional_id or ""

    @abstractmethod
    def handle_response(self, response: Any) -> None: ...

    def handle_error(self, error: ApiError) -> None:
        """Of the way there: no connection, no coordinator, no common version."""
        code = error.code
        if code in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT):
            self._forget_coordinator()
            self._again()
        elif code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
            self._abortable(error)
        else:
            self._handle_code(code, error)

    def fail(self, error: Exception) -> None:
        self.result.fail(error)

    # The four kinds

    def _handle_code(self, code: int, error: ApiError | None = None) -> None:
        """Any error that has no meaning of its own for this request."""
        error = error or _error(code)
        if code in _MOVED:
            self._forget_coordinator()
            self._again()
        elif _is_retriable(code):
            self._again()
        elif code in _FENCED:
            # Old coordinators say so with INVALID_PRODUCER_EPOCH.
            self._fatal(self._manager.fenced())
        elif code == ErrorCode.UNKNOWN_PRODUCER_ID:
            self._abortable_if_possible(error)
        elif code == ErrorCode.TRANSACTION_ABORTABLE:
            self._abortable(error)
        else:
            self._fatal(error)

    def _forget_coordinator(self) -> None:
        if self.coordinator is not None:
            self._manager.forget_coordinator(self.coordinator, self.coordinator_key)

    def _again(self, backoff_ms: float | None = None) -> None:
        self.backoff_ms = self._manager.retry_backoff_ms if backoff_ms is None else backoff_ms
        self._manager.enqueue(self)

    def _fatal(self, error: Exception) -> None:
        self.result.fail(error)
        self._manager.transition_to_fatal_error(error)

    def _abortable(self, error: Exception) -> None:
        self.result.fail(error)
        self._manager.transition_to_abortable_error(error)

    def _abortable_if_possible(self, error: Exception) -> None:
        if self._manager.may_bump_epoch:
            self._manager.request_epoch_bump()
            self._abortable(error)
        else:
            self._fatal(error)


def _error(code: int) -> ApiError:
    return refusal(code) or ApiError("no error")


def _is_retriable(code: int) -> bool:
    try:
        return ErrorCode(code).retriable
    except ValueError:
        return False


class InitProducerId(PendingRequest):
    last_version = _INIT_PRODUCER_ID_LAST

    def __init__(self, manager: TransactionManager, expected: ProducerIdentity | None) -> None:
        """`expected` is the identity whose epoch is to be raised; None to begin anew."""
        super().__init__(manager)
        self._is_epoch_bump = expected is not None
        self.priority = Priority.EPOCH_BUMP if expected else Priority.INIT_PRODUCER_ID
        producer_id, epoch = expected or (-1, -1)
        self._request = InitProducerIdRequest(
            transactional_id=manager.transactional_id,
            transaction_timeout_ms=manager.transaction_timeout_ms if manager.is_transactional else _NO_TIMEOUT_MS,
            producer_id=producer_id,
            producer_epoch=epoch,
        )

    @property
    def request(self) -> Message:
        return self._request

    @property
    def coordinator(self) -> CoordinatorKind | None:
        return CoordinatorKind.TRANSACTION if self._manager.is_transactional else None

    def handle_response(self, response: Any) -> None:
        code = response.error_code
        if code == ErrorCode.NONE:
            identity = ProducerIdentity(response.producer_id, response.producer_epoch)
            self._manager.initialized(identity, is_epoch_bump=self._is_epoch_bump)
            self.result.done()
        elif code in (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
            self._abortable(_error(code))
        elif code == ErrorCode.UNKNOWN_PRODUCER_ID:
            self._fatal(_error(code))
        else:
            self._handle_code(code)


class AddPartitions(PendingRequest):
    last_version = _ADD_PARTITIONS_LAST

    def __init__(self, manager: TransactionManager, places: Mapping[TopicPartition, None]) -> None:
        super().__init__(manager)
        self._places = tuple(places)
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for topic, number in places:
            topics.setdefault(topic, AddPartitionsToTxnTopic(name=topic)).partitions.append(number)
        self._request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=manager.transactional_id or "",
            v3_and_below_producer_id=self._identity.producer_id,
            v3_and_below_producer_epoch=self._identity.epoch,
            v3_and_below_topics=list(topics.values()),
        )

    @property
    def request(self) -> Message:
        return self._request

    def handle_response(self, response: Any) -> None:
        codes = {
            TopicPartition(topic.name, each.partition_index): each.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for each in topic.results_by_partition
        }
        of_partitions = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.OPERATION_NOT_ATTEMPTED)
        failed = {place: code for place, code in codes.items() if code}
        for code in failed.values():
            if code == ErrorCode.CONCURRENT_TRANSACTIONS:
                # The first partitions of a transaction wait for the end of the one before.
                is_first = not self._manager.has_partitions
                self._again(ADD_PARTITIONS_BACKOFF_MS if is_first else None)
                return
            if code not in of_partitions and _concerns_all(code):
                self._handle_code(code)
                return
        if failed:
            self._manager.partitions_not_added(self._places)
            refused = sorted(f"{place} ({ErrorCode(code).name})" for place, code in failed.items())
            self._abortable(TransactionMustAbort(f"not added to the transaction: {', '.join(refused)}"))
        else:
            self._manager.partitions_added(self._places)
            self.result.done()


def _concerns_all(code: int) -> bool:
    """Others are a matter of single partitions."""
    return code in _OF_THE_TRANSACTION or _is_retriable(code)


_OF_THE_TRANSACTION = (
    *_MOVED,
    *_FENCED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.TRANSACTION_ABORTABLE,
)


class EndTransaction(PendingRequest):
    priority = Priority.END_TXN

    def __init__(self, manager: TransactionManager, *, is_commit: bool) -> None:
        super().__init__(manager)
        self.is_commit = is_commit
        self.last_version = None if manager.is_version_2 else _END_TXN_V1
        self._request = EndTxnRequest(
            transactional_id=manager.transactional_id or "",
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
            # With version 2 of transactions each has an epoch of its own.
            next_one = ProducerIdentity(response.producer_id, response.producer_epoch)
            self._manager.ended(next_one if next_one.is_valid else None)
            self.result.done()
        elif code == ErrorCode.TRANSACTION_ABORTABLE and not self.is_commit:
            # An abort of the abort would never end.
            self._fatal(_error(code))
        else:
            self._handle_code(code)


class AddOffsets(PendingRequest):
    """Version 1: the group's partition of offsets is added first, then they are committed."""

    def __init__(
        self, manager: TransactionManager, offsets: Mapping[TopicPartition, CommittedOffset], group: GroupIdentity
    ) -> None:
        super().__init__(manager)
        self._offsets, self._group = offsets, group
        self._request = AddOffsetsToTxnRequest(
            transactional_id=manager.transactional_id or "",
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            group_id=group.group_id,
        )

    @property
    def request(self) -> Message:
        return self._request

    def handle_response(self, response: Any) -> None:
        code = response.error_code
        if code == ErrorCode.NONE:
            self._manager.offsets_added()
            self._manager.enqueue(CommitOffsets(self._manager, self._offsets, self._group, self.result))
        elif code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
            self._abortable(_error(code))
        else:
            self._handle_code(code)


class CommitOffsets(PendingRequest):
    def __init__(
        self,
        manager: TransactionManager,
        offsets: Mapping[TopicPartition, CommittedOffset],
        group: GroupIdentity,
        result: Result | None = None,
    ) -> None:
        super().__init__(manager, result)
        self.last_version = _TXN_OFFSET_COMMIT_LAST if manager.is_version_2 else _TXN_OFFSET_COMMIT_V1
        self._offsets = dict(offsets)
        self._group = group

    @property
    def coordinator(self) -> CoordinatorKind | None:
        return CoordinatorKind.GROUP

    @property
    def coordinator_key(self) -> str:
        return self._group.group_id

    @property
    def request(self) -> Message:
        """Of those offsets that are not committed yet."""
        topics: dict[str, TxnOffsetCommitRequestTopic] = {}
        for (topic, number), committed in self._offsets.items():
            partition = TxnOffsetCommitRequestPartition(
                partition_index=number,
                committed_offset=committed.offset,
                committed_leader_epoch=-1 if committed.leader_epoch is None else committed.leader_epoch,
                committed_metadata=committed.metadata,
            )
            topics.setdefault(topic, TxnOffsetCommitRequestTopic(name=topic)).partitions.append(partition)
        return TxnOffsetCommitRequest(
            transactional_id=self._manager.transactional_id or "",
            group_id=self._group.group_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            generation_id_or_member_epoch=self._group.generation_id,
            member_id=self._group.member_id,
            group_instance_id=self._group.group_instance_id,
            topics=list(topics.values()),
        )

    def handle_response(self, response: Any) -> None:
        is_elsewhere = False
        for place, code in _codes_of_offsets(response):
            if code == ErrorCode.NONE:
                self._offsets.pop(place, None)
            elif code in (*_MOVED, ErrorCode.REQUEST_TIMED_OUT):
                is_elsewhere = True
            elif not _is_retriable(code):
                self._refused(code)
                return
        if is_elsewhere:
            self._forget_coordinator()
        if self._offsets:
            self._again()
        else:
            self.result.done()

    def _refused(self, code: int) -> None:
        mismatch = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH)
        if code in mismatch:
            reason = f"{ErrorCode(code).name}: the consumer is not the member of {self._group.group_id} any more"
            self._abortable(TransactionMustAbort(reason))
        elif code in (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.FENCED_INSTANCE_ID):
            self._abortable(_error(code))
        else:
            self._handle_code(code)


def _codes_of_offsets(response: Any) -> Iterator[tuple[TopicPartition, int]]:
    for topic in response.topics:
        for each in topic.partitions:
            yield TopicPartition(topic.name, each.partition_index), each.error_code


__all__ = [
    "AddOffsets",
    "AddPartitions",
    "CommitOffsets",
    "CommittedOffset",
    "EndTransaction",
    "GroupIdentity",
    "InitProducerId",
    "PendingRequest",
    "ProducerFenced",
]
