"""Who a producer is to the brokers, and where its transaction stands. Pure.

An idempotent producer has a producer id, an epoch, and sequence numbers for each partition (`batch_sequences`). When a
gap in them cannot be closed it raises its epoch by itself and numbers what is in flight anew. A transactional one gets
its identity from the coordinator of its transactional id, which also decides about each transaction's end. Version 1 of
transactions: partitions and groups are added to a transaction before anything is sent to them, and only an error
raises the epoch. Version 2 (KIP-890): brokers add partitions themselves, and the end of every transaction gives the
next one an epoch of its own.

The manager says what to ask (`next_request`) and is told the answers (`transaction_requests`); whoever drives it knows
time and network. Operations of the application return a `Result`. Errors are of two kinds. After an abortable one the
transaction can only be aborted, after a fatal one the producer is of no use any more.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping

from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.producer.batch_sequences import NOBODY, ProducerIdentity, Sequences
from odradek.client.producer.producer_batch import NO_OFFSET, ProducerBatch
from odradek.client.producer.transaction_requests import (
    AddOffsets,
    AddPartitions,
    CommitOffsets,
    CommittedOffset,
    EndTransaction,
    GroupIdentity,
    InitProducerId,
    PendingRequest,
)
from odradek.client.producer.transaction_states import DESCRIPTIONS, SOURCES, Result, State
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.errors import ProducerClosed, ProducerFailed, ProducerFenced, TransactionMustAbort, WrongTransactionState
from odradek.protocol.error_codes import ErrorCode

_EPOCH_MAX = 2**15 - 1

#: The level of the feature transaction.version from which on brokers add partitions themselves.
_VERSION_2 = 2

#: The operation of the application that leads to a state.
_OPERATIONS = {
    State.INITIALIZING: "init_transactions",
    State.IN_TRANSACTION: "begin_transaction",
    State.COMMITTING: "commit_transaction",
    State.ABORTING: "abort_transaction",
}

#: Of a batch: after these the producer cannot go on.
_FATAL_FOR_BATCHES = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)


class TransactionManager:
    def __init__(
        self,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        retry_backoff_ms: float = 100,
        forget_coordinator: Callable[[CoordinatorKind, str], None] = lambda kind, key: None,
    ) -> None:
        """Idempotent only, without a transactional id."""
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.retry_backoff_ms = retry_backoff_ms
        self.forget_coordinator = forget_coordinator
        self.is_transactional = transactional_id is not None
        self.state = State.UNINITIALIZED
        self.last_error: Exception | None = None
        self.identity = NOBODY
        self.sequences = Sequences()
        self.is_version_2 = False
        #: Whether the coordinator raises an epoch on request; all since Kafka 2.5 do.
        self.coordinator_bumps_epoch = True
        #: What the cluster said last of its features, and how new that was.
        self._features = (-1, 0)
        self._seen_features_epoch = -1
        self._pending: list[PendingRequest] = []
        #: Partitions that are not added yet, are being added, and are in the transaction.
        self._new: dict[TopicPartition, None] = {}
        self._adding: dict[TopicPartition, None] = {}
        self._partitions: dict[TopicPartition, None] = {}
        self._has_started = False
        self._is_bump_due = False
        self._to_renumber: dict[TopicPartition, None] = {}
        #: The last change of state that the application asked for, and has not heard the end of.
        self._transition: tuple[Result, State, str] | None = None

    # What the application asks for

    def initialize(self) -> Result:
        self._check_transactional()
        self._check_error()
        return self._cached(State.INITIALIZING, "init_transactions", self._initialize)

    def begin(self) -> None:
        self._check_transactional()
        self._check_nothing_pending("begin_transaction")
        self._check_error()
        self._transition_to(State.IN_TRANSACTION)

    def commit(self) -> Result:
        def commit() -> Result:
            self._check_error()
            self._transition_to(State.COMMITTING)
            return self._end(is_commit=True)

        self._check_transactional()
        return self._cached(State.COMMITTING, "commit_transaction", commit)

    def abort(self) -> Result:
        def abort() -> Result:
            if self.state != State.ABORTABLE_ERROR:
                self._check_error()
            self._transition_to(State.ABORTING)
            self._new.clear()  # nothing was sent to them
            return self._end(is_commit=False)

        self._check_transactional()
        return self._cached(State.ABORTING, "abort_transaction", abort)

    def send_offsets(self, offsets: Mapping[TopicPartition, CommittedOffset], group: GroupIdentity) -> Result:
        self._check_transactional()
        self._check_nothing_pending("send_offsets_to_transaction")
        self._check_error()
        if self.state != State.IN_TRANSACTION:
            raise self._wrong("send_offsets_to_transaction")
        request: PendingRequest
        request = CommitOffsets(self, offsets, group) if self.is_version_2 else AddOffsets(self, offsets, group)
        self.enqueue(request)
        return request.result

    def add_partition(self, place: TopicPartition) -> None:
        """Before a record is sent there. Raises what forbids it."""
        if place in self._partitions and self.state == State.IN_TRANSACTION:
            return
        self._check_error()
        if not self.is_transactional:
            return
        self._check_nothing_pending("send")
        if self.state != State.IN_TRANSACTION:
            raise self._wrong("send")
        if self.is_version_2:
            self._partitions[place] = None
        elif place not in self._partitions and place not in self._adding:
            self._new[place] = None

    def _initialize(self) -> Result:
        self._transition_to(State.INITIALIZING)
        self._apply_features(is_first=True)
        request = InitProducerId(self, None)
        self.enqueue(request)
        return request.result

    def _end(self, *, is_commit: bool) -> Result:
        if self._new:
            self._enqueue_new_partitions()
        request = EndTransaction(self, is_commit=is_commit)
        self._apply_features(is_first=False)
        self.enqueue(request)
        if not self._is_bump_due:
            return request.result
        bump = InitProducerId(self, self.identity)
        self.enqueue(bump)
        return bump.result

    def _cached(self, state: State, operation: str, begin: Callable[[], Result]) -> Result:
        """The same result again for a call whose first attempt took too long for its caller."""
        if self._transition is not None and not self._transition[0].is_acked:
            result, pending, _ = self._transition
            if pending != state:
                self._check_nothing_pending(operation)
            return result
        result = begin()
        self._transition = (result, state, operation)
        return result

    # What the cluster is

    def note_features(self, epoch: int, transaction_version: int) -> None:
        """The level of transaction.version as a broker has it: the latest counts, from the next transaction on."""
        if epoch > self._features[0]:
            self._features = (epoch, transaction_version)

    def _apply_features(self, *, is_first: bool) -> None:
        epoch, level = self._features
        if epoch <= self._seen_features_epoch:
            return
        self._seen_features_epoch = epoch
        before, self.is_version_2 = self.is_version_2, level >= _VERSION_2
        if not is_first and not before and self.is_version_2:
            # An epoch of its own keeps what was added by the old version out of the next transaction.
            self._is_bump_due = True

    # What is to be asked

    def next_request(self, has_incomplete_batches: bool) -> PendingRequest | None:
        """What to send next, once the answer to the one before is there."""
        if self._new:
            self._enqueue_new_partitions()
        if not self._pending:
            return None
        if self.has_error:
            self._pending.pop(0).fail(self._failure())
            return None
        request = self._pending[0]
        if isinstance(request, EndTransaction) and has_incomplete_batches:
            return None
        del self._pending[0]
        if isinstance(request, EndTransaction) and not self._has_started:
            # The coordinator knows of no transaction.
            self._reset_transaction()
            request.result.done()
            return self._pending.pop(0) if self._pending else None
        if isinstance(request, CommitOffsets):
            self._has_started = True
        return request

    def enqueue(self, request: PendingRequest) -> None:
        insort(self._pending, request, key=lambda each: each.priority)

    def fail_requests(self) -> None:
        """After an error nothing is asked any more."""
        while self.has_pending_requests:
            self.next_request(has_incomplete_batches=False)

    def _enqueue_new_partitions(self) -> None:
        self._adding.update(self._new)
        self._new.clear()
        self.enqueue(AddPartitions(self, self._adding))

    def close(self) -> None:
        error = ProducerClosed("the producer was closed")
        for request in self._pending:
            request.fail(error)
        self._pending.clear()
        if self._transition is not None:
            self._transition[0].fail(error)

    # What answers change

    def initialized(self, identity: ProducerIdentity, *, is_epoch_bump: bool) -> None:
        self.identity = identity
        self._transition_to(State.READY)
        if is_epoch_bump:
            self.sequences.clear()

    def partitions_added(self, places: Iterable[TopicPartition]) -> None:
        self.partitions_not_added(places)
        self._partitions.update(dict.fromkeys(places))
        self._has_started = True

    def partitions_not_added(self, places: Iterable[TopicPartition]) -> None:
        for place in places:
            self._adding.pop(place, None)

    def offsets_added(self) -> None:
        self._has_started = True

    def ended(self, next_identity: ProducerIdentity | None) -> None:
        if next_identity is not None:
            self.identity = next_identity
            self.sequences.clear()
        self._reset_transaction()

    def _reset_transaction(self) -> None:
        self._transition_to(State.INITIALIZING if self._is_bump_due else State.READY)
        self._is_bump_due = self._has_started = False
        self._new.clear()
        self._adding.clear()
        self._partitions.clear()

    # Where it stands

    @property
    def has_error(self) -> bool:
        return self.state in (State.ABORTABLE_ERROR, State.FATAL_ERROR)

    @property
    def has_fatal_error(self) -> bool:
        return self.state == State.FATAL_ERROR

    @property
    def is_completing(self) -> bool:
        return self.state in (State.COMMITTING, State.ABORTING)

    @property
    def has_open_transaction(self) -> bool:
        return self.is_transactional and (
            self.state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR) or self.is_completing
        )

    @property
    def has_partitions(self) -> bool:
        return bool(self._partitions)

    @property
    def has_pending_requests(self) -> bool:
        return bool(self._pending) or bool(self._new)

    @property
    def may_bump_epoch(self) -> bool:
        return self.coordinator_bumps_epoch or self.is_version_2

    def may_send_to(self, place: TopicPartition) -> bool:
        if self.state == State.FATAL_ERROR:
            return False
        return not self.is_transactional or place in self._partitions

    def may_drain(self, batch: ProducerBatch) -> bool:
        return (
            self.identity.is_valid and self.may_send_to(batch.place) and self.sequences.may_drain(batch, self.identity)
        )

    def assign(self, batch: ProducerBatch) -> None:
        """Identity and sequence for a batch that is sent for the first time."""
        found = self.sequences.of(batch.place)
        if found.identity != self.identity and not found.in_flight:
            found.start_at_beginning(self.identity)
        found.assign(batch, is_transactional=self.is_transactional)
        # With version 2 the transaction begins where the first batch arrives. Until one is sent there is nothing to
        # end, and an end might be taken for one that comes too late: of the transaction before.
        self._has_started = True

    # What becomes of batches

    def handle_completed_batch(self, batch: ProducerBatch, base_offset: int) -> None:
        found = self.sequences.known(batch.place)
        if found is not None and found.identity == (batch.producer_id, batch.producer_epoch):
            last_offset = NO_OFFSET if base_offset == NO_OFFSET else base_offset + batch.count - 1
            found.acknowledged(batch.last_sequence, last_offset)
        self.sequences.remove_in_flight(batch)

    def handle_failed_batch(self, batch: ProducerBatch, error: Exception, *, is_certain: bool) -> None:
        """`is_certain` if the batch was surely not written, so that its sequence is free."""
        self._maybe_transition_to_error(error)
        self.sequences.remove_in_flight(batch)
        if self.has_fatal_error:
            return
        code = error.code if isinstance(error, ApiError) else None
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not self.is_transactional:
            self.renumber(batch.place)
        elif code == ErrorCode.UNKNOWN_PRODUCER_ID:
            self.sequences.forget(batch.place)
        elif is_certain and not self.is_transactional:
            self.renumber(batch.place)
        elif is_certain:
            found = self.sequences.known(batch.place)
            if found is not None and batch.has_sequence and found.identity == (batch.producer_id, batch.producer_epoch):
                found.close_gap(batch)

    def can_retry(self, batch: ProducerBatch, code: int, log_start_offset: int) -> bool:
        """Whether a batch that was refused is to be sent again; may lead to a new epoch first."""
        if code == ErrorCode.UNKNOWN_PRODUCER_ID:
            return self._can_retry_unknown_producer(batch, log_start_offset)
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return self._can_retry_out_of_order(batch)
        try:
            return ErrorCode(code).retriable
        except ValueError:
            return False

    def _can_retry_unknown_producer(self, batch: ProducerBatch, log_start_offset: int) -> bool:
        if log_start_offset < 0 or batch.sequence_has_been_reset:
            # The broker does not know where its log begins, so that it will say it another time; or the answer is to
            # what was sent before sequences began anew.
            return True
        found = self.sequences.of(batch.place)
        if self.is_transactional:
            if found.last_acked_offset >= log_start_offset:
                return False
            # All that the broker knew this producer by was deleted.
            found.start_at_beginning(self.identity)
            return True
        self.renumber(batch.place)
        return True

    def _can_retry_out_of_order(self, batch: ProducerBatch) -> bool:
        found = self.sequences.of(batch.place)
        is_before_the_last = not batch.sequence_has_been_reset and batch.base_sequence <= found.last_acked_sequence
        is_waiting = batch.sequence_has_been_reset or not (is_before_the_last or found.is_next(batch.base_sequence))
        if found.unresolved is None and is_waiting:
            return True  # one before it is still to be written
        if self.is_transactional:
            return False
        if found.unresolved is None or found.unresolved == batch.base_sequence:
            self.renumber(batch.place)
        return True

    def resolve_sequences(self) -> None:
        """From time to time, before anything is sent."""
        self.sequences.resolve(self._handle_gap)

    def _handle_gap(self, place: TopicPartition) -> None:
        if not self.is_transactional:
            self.renumber(place)
            return
        said = f"records to {place} were not acknowledged and cannot be sent again"
        if self.may_bump_epoch:
            self.request_epoch_bump()
            self.transition_to_abortable_error(TransactionMustAbort(f"{said}; the transaction can be aborted"))
        else:
            self.transition_to_fatal_error(ProducerFailed(said))

    # Epochs

    def renumber(self, place: TopicPartition) -> None:
        """Sequences of the partition begin anew, with a higher epoch. Not for transactions."""
        self._is_bump_due = True
        self._to_renumber[place] = None

    def request_epoch_bump(self) -> None:
        """Where the end of the transaction does not bring one anyway."""
        if self.coordinator_bumps_epoch and not self.is_version_2:
            self._is_bump_due = True

    def renew_identity(self) -> None:
        """For producers without transactions: a producer id if there is none, a higher epoch if one is due."""
        if self.is_transactional or self.has_fatal_error:
            return
        if self._is_bump_due:
            self._raise_epoch()
        if not self.identity.is_valid and self.state == State.UNINITIALIZED:
            self._transition_to(State.INITIALIZING)
            self.enqueue(InitProducerId(self, None))

    def _raise_epoch(self) -> None:
        self._is_bump_due = False
        if self.identity.epoch >= _EPOCH_MAX:
            self.identity = NOBODY
            self._transition_to(State.UNINITIALIZED)
        elif self.identity.is_valid:
            self.identity = ProducerIdentity(self.identity.producer_id, self.identity.epoch + 1)
        for place in self._to_renumber:
            found = self.sequences.of(place)
            found.start_at_beginning(self.identity)
            found.unresolved = None
        self._to_renumber.clear()

    # Errors

    def transition_to_abortable_error(self, error: Exception) -> None:
        if self.state in (State.ABORTING, State.FATAL_ERROR):
            return
        # Where there is nothing to abort the error has come from nowhere.
        is_abortable = self.state in SOURCES[State.ABORTABLE_ERROR]
        self._transition_to(State.ABORTABLE_ERROR if is_abortable else State.FATAL_ERROR, error)

    def transition_to_fatal_error(self, error: Exception) -> None:
        self._transition_to(State.FATAL_ERROR, error)

    def begin_anew(self) -> None:
        """After an error of the first request, which another permission may mend."""
        error, self.last_error = self.last_error, None
        for request in self._pending:
            request.fail(error or self.fenced())
        self._pending.clear()
        self._transition_to(State.UNINITIALIZED)

    def fenced(self) -> ProducerFenced:
        return ProducerFenced(
            f'another producer with the transactional id "{self.transactional_id}" has begun, or the transaction took '
            f"longer than transaction.timeout.ms ({self.transaction_timeout_ms}); this one must be closed"
        )

    def _maybe_transition_to_error(self, error: Exception) -> None:
        code = error.code if isinstance(error, ApiError) else None
        if code in _FATAL_FOR_BATCHES:
            self.transition_to_fatal_error(error)
        elif self.is_transactional:
            if not self.is_completing:
                self.request_epoch_bump()
            self.transition_to_abortable_error(error)

    def _transition_to(self, state: State, error: Exception | None = None) -> None:
        if self.state not in SOURCES[state]:
            raise self._wrong(_OPERATIONS.get(state, f"a change to {state.name}"))
        self.state, self.last_error = state, error

    def _check_error(self) -> None:
        if self.has_error:
            raise self._failure()

    def _failure(self) -> ApiError:
        """What a call is told that an error forbids."""
        failure: ApiError
        if self.state == State.ABORTABLE_ERROR:
            failure = TransactionMustAbort(f"the transaction must be aborted: {self.last_error}")
        elif isinstance(self.last_error, ProducerFenced):
            return self.fenced()
        else:
            failure = ProducerFailed(f"the producer must be closed: {self.last_error}")
        failure.__cause__ = self.last_error
        return failure

    def _check_transactional(self) -> None:
        if not self.is_transactional:
            raise WrongTransactionState("the producer has no transactional.id, so that it has no transactions")

    def _check_nothing_pending(self, operation: str) -> None:
        if self._transition is not None:
            result, _, before = self._transition
            if not result.is_acked:
                raise WrongTransactionState(f"{operation}: {before} has not finished and must be called again")
            self._transition = None

    def _wrong(self, operation: str) -> WrongTransactionState:
        return WrongTransactionState(f"{operation} is not allowed: {DESCRIPTIONS[self.state]}")
