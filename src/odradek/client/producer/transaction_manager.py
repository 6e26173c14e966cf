"""The transactions of a producer, and the identity of an idempotent one. Pure.

A transactional producer gets its identity from the coordinator of its transactional id, which also decides about the
end of each transaction. Each concern has an owner: the phase and its errors (`transaction_states`), the identity and
its epoch (`identity_keeper`), sequence numbers (`batch_sequences`), the partitions of the transaction, and the version
of transactions. The manager has the calls of the application, each of which returns a `TransactionResult`, and says
which request to send next (`next_request`); the driver knows time and network. Responses change the owners through
`CoordinatorResults`.
"""

from collections.abc import Callable, Mapping

from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.producer.batch_sequences import BatchSequences
from odradek.client.producer.identity_keeper import ProducerIdentityKeeper
from odradek.client.producer.partition_sequences import SequenceTable
from odradek.client.producer.pending_request import PendingRequest, ProducerSnapshot, TransactionRequests
from odradek.client.producer.producer_identity import ProducerIdentity
from odradek.client.producer.transaction_features import TransactionFeatures
from odradek.client.producer.transaction_offsets import AddOffsets, CommitOffsets, CommittedOffset, GroupIdentity
from odradek.client.producer.transaction_partitions import TransactionPartitions
from odradek.client.producer.transaction_requests import AddPartitions, EndTransaction, InitProducerId
from odradek.client.producer.transaction_states import (
    OperationInProgress,
    TransactionPhase,
    TransactionResult,
    TransactionStateMachine,
)
from odradek.client.types import TopicPartition
from odradek.errors import ProducerClosed

_IN_TRANSACTION = TransactionPhase.IN_TRANSACTION


class CoordinatorResults:
    """Applies the results of requests to the owners: the `TransactionEvents` of all requests."""

    def __init__(
        self,
        states: TransactionStateMachine,
        keeper: ProducerIdentityKeeper,
        partitions: TransactionPartitions,
        requests: TransactionRequests,
        forget_coordinator: Callable[[CoordinatorKind, str], None],
    ) -> None:
        self._states = states
        self._keeper = keeper
        self._partitions = partitions
        self.enqueue = requests.enqueue
        self.coordinator_moved = forget_coordinator
        self.offsets_added = partitions.mark_started
        self.partitions_added = partitions.confirm
        self.partitions_rejected = partitions.reject
        self.epoch_bump_needed = keeper.request_bump
        self.fenced = states.fenced

    @property
    def has_partitions(self) -> bool:
        return bool(self._partitions.added)

    def initialized(self, identity: ProducerIdentity, *, is_epoch_bump: bool) -> None:
        self._keeper.replace(identity, restarts_sequences=is_epoch_bump)
        self._states.transition_to(TransactionPhase.READY)

    def ended(self, next_identity: ProducerIdentity | None) -> None:
        if next_identity is not None:
            self._keeper.replace(next_identity, restarts_sequences=True)
        is_bump_due = self._keeper.is_bump_due
        self._states.transition_to(TransactionPhase.INITIALIZING if is_bump_due else TransactionPhase.READY)
        self._keeper.clear_bump()
        self._partitions.clear()

    def failed(self, error: Exception, *, is_fatal: bool) -> None:
        if is_fatal:
            self._states.transition_to_fatal_error(error)
        else:
            self._states.transition_to_abortable_error(error)


class TransactionManager:
    def __init__(
        self,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        retry_backoff_ms: float = 100,
        forget_coordinator: Callable[[CoordinatorKind, str], None] = lambda coordinator, key: None,
    ) -> None:
        """Without a transactional id the producer is only idempotent."""
        self.states = TransactionStateMachine(transactional_id, transaction_timeout_ms)
        self.features = TransactionFeatures()
        table = SequenceTable()
        self._keeper = ProducerIdentityKeeper(table, self.features)
        self._partitions = TransactionPartitions()
        self.sequences = BatchSequences(self.states, self._keeper, self._partitions, table)
        self._requests = TransactionRequests()
        self._results = CoordinatorResults(
            self.states, self._keeper, self._partitions, self._requests, forget_coordinator
        )
        self._retry_backoff_ms = retry_backoff_ms
        self._operation = OperationInProgress()

    @property
    def identity(self) -> ProducerIdentity:
        return self._keeper.identity

    # Calls of the application

    def initialize(self) -> TransactionResult:
        def start() -> TransactionResult:
            self.states.transition_to(TransactionPhase.INITIALIZING)
            self.features.apply()
            return self._send(InitProducerId(self._results, self._snapshot()))

        self.states.check_transactional()
        self.states.check_usable()
        return self._operation.start_or_resume(TransactionPhase.INITIALIZING, "init_transactions", start)

    def begin(self) -> None:
        self.states.check_transactional()
        self._operation.check_none("begin_transaction")
        self.states.check_usable()
        self.states.transition_to(_IN_TRANSACTION)

    def commit(self) -> TransactionResult:
        def start() -> TransactionResult:
            self.states.check_usable()
            self.states.transition_to(TransactionPhase.COMMITTING)
            return self._end(is_commit=True)

        self.states.check_transactional()
        return self._operation.start_or_resume(TransactionPhase.COMMITTING, "commit_transaction", start)

    def abort(self) -> TransactionResult:
        def start() -> TransactionResult:
            if self.states.phase is not TransactionPhase.ABORTABLE_ERROR:
                self.states.check_usable()
            self.states.transition_to(TransactionPhase.ABORTING)
            self._partitions.drop_new()
            return self._end(is_commit=False)

        self.states.check_transactional()
        return self._operation.start_or_resume(TransactionPhase.ABORTING, "abort_transaction", start)

    def send_offsets(
        self, offsets: Mapping[TopicPartition, CommittedOffset], group: GroupIdentity
    ) -> TransactionResult:
        self.states.check_transactional()
        self._operation.check_none("send_offsets_to_transaction")
        self.states.check_usable()
        self.states.check_in_transaction("send_offsets_to_transaction")
        request_type = CommitOffsets if self.features.is_version_2 else AddOffsets
        return self._send(request_type(self._results, self._snapshot(), offsets, group))

    def add_partition(self, partition: TopicPartition) -> None:
        """Add the partition of a record before it is sent. Raises what forbids it."""
        if partition in self._partitions.added and self.states.phase is _IN_TRANSACTION:
            return
        self.states.check_usable()
        if not self.states.is_transactional:
            return
        self._operation.check_none("send")
        self.states.check_in_transaction("send")
        self._partitions.add(partition, is_version_2=self.features.is_version_2)

    def _end(self, *, is_commit: bool) -> TransactionResult:
        self._request_new_partitions()
        end = EndTransaction(self._results, self._snapshot(), is_commit=is_commit)
        if self.features.apply():
            # An epoch of its own keeps what was added with version 1 out of the next transaction.
            self._keeper.require_bump()
        self._send(end)
        if not self._keeper.is_bump_due:
            return end.result
        return self._send(InitProducerId(self._results, self._snapshot(), is_epoch_bump=True))

    # Requests

    @property
    def has_pending_requests(self) -> bool:
        return bool(self._requests) or self._partitions.has_new

    def next_request(self, has_incomplete_batches: bool) -> PendingRequest | None:
        """Return the request to send next, once the previous one has its response."""
        self._request_new_partitions()
        if not self._requests:
            return None
        if self.states.has_error:
            self._requests.pop().fail(self.states.failure())
            return None
        if isinstance(self._requests.first, EndTransaction) and has_incomplete_batches:
            return None
        request = self._requests.pop()
        if isinstance(request, EndTransaction) and not self._partitions.has_started:
            # The coordinator does not know of the transaction.
            self._results.ended(None)
            request.result.complete()
            return self._requests.pop() if self._requests else None
        if isinstance(request, CommitOffsets):
            self._partitions.mark_started()
        return request

    def fail_requests(self) -> None:
        """Fail all requests after an error."""
        while self.has_pending_requests:
            self.next_request(has_incomplete_batches=False)

    def renew_identity(self) -> None:
        """Get a producer id or a higher epoch if one is due. For producers without transactions."""
        if self.states.is_transactional or self.states.has_fatal_error:
            return
        if self._keeper.is_bump_due and not self._keeper.raise_epoch():
            self.states.transition_to(TransactionPhase.UNINITIALIZED)
        if not self.identity.is_valid and self.states.phase is TransactionPhase.UNINITIALIZED:
            self.states.transition_to(TransactionPhase.INITIALIZING)
            self._send(InitProducerId(self._results, self._snapshot()))

    def restart(self) -> None:
        """Begin without an identity, after the first request was not authorized: permissions may change."""
        self._requests.fail_all(self.states.last_error or self.states.fenced())
        self.states.transition_to(TransactionPhase.UNINITIALIZED)

    def close(self) -> None:
        error = ProducerClosed("the producer was closed")
        self._requests.fail_all(error)
        self._operation.fail(error)

    def _request_new_partitions(self) -> None:
        if self._partitions.has_new:
            self._send(AddPartitions(self._results, self._snapshot(), self._partitions.take_new()))

    def _send(self, request: PendingRequest) -> TransactionResult:
        self._requests.enqueue(request)
        return request.result

    def _snapshot(self) -> ProducerSnapshot:
        return ProducerSnapshot(
            self.states.transactional_id,
            self.states.transaction_timeout_ms,
            self._retry_backoff_ms,
            self.identity,
            self.features.is_version_2,
        )
