"""Decides what EndTxn does with a transaction: a transition, the same answer as before, or an error.

The order of the checks is Kafka's, and clients depend on it. With transactions of version 2 a pending transition comes
first: until the markers of the last transaction are written, the coordinator does not know yet the producer id and the
epoch that the client was given with the last response, so an error about those would be wrong, and would be final.
Before version 2 the producer id and the epoch do not change at the end of a transaction, and are checked first.

With version 2 the epoch grows at each end. So the epoch of a request tells a retry (the epoch before the current one)
from the next end (the current one). An abort is accepted although no partition was added: a producer may not know
whether its first record arrived. Before version 2 only the state tells.

    state            abort, retry   abort, current   commit, retry   commit, current      (version 2)
    Empty            fenced         new epoch        fenced          INVALID_TXN_STATE
    CompleteAbort    as before      new epoch        INVALID_...     INVALID_TXN_STATE
    CompleteCommit   INVALID_...    new epoch        as before       INVALID_TXN_STATE
"""

from collections.abc import Callable
from dataclasses import dataclass

from odradek.coordinator.transaction.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidTxnState,
    ProducerFenced,
)
from odradek.coordinator.transaction.states import TransactionState
from odradek.coordinator.transaction.transaction import (
    EPOCH_BUMP_VERSION,
    MAX_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
)

#: Allocates a producer id. Raises ApiError while none is available.
ProducerIds = Callable[[], int]

#: Whether the last transaction was committed, for the states in which there was one.
_WAS_COMMITTED = {TransactionState.COMPLETE_COMMIT: True, TransactionState.COMPLETE_ABORT: False}


@dataclass(frozen=True, slots=True)
class EndRequest:
    producer_id: int
    producer_epoch: int
    commit: bool
    #: The client's version of transactions.
    version: int


def next_after_end(
    current: Transaction, request: EndRequest, now_ms: int, new_id: ProducerIds, *, is_pending: bool = False
) -> Transaction | None:
    """Return the transaction after the request, or None for a retry of the request that ended it. Raises ApiError.

    `is_pending`: another transition of `current` is being written."""
    is_pending = is_pending or current.state.is_decided
    if request.version >= EPOCH_BUMP_VERSION:
        is_retry = _is_retry_by_epoch(current, request, is_pending)
    else:
        is_retry = _is_retry_by_state(current, request, is_pending)
    return None if is_retry else decide(current, request.commit, request.version, now_ms, new_id)


def decide(current: Transaction, commit: bool, version: int, now_ms: int, new_id: ProducerIds) -> Transaction:
    needs_id = version >= EPOCH_BUMP_VERSION and current.is_exhausted
    next_id = new_id() if needs_id else NO_PRODUCER_ID
    return current.decided(commit=commit, version=version, next_producer_id=next_id, now_ms=now_ms)


def fence(current: Transaction, version: int, now_ms: int, new_id: ProducerIds) -> Transaction:
    """Abort it whoever its producer is, and leave that producer behind."""
    if version < EPOCH_BUMP_VERSION:
        return decide(current.fenced(), False, 0, now_ms, new_id)
    return decide(current, False, version, now_ms, new_id)


def _is_retry_by_state(current: Transaction, request: EndRequest, is_pending: bool) -> bool:
    if current.producer_id != request.producer_id:
        raise _other_producer(current, request)
    if current.producer_epoch != request.producer_epoch:
        raise _fenced(current, request)
    if is_pending:
        raise _pending(current)
    if current.state is TransactionState.ONGOING:
        return False
    _check_same_outcome(current, request)
    return True


def _is_retry_by_epoch(current: Transaction, request: EndRequest, is_pending: bool) -> bool:
    if is_pending:
        raise _pending(current)
    state, epoch = current.state, request.producer_epoch
    is_after_overflow = (
        current.previous_producer_id == request.producer_id and epoch == MAX_EPOCH - 1 and current.producer_epoch == 0
    )
    if current.producer_id != request.producer_id and not is_after_overflow:
        raise _other_producer(current, request)
    if state in _WAS_COMMITTED and (is_after_overflow or epoch == current.producer_epoch - 1):
        _check_same_outcome(current, request)
        return True
    if epoch != current.producer_epoch:
        raise _fenced(current, request)
    if state is not TransactionState.ONGOING and request.commit:
        raise _wrong_state(current, request)
    return False


def _check_same_outcome(current: Transaction, request: EndRequest) -> None:
    """Raise unless the transaction was ended as the request asks for."""
    if _WAS_COMMITTED.get(current.state) is not request.commit:
        raise _wrong_state(current, request)


def _pending(current: Transaction) -> ConcurrentTransactions:
    return ConcurrentTransactions(f"a transition of {current.transactional_id}, {current.state.shown}, is pending")


def _other_producer(current: Transaction, request: EndRequest) -> InvalidProducerIdMapping:
    return InvalidProducerIdMapping(
        f"{current.transactional_id} belongs to producer {current.producer_id}, not {request.producer_id}"
    )


def _fenced(current: Transaction, request: EndRequest) -> ProducerFenced:
    return ProducerFenced(
        f"{current.transactional_id} is at epoch {current.producer_epoch}, not {request.producer_epoch}"
    )


def _wrong_state(current: Transaction, request: EndRequest) -> InvalidTxnState:
    requested = "committed" if request.commit else "aborted"
    return InvalidTxnState(f"{current.transactional_id} is {current.state.shown} and cannot be {requested}")
