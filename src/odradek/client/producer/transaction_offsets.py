"""Requests that commit consumer offsets within a transaction. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.producer.pending_request import (
    COORDINATOR_MOVED,
    PendingRequest,
    ProducerSnapshot,
    TransactionEvents,
    error_of,
    is_retriable_code,
)
from odradek.client.producer.transaction_states import TransactionResult
from odradek.client.types import TopicPartition
from odradek.errors import TransactionMustAbort
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from odradek.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

#: Last version of TxnOffsetCommit that means version 1 of transactions, in which the client adds the group.
_TXN_OFFSET_COMMIT_V1 = 4
#: Last version with names of topics instead of ids.
_TXN_OFFSET_COMMIT_LAST = 5


class GroupIdentity(Protocol):
    """The consumer whose offsets a transaction commits: `consumer.group_metadata()`."""

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


class AddOffsets(PendingRequest):
    """Version 1: the group's partition of offsets is added first, then they are committed."""

    def __init__(
        self,
        events: TransactionEvents,
        producer: ProducerSnapshot,
        offsets: Mapping[TopicPartition, CommittedOffset],
        group: GroupIdentity,
    ) -> None:
        super().__init__(events, producer)
        self._offsets, self._group = offsets, group
        self._request = AddOffsetsToTxnRequest(
            transactional_id=self._transactional_id,
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
            self._events.offsets_added()
            self._events.enqueue(CommitOffsets(self._events, self._producer, self._offsets, self._group, self.result))
        elif code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
            self._fail_transaction(error_of(code))
        else:
            self._handle_code(code)


class CommitOffsets(PendingRequest):
    def __init__(
        self,
        events: TransactionEvents,
        producer: ProducerSnapshot,
        offsets: Mapping[TopicPartition, CommittedOffset],
        group: GroupIdentity,
        result: TransactionResult | None = None,
    ) -> None:
        super().__init__(events, producer, result)
        self.last_version = _TXN_OFFSET_COMMIT_LAST if producer.is_version_2 else _TXN_OFFSET_COMMIT_V1
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
        """Request with the offsets that are not committed yet."""
        topics: dict[str, TxnOffsetCommitRequestTopic] = {}
        for (topic, partition_index), committed in self._offsets.items():
            partition = TxnOffsetCommitRequestPartition(
                partition_index=partition_index,
                committed_offset=committed.offset,
                committed_leader_epoch=-1 if committed.leader_epoch is None else committed.leader_epoch,
                committed_metadata=committed.metadata,
            )
            topics.setdefault(topic, TxnOffsetCommitRequestTopic(name=topic)).partitions.append(partition)
        return TxnOffsetCommitRequest(
            transactional_id=self._transactional_id,
            group_id=self._group.group_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            generation_id_or_member_epoch=self._group.generation_id,
            member_id=self._group.member_id,
            group_instance_id=self._group.group_instance_id,
            topics=list(topics.values()),
        )

    def handle_response(self, response: Any) -> None:
        has_moved = False
        for partition, code in _error_codes(response):
            if code == ErrorCode.NONE:
                self._offsets.pop(partition, None)
            elif code in (*COORDINATOR_MOVED, ErrorCode.REQUEST_TIMED_OUT):
                has_moved = True
            elif not is_retriable_code(code):
                self._handle_rejection(code)
                return
        if has_moved:
            self._forget_coordinator()
        if self._offsets:
            self._retry()
        else:
            self.result.complete()

    def _handle_rejection(self, code: int) -> None:
        mismatch = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH)
        if code in mismatch:
            reason = f"{ErrorCode(code).name}: the consumer is no longer a member of {self._group.group_id}"
            self._fail_transaction(TransactionMustAbort(reason))
        elif code in (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.FENCED_INSTANCE_ID):
            self._fail_transaction(error_of(code))
        else:
            self._handle_code(code)


def _error_codes(response: Any) -> Iterator[tuple[TopicPartition, int]]:
    for topic in response.topics:
        for partition in topic.partitions:
            yield TopicPartition(topic.name, partition.partition_index), partition.error_code
