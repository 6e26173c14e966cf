"""State of one transactional id and its transitions.

A `Transaction` is a value: a transition gives another one, and the old one stays what it was until the new one is
committed in the log. Every transition is a method here, so that the rules of epochs stand in one place:

* The producer's epoch grows when a producer begins anew, when one is fenced, and, with version 2, at the end of each
  transaction (KIP-890), so that nothing of an old transaction is taken for a part of the next one.
* Before the epoch would overflow the producer gets another id. With version 2 that happens while a transaction ends:
  `next_producer_id` is written with the decision, and becomes the id with epoch 0 when the transaction is complete.
* `last_producer_epoch` tells a producer that asks twice from one that was overtaken (KIP-360). It is not written.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from odradek.common.failures import ApiError, check
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.shard import CoordinatorRecord
from odradek.coordinator.transaction.errors import ProducerFenced
from odradek.coordinator.transaction.states import LEGAL, TransactionState
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.transaction_log_key import TransactionLogKey
from odradek.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue

NO_PRODUCER_ID = NO_EPOCH = -1
NO_TIME = -1
#: The highest epoch there is. Clients are never given it: so an epoch is left to fence them with.
MAX_EPOCH = 2**15 - 1
#: A transaction of this time-out is one half of a two-phase commit, and never expires.
NEVER_MS = 2**31 - 1

#: From this version of transactions on, each end has an epoch of its own.
EPOCH_BUMP_VERSION = 2


def is_exhausted(producer_epoch: int) -> bool:
    return producer_epoch >= MAX_EPOCH - 1


@dataclass(frozen=True, slots=True)
class Transaction:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    #: Of the wall clock.
    updated_ms: int
    state: TransactionState = TransactionState.EMPTY
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_EPOCH
    #: In the order in which they were added.
    partitions: tuple[TopicPartition, ...] = ()
    started_ms: int = NO_TIME
    #: Version of transactions that the client spoke when it last changed the state.
    version: int = 0

    @classmethod
    def new(cls, transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> "Transaction":
        """Not known to anybody yet: its first epoch comes when its producer begins."""
        return cls(transactional_id, producer_id, NO_EPOCH, timeout_ms, now_ms)

    @property
    def is_exhausted(self) -> bool:
        return is_exhausted(self.producer_epoch)

    def has_timed_out(self, now_ms: int) -> bool:
        return (
            self.state is TransactionState.ONGOING
            and self.timeout_ms != NEVER_MS
            and self.started_ms + self.timeout_ms < now_ms
        )

    # Transitions

    def begun_anew(self, expected_epoch: int | None, timeout_ms: int, now_ms: int) -> "Transaction":
        """Give a producer its next epoch, or that of a retry if it names the epoch before. Raises ApiError."""
        if self.is_exhausted:
            # A producer that names another epoch than the last one. Kafka has no better error for it.
            raise ApiError(f"{self.transactional_id} has no epoch left", ErrorCode.UNKNOWN_SERVER_ERROR)
        epoch, last = self.producer_epoch + 1, NO_EPOCH
        if expected_epoch is not None:
            if expected_epoch == self.producer_epoch or self.producer_epoch == NO_EPOCH:
                last = self.producer_epoch
            elif expected_epoch == self.last_producer_epoch:
                epoch, last = self.producer_epoch, self.last_producer_epoch  # it asks again, the answer was lost
            else:
                raise ProducerFenced(f"{self.transactional_id} is at epoch {self.producer_epoch}, not {expected_epoch}")
        return self._emptied(timeout_ms, now_ms, producer_epoch=epoch, last_producer_epoch=last)

    def with_new_id(self, producer_id: int, timeout_ms: int, now_ms: int, *, keeps_last: bool) -> "Transaction":
        last = self.producer_epoch if keeps_last else NO_EPOCH
        return self._emptied(timeout_ms, now_ms, producer_id=producer_id, producer_epoch=0, last_producer_epoch=last)

    def _emptied(self, timeout_ms: int, now_ms: int, **changes: int) -> "Transaction":
        return self._to(
            TransactionState.EMPTY,
            timeout_ms=timeout_ms,
            partitions=(),
            started_ms=NO_TIME,
            updated_ms=now_ms,
            **changes,
        )

    def with_partitions(self, added: Iterable[TopicPartition], version: int, now_ms: int) -> "Transaction":
        return self._to(
            TransactionState.ONGOING,
            partitions=tuple(dict.fromkeys((*self.partitions, *added))),
            started_ms=now_ms if self.state.is_idle else self.started_ms,
            updated_ms=now_ms,
            version=version,
        )

    def decided(self, *, commit: bool, version: int, next_producer_id: int, now_ms: int) -> "Transaction":
        """`next_producer_id` where the epoch that this end takes is the last one."""
        changes: dict[str, int] = {}
        if version >= EPOCH_BUMP_VERSION:
            changes = {
                "producer_epoch": min(self.producer_epoch + 1, MAX_EPOCH),
                "last_producer_epoch": self.producer_epoch,
            }
        return self._to(
            TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            next_producer_id=next_producer_id,
            started_ms=now_ms if self.state.is_idle else self.started_ms,
            updated_ms=now_ms,
            version=version,
            **changes,
        )

    def fenced(self) -> "Transaction":
        """Before it is aborted with version 0 or 1: its producer's epoch is no longer the one it knows."""
        epoch = min(self.producer_epoch + 1, MAX_EPOCH)
        return replace(self, producer_epoch=epoch, last_producer_epoch=NO_EPOCH)

    def completed(self, now_ms: int) -> "Transaction":
        check(self.state.is_decided, f"{self.transactional_id} is {self.state.shown}, and has nothing to complete")
        changes: dict[str, int] = {}
        if self.version >= EPOCH_BUMP_VERSION and self.next_producer_id != NO_PRODUCER_ID:
            changes = {"producer_id": self.next_producer_id, "producer_epoch": 0}
        is_commit = self.state is TransactionState.PREPARE_COMMIT
        return self._to(
            TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
            next_producer_id=NO_PRODUCER_ID,
            partitions=(),
            updated_ms=now_ms,
            **changes,
        )

    def _to(self, state: TransactionState, **changes: object) -> "Transaction":
        check(self.state in LEGAL[state], f"{self.transactional_id}: {state.shown} cannot follow {self.state.shown}")
        return replace(self, state=state, previous_producer_id=self.producer_id, **changes)  # type: ignore[arg-type]

    # In the log

    def record(self, value_version: int) -> CoordinatorRecord:
        """`value_version` 1 from transactions of version 1 on."""
        by_topic: dict[str, list[int]] = {}
        for topic, partition in self.partitions:
            by_topic.setdefault(topic, []).append(partition)
        value = TransactionLogValue(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            transaction_timeout_ms=self.timeout_ms,
            transaction_status=self.state,
            transaction_partitions=None
            if self.state is TransactionState.EMPTY
            else [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in by_topic.items()],
            transaction_last_update_timestamp_ms=self.updated_ms,
            transaction_start_timestamp_ms=self.started_ms,
        )
        if value_version >= 1:
            value.previous_producer_id = self.previous_producer_id
            value.next_producer_id = self.next_producer_id
            value.client_transaction_version = self.version
        return CoordinatorRecord(TransactionLogKey(transactional_id=self.transactional_id), value, value_version)

    @classmethod
    def of_record(cls, transactional_id: str, value: TransactionLogValue) -> "Transaction":
        return cls(
            transactional_id,
            value.producer_id,
            value.producer_epoch,
            value.transaction_timeout_ms,
            value.transaction_last_update_timestamp_ms,
            TransactionState(value.transaction_status),
            value.previous_producer_id,
            value.next_producer_id,
            NO_EPOCH,
            tuple(
                TopicPartition(entry.topic, partition)
                for entry in value.transaction_partitions or ()
                for partition in entry.partition_ids
            ),
            value.transaction_start_timestamp_ms,
            value.client_transaction_version,
        )
