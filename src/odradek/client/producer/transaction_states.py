"""States of a producer with a producer id, and the transitions between them. Pure.

After an abortable error the transaction can only be aborted; after a fatal one the producer can only be closed.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto

from odradek.common.failures import ApiError
from odradek.errors import ProducerFailed, ProducerFenced, TransactionMustAbort, WrongTransactionState


class TransactionPhase(Enum):
    #: No producer id yet, or not any more.
    UNINITIALIZED = auto()
    INITIALIZING = auto()
    #: Transactional: no transaction is open. Idempotent: always.
    READY = auto()
    IN_TRANSACTION = auto()
    COMMITTING = auto()
    ABORTING = auto()
    #: The transaction can only be aborted.
    ABORTABLE_ERROR = auto()
    #: The producer can only be closed.
    FATAL_ERROR = auto()


_ENDING = (TransactionPhase.COMMITTING, TransactionPhase.ABORTING)

#: Legal sources of each phase. A fatal error may always be entered.
SOURCES: Mapping[TransactionPhase, tuple[TransactionPhase, ...]] = {
    TransactionPhase.UNINITIALIZED: (TransactionPhase.READY, TransactionPhase.ABORTABLE_ERROR),
    TransactionPhase.INITIALIZING: (TransactionPhase.UNINITIALIZED, *_ENDING),
    TransactionPhase.READY: (TransactionPhase.INITIALIZING, *_ENDING),
    TransactionPhase.IN_TRANSACTION: (TransactionPhase.READY,),
    TransactionPhase.COMMITTING: (TransactionPhase.IN_TRANSACTION,),
    TransactionPhase.ABORTING: (TransactionPhase.IN_TRANSACTION, TransactionPhase.ABORTABLE_ERROR),
    TransactionPhase.ABORTABLE_ERROR: (
        TransactionPhase.IN_TRANSACTION,
        TransactionPhase.COMMITTING,
        TransactionPhase.ABORTABLE_ERROR,
        TransactionPhase.INITIALIZING,
    ),
    TransactionPhase.FATAL_ERROR: tuple(TransactionPhase),
}

#: Descriptions for error messages of calls that are not allowed.
DESCRIPTIONS: Mapping[TransactionPhase, str] = {
    TransactionPhase.UNINITIALIZED: "init_transactions was not called",
    TransactionPhase.INITIALIZING: "init_transactions has not finished",
    TransactionPhase.READY: "no transaction is open",
    TransactionPhase.IN_TRANSACTION: "a transaction is open",
    TransactionPhase.COMMITTING: "the transaction is being committed",
    TransactionPhase.ABORTING: "the transaction is being aborted",
    TransactionPhase.ABORTABLE_ERROR: "the transaction has failed and can only be aborted",
    TransactionPhase.FATAL_ERROR: "the producer has failed and must be closed",
}

#: Operation of the application that leads to a phase.
_OPERATIONS = {
    TransactionPhase.INITIALIZING: "init_transactions",
    TransactionPhase.IN_TRANSACTION: "begin_transaction",
    TransactionPhase.COMMITTING: "commit_transaction",
    TransactionPhase.ABORTING: "abort_transaction",
}


class TransactionStateMachine:
    """Current phase and last error. Nobody else changes them."""

    def __init__(self, transactional_id: str | None, transaction_timeout_ms: int) -> None:
        """Without a transactional id the producer is only idempotent."""
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.is_transactional = transactional_id is not None
        self.phase = TransactionPhase.UNINITIALIZED
        self.last_error: Exception | None = None

    @property
    def has_error(self) -> bool:
        return self.phase in (TransactionPhase.ABORTABLE_ERROR, TransactionPhase.FATAL_ERROR)

    @property
    def has_fatal_error(self) -> bool:
        return self.phase is TransactionPhase.FATAL_ERROR

    @property
    def is_completing(self) -> bool:
        return self.phase in _ENDING

    @property
    def has_open_transaction(self) -> bool:
        is_open = self.phase in (TransactionPhase.IN_TRANSACTION, TransactionPhase.ABORTABLE_ERROR)
        return self.is_transactional and (is_open or self.is_completing)

    def transition_to(self, phase: TransactionPhase, error: Exception | None = None) -> None:
        if self.phase not in SOURCES[phase]:
            raise self.not_allowed(_OPERATIONS.get(phase, f"a change to {phase.name}"))
        self.phase, self.last_error = phase, error

    def transition_to_abortable_error(self, error: Exception) -> None:
        if self.phase in (TransactionPhase.ABORTING, TransactionPhase.FATAL_ERROR):
            return
        # Without a transaction there is nothing to abort.
        is_abortable = self.phase in SOURCES[TransactionPhase.ABORTABLE_ERROR]
        self.transition_to(TransactionPhase.ABORTABLE_ERROR if is_abortable else TransactionPhase.FATAL_ERROR, error)

    def transition_to_fatal_error(self, error: Exception) -> None:
        self.transition_to(TransactionPhase.FATAL_ERROR, error)

    def check_transactional(self) -> None:
        if not self.is_transactional:
            raise WrongTransactionState("the producer has no transactional.id, so it has no transactions")

    def check_in_transaction(self, operation: str) -> None:
        if self.phase is not TransactionPhase.IN_TRANSACTION:
            raise self.not_allowed(operation)

    def check_usable(self) -> None:
        """Raise the exception of an earlier error."""
        if self.has_error:
            raise self.failure()

    def failure(self) -> ApiError:
        """Return the exception for a call that an earlier error forbids."""
        failure: ApiError
        if self.phase is TransactionPhase.ABORTABLE_ERROR:
            failure = TransactionMustAbort(f"the transaction must be aborted: {self.last_error}")
        elif isinstance(self.last_error, ProducerFenced):
            return self.fenced()
        else:
            failure = ProducerFailed(f"the producer must be closed: {self.last_error}")
        failure.__cause__ = self.last_error
        return failure

    def fenced(self) -> ProducerFenced:
        return ProducerFenced(
            f'another producer with the transactional id "{self.transactional_id}" has started, or the transaction '
            f"took longer than transaction.timeout.ms ({self.transaction_timeout_ms}); this one must be closed"
        )

    def not_allowed(self, operation: str) -> WrongTransactionState:
        return WrongTransactionState(f"{operation} is not allowed: {DESCRIPTIONS[self.phase]}")


class TransactionResult:
    """Result of an operation that sends requests; `is_acked` once its caller has seen it."""

    __slots__ = ("_listeners", "error", "is_acked", "is_done")

    def __init__(self) -> None:
        self.is_done = self.is_acked = False
        self.error: Exception | None = None
        self._listeners: list[Callable[[], None]] = []

    def complete(self) -> None:
        self._finish(None)

    def fail(self, error: Exception) -> None:
        self._finish(error)

    def acknowledge(self) -> None:
        """Note that the caller has seen the result: the next operation may start."""
        self.is_acked = True

    def listen(self, listener: Callable[[], None]) -> None:
        """Call the listener once the operation has finished, at once if it has."""
        if self.is_done:
            listener()
        else:
            self._listeners.append(listener)

    def _finish(self, error: Exception | None) -> None:
        if self.is_done:
            return
        self.is_done, self.error = True, error
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()


class OperationInProgress:
    """The last change of state that the application asked for, until it has seen its result.

    A call that took too long for its caller has not failed: the same call again returns the same result, and any other
    is an error."""

    def __init__(self) -> None:
        self._result: TransactionResult | None = None
        self._phase = TransactionPhase.UNINITIALIZED
        self._operation = ""

    def start_or_resume(
        self, phase: TransactionPhase, operation: str, start: Callable[[], TransactionResult]
    ) -> TransactionResult:
        if self._result is not None and not self._result.is_acked:
            result = self._result
            if self._phase is not phase:
                self.check_none(operation)
            return result
        result = start()
        self._result, self._phase, self._operation = result, phase, operation
        return result

    def check_none(self, operation: str) -> None:
        if self._result is not None:
            if not self._result.is_acked:
                raise WrongTransactionState(f"{operation}: {self._operation} has not finished and must be called again")
            self._result = None

    def fail(self, error: Exception) -> None:
        if self._result is not None:
            self._result.fail(error)
