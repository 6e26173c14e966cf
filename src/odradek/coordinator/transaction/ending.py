"""What EndTxn makes of a transaction: the next state, an answer without one, or a refusal.

With version 2 the epoch grows at each end, so the epoch in the request tells a retry (the one before the present) from
the next end (the present one), and an abort is taken although nothing was begun: a producer may not know whether its
first record arrived. Before version 2 the epoch stays, and only the state tells.

    state            abort, retry   abort, present   commit, retry   commit, present      (version 2)
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

#: Gives out a new producer id. Raises ApiError while none is at hand.
ProducerIds = Callable[[], int]

_OUTCOMES = {
    TransactionState.PREPARE_COMMIT: True,
    TransactionState.COMPLETE_COMMIT: True,
    TransactionState.PREPARE_ABORT: False,
    TransactionState.COMPLETE_ABORT: False,
}


@dataclass(frozen=True, slots=True)
class EndRequest:
    producer_id: int
    producer_epoch: int
    commit: bool
    #: Of transactions, as the client speaks it.
    version: int


def next_after_end(current: Transaction, request: EndRequest, now_ms: int, new_id: ProducerIds) -> Transaction | None:
    """None: it was ended so before, and the producer asks again. Raises ApiError."""
    if request.version >= EPOCH_BUMP_VERSION:
        has_ended = _has_ended_with_epoch(current, request)
    else:
        has_ended = _has_ended(current, request)
    return None if has_ended else decide(current, request.commit, request.version, now_ms, new_id)


def decide(current: Transaction, commit: bool, version: int, now_ms: int, new_id: ProducerIds) -> Transaction:
    needs_id = version >= EPOCH_BUMP_VERSION and current.is_exhausted
    next_id = new_id() if needs_id else NO_PRODUCER_ID
    return current.decided(commit=commit, version=version, next_producer_id=next_id, now_ms=now_ms)


def fence(current: Transaction, version: int, now_ms: int, new_id: ProducerIds) -> Transaction:
    """Abort it whoever its producer is, and leave that producer behind."""
    if version < EPOCH_BUMP_VERSION:
        return decide(current.fenced(), False, 0, now_ms, new_id)
    return decide(current, False, version, now_ms, new_id)


def _has_ended(current: Transaction, request: EndRequest) -> bool:
    if current.producer_id != request.producer_id:
        raise _other_producer(current, request)
    if current.producer_epoch != request.producer_epoch:
        raise _fenced(current, request)
    if current.state is TransactionState.ONGOING:
        return False
    _check_outcome(current, request)
    return True


def _has_ended_with_epoch(current: Transaction, request: EndRequest) -> bool:
    state, epoch = current.state, request.producer_epoch
    is_after_overflow = (
        current.previous_producer_id == request.producer_id and epoch == MAX_EPOCH - 1 and current.producer_epoch == 0
    )
    is_retry = is_after_overflow or epoch == current.producer_epoch - 1
    is_present = epoch == current.producer_epoch
    if current.producer_id != request.producer_id and not is_after_overflow:
        raise _other_producer(current, request)
    if state.is_decided:
        if epoch != current.producer_epoch - 1:
            raise _fenced(current, request)
        _check_outcome(current, request)
    if state in (TransactionState.ONGOING, TransactionState.EMPTY):
        if not is_present:
            raise _fenced(current, request)
    elif is_retry:
        _check_outcome(current, request)
        return True
    elif not is_present:
        raise _fenced(current, request)
    if state is not TransactionState.ONGOING and request.commit:
        raise _wrong_state(current, request)
    return False


def _check_outcome(current: Transaction, request: EndRequest) -> None:
    """It was decided before: so, or otherwise?"""
    if _OUTCOMES.get(current.state) is not request.commit:
        raise _wrong_state(current, request)
    if current.state.is_decided:
        raise ConcurrentTransactions(f"the markers of {current.transactional_id} are on their way")


def _other_producer(current: Transaction, request: EndRequest) -> InvalidProducerIdMapping:
    return InvalidProducerIdMapping(
        f"{current.transactional_id} belongs to producer {current.producer_id}, not {request.producer_id}"
    )


def _fenced(current: Transaction, request: EndRequest) -> ProducerFenced:
    return ProducerFenced(
        f"{current.transactional_id} is at epoch {current.producer_epoch}, not {request.producer_epoch}"
    )


def _wrong_state(current: Transaction, request: EndRequest) -> InvalidTxnState:
    wanted = "committed" if request.commit else "aborted"
    return InvalidTxnState(f"{current.transactional_id} is {current.state.shown} and cannot be {wanted}")
