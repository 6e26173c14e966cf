"""The transactions of one partition of `__transaction_state`.

A transition of a transaction is written to the log and takes effect when it is committed: until then it is pending, and
other requests for the same transaction are answered with CONCURRENT_TRANSACTIONS. So the state that requests see is
always one that no failure can take back, and `replay` is needed for loading only.

Once PrepareCommit or PrepareAbort is committed its markers are sent by the `MarkerOutbox`, and when all are written the
completion is. All that time the transition to CompleteCommit or CompleteAbort is pending. A shard that loads prepared
transactions sends their markers again.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.serde import first_batch
from odradek.coordinator.runtime.shard import CoordinatorRecord, Decision, ShardContext
from odradek.coordinator.transaction.ending import EndRequest, ProducerIds, fence, next_after_end
from odradek.coordinator.transaction.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    ProducerFenced,
    TransactionalIdNotFound,
)
from odradek.coordinator.transaction.markers import MarkerOutbox
from odradek.coordinator.transaction.settings import TransactionSettings
from odradek.coordinator.transaction.states import TransactionState
from odradek.coordinator.transaction.transaction import (
    EPOCH_BUMP_VERSION,
    NO_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    is_exhausted,
)
from odradek.metadata.features.feature_versions import TRANSACTION_VERSION
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.transaction_log_key import TransactionLogKey
from odradek.protocol.messages.transaction_log_value import TransactionLogValue

logger = logging.getLogger("odradek.transactions")

_TIMED_OUT = "abort what has timed out"
_EXPIRED = "forget what has expired"
#: The log refused a completion for now. Nothing is lost meanwhile but the time of the producer's next begin.
_COMPLETION_RETRY_MS = 100
#: Ids forgotten in one batch, and when the next ones are.
_EXPIRED_AT_ONCE, _NEXT_EXPIRED_MS = 1_000, 1_000
#: Late transactions that are aborted before others have their turn, and when the next ones are. After a coordinator was
#: away all may be late together; each takes a tenth of a millisecond.
_ABORTED_AT_ONCE, _NEXT_ABORTED_MS = 200, 100


Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Identity:
    """New identity of a producer, or an error that occurred after a record was written."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH
    error_code: int = 0


@dataclass(slots=True)
class _Entry:
    current: Transaction
    #: A transition is written and not committed yet.
    is_pending: bool = False

    @property
    def has_pending_transition(self) -> bool:
        """Also while the markers of a prepared transaction are being written: its completion follows."""
        return self.is_pending or self.current.state.is_decided


class TransactionShard:
    """A `Shard`. Times are the wall clock's: they are written, and must mean the same to the next coordinator."""

    def __init__(
        self, context: ShardContext, settings: TransactionSettings, new_id: ProducerIds, markers: MarkerOutbox
    ) -> None:
        self._context = context
        self._settings = settings
        self._new_id = new_id
        self._markers = markers
        self._entries: dict[str, _Entry] = {}

    # The log

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        key, value = record.key, record.value
        if not isinstance(key, TransactionLogKey):
            return
        if isinstance(value, TransactionLogValue):
            self._entries[key.transactional_id] = _Entry(Transaction.of_record(key.transactional_id, value))
        else:
            self._entries.pop(key.transactional_id, None)

    def replay_end_of_transaction(self, producer_id: int, producer_epoch: int, is_committed: bool) -> None:
        """Nobody writes to this topic in a transaction."""

    def on_loaded(self) -> None:
        for entry in self._entries.values():
            if entry.current.state.is_decided:
                self._send_markers(entry.current)
        self._context.timers.schedule(_TIMED_OUT, self._settings.abort_interval_ms, self._abort_timed_out)
        self._context.timers.schedule(_EXPIRED, self._settings.expiry_interval_ms, self._forget_expired)

    def on_unloaded(self) -> None:
        self._markers.drop(self._context.partition)

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Leaders are looked up when markers are sent."""

    # Operations

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: Identity | None = None, *, is_two_phase: bool = False
    ) -> Decision[Identity]:
        """Give a producer its id and epoch, and fence the one before it.

        A transaction that is open is aborted first, and the producer retries. `expected` is the id and epoch of a
        producer that continues after an error. A transaction of a two-phase commit has no time-out."""
        timeout_ms = self._settings.checked_timeout_ms(timeout_ms, is_two_phase)
        now_ms = self._context.clock.wall_ms()
        entry = self._entries.get(transactional_id)
        if entry is None:
            entry = _Entry(Transaction.new(transactional_id, self._new_id(), timeout_ms, now_ms))
            self._entries[transactional_id] = entry
        current = entry.current
        self._check_no_transition(entry)
        if expected is not None and not _is_same_producer(current, expected):
            raise ProducerFenced(f"{transactional_id} belongs to producer {current.producer_id} by now")
        if current.state is TransactionState.ONGOING:
            fenced = fence(current, self._version(), now_ms, self._new_id)
            retry = Identity(error_code=ErrorCode.CONCURRENT_TRANSACTIONS)
            return self._write({transactional_id: fenced}, retry)
        if current.is_exhausted and (expected is None or expected.producer_epoch == current.producer_epoch):
            new = current.with_new_id(self._new_id(), timeout_ms, now_ms, keeps_last=expected is not None)
        else:
            new = current.begun_anew(None if expected is None else expected.producer_epoch, timeout_ms, now_ms)
        logger.info("%s is producer %d at epoch %d", transactional_id, new.producer_id, new.producer_epoch)
        return self._write({transactional_id: new}, Identity(new.producer_id, new.producer_epoch))

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
        version: int,
    ) -> Decision[None]:
        entry = self._entry(transactional_id)
        # First: at an overflow of epochs, the producer may have the next producer id already.
        self._check_no_transition(entry)
        current = entry.current
        _check_producer(current, producer_id, producer_epoch)
        added = tuple(partitions)
        if current.state is TransactionState.ONGOING and all(tp in current.partitions for tp in added):
            return Decision(None)
        new = current.with_partitions(added, version, self._context.clock.wall_ms())
        return self._write({transactional_id: new}, None)

    def verify_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return an error code for each partition: a broker verifies, before it appends, that they are in the
        transaction. A transition that is only written does not matter: the log checks the append once more."""
        current = self._entry(transactional_id).current
        _check_producer(current, producer_id, producer_epoch)
        if current.state.is_decided:
            raise ConcurrentTransactions(f"{transactional_id} is {current.state.shown}")
        return {tp: 0 if tp in current.partitions else ErrorCode.TRANSACTION_ABORTABLE for tp in partitions}

    def end(self, transactional_id: str, request: EndRequest) -> Decision[Identity]:
        """Answered when the decision is committed; the markers follow by themselves."""
        entry = self._entry(transactional_id)
        now_ms = self._context.clock.wall_ms()
        new = next_after_end(entry.current, request, now_ms, self._new_id, is_pending=entry.is_pending)
        updated = entry.current if new is None else new.completed(now_ms)
        has_epochs = request.version >= EPOCH_BUMP_VERSION
        identity = Identity(updated.producer_id, updated.producer_epoch) if has_epochs else Identity()
        return Decision(identity) if new is None else self._write({transactional_id: new}, identity)

    def describe(self, transactional_id: str) -> Transaction:
        entry = self._entries.get(transactional_id)
        if entry is None:
            raise TransactionalIdNotFound(f"there is no transactional id {transactional_id}")
        return entry.current

    def transactions(self) -> Iterator[Transaction]:
        return (entry.current for entry in self._entries.values())

    # Time

    def _abort_timed_out(self) -> Decision[None]:
        self._context.timers.schedule(_TIMED_OUT, self._settings.abort_interval_ms, self._abort_timed_out)
        now_ms = self._context.clock.wall_ms()
        late = [
            transactional_id
            for transactional_id, entry in self._entries.items()
            if not entry.is_pending and entry.current.has_timed_out(now_ms)
        ]
        for transactional_id in late[:_ABORTED_AT_ONCE]:
            self._context.timers.schedule(f"abort {transactional_id}", 0, partial(self._abort_late, transactional_id))
        if len(late) > _ABORTED_AT_ONCE:
            self._context.timers.schedule(_TIMED_OUT, _NEXT_ABORTED_MS, self._abort_timed_out)
        return Decision(None)

    def _abort_late(self, transactional_id: str) -> Decision[None]:
        """A batch for each of them: all that are late at once may be more than one batch can hold."""
        entry, now_ms = self._entries.get(transactional_id), self._context.clock.wall_ms()
        if entry is None or entry.is_pending or not entry.current.has_timed_out(now_ms):
            return Decision(None)
        logger.info("%s is aborted: it took over %d ms", transactional_id, entry.current.timeout_ms)
        return self._write({transactional_id: fence(entry.current, self._version(), now_ms, self._new_id)}, None)

    def _forget_expired(self) -> Decision[None]:
        self._context.timers.schedule(_EXPIRED, self._settings.expiry_interval_ms, self._forget_expired)
        oldest_ms = self._context.clock.wall_ms() - self._settings.transactional_id_expiration_ms
        expired = [
            transactional_id
            for transactional_id, entry in self._entries.items()
            if not entry.is_pending and entry.current.state.is_idle and entry.current.updated_ms <= oldest_ms
        ][:_EXPIRED_AT_ONCE]
        if not expired:
            return Decision(None)
        tombstones = first_batch([CoordinatorRecord(TransactionLogKey(transactional_id=each)) for each in expired])
        if len(tombstones) < len(expired) or len(expired) == _EXPIRED_AT_ONCE:
            self._context.timers.schedule(_EXPIRED, _NEXT_EXPIRED_MS, self._forget_expired)
        expired = expired[: len(tombstones)]
        logger.info("%d transactional ids have expired", len(expired))
        for transactional_id in expired:
            self._entries[transactional_id].is_pending = True
        return Decision(None, tombstones, False, lambda error: self._forgotten(expired, error))

    def _forgotten(self, expired: list[str], error: ApiError | None) -> None:
        for transactional_id in expired:
            if error is None:
                del self._entries[transactional_id]
            else:
                self._entries[transactional_id].is_pending = False

    # Writing

    def _write(self, changes: dict[str, Transaction], answer: Answer) -> Decision[Answer]:
        """They are pending until they are committed."""
        value_version = 1 if self._version() >= 1 else 0
        for transactional_id in changes:
            self._entries[transactional_id].is_pending = True
        records = tuple(new.record(value_version) for new in changes.values())
        return Decision(answer, records, False, lambda error: self._written(changes, error))

    def _written(self, changes: dict[str, Transaction], error: ApiError | None) -> None:
        for transactional_id, new in changes.items():
            entry = self._entries[transactional_id]
            entry.is_pending = False
            if error is None:
                entry.current = new
                if new.state.is_decided:
                    self._send_markers(new)

    def _send_markers(self, decided: Transaction) -> None:
        context = self._context
        self._markers.add(
            context.partition, context.leader_epoch, decided, lambda: self._complete_in(0, decided.transactional_id)
        )

    def _complete_in(self, delay_ms: int, transactional_id: str) -> None:
        self._context.timers.schedule(
            f"complete {transactional_id}", delay_ms, lambda: self._complete(transactional_id)
        )

    def _complete(self, transactional_id: str) -> Decision[None]:
        entry = self._entries[transactional_id]
        if entry.is_pending or not entry.current.state.is_decided:
            return Decision(None)  # a timer that ran twice: the completion is on its way, or there
        completed = entry.current.completed(self._context.clock.wall_ms())
        decision = self._write({transactional_id: completed}, None)
        settle = decision.on_done

        def done(error: ApiError | None) -> None:
            assert settle is not None
            settle(error)
            if error is not None and error.code != ErrorCode.NOT_COORDINATOR:
                self._complete_in(_COMPLETION_RETRY_MS, transactional_id)

        return Decision(None, decision.records, False, done)

    # Checks

    def _version(self) -> int:
        """Return the transaction version of the cluster."""
        return self._context.image().features.level(TRANSACTION_VERSION)

    def _entry(self, transactional_id: str) -> _Entry:
        entry = self._entries.get(transactional_id)
        if entry is None:
            raise InvalidProducerIdMapping(f"{transactional_id} has no producer")
        return entry

    def _check_no_transition(self, entry: _Entry) -> None:
        if entry.has_pending_transition:
            current = entry.current
            raise ConcurrentTransactions(
                f"a transition of {current.transactional_id}, {current.state.shown}, is pending"
            )


def _check_producer(current: Transaction, producer_id: int, producer_epoch: int) -> None:
    if current.producer_id != producer_id:
        raise InvalidProducerIdMapping(
            f"{current.transactional_id} belongs to producer {current.producer_id}, not {producer_id}"
        )
    if current.producer_epoch != producer_epoch:
        raise ProducerFenced(f"{current.transactional_id} is at epoch {current.producer_epoch}, not {producer_epoch}")


def _is_same_producer(current: Transaction, expected: Identity) -> bool:
    """Or one that was given another id because its epochs ran out, and did not hear of it."""
    return (
        current.producer_epoch == NO_EPOCH
        or expected.producer_id == current.producer_id
        or (expected.producer_id == current.previous_producer_id and is_exhausted(expected.producer_epoch))
    )
