"""Phases of a producer, their errors, and operations that are called again."""

import pytest

from odradek.client.producer.transaction_states import (
    OperationInProgress,
    TransactionPhase,
    TransactionResult,
    TransactionStateMachine,
)
from odradek.errors import ProducerFailed, ProducerFenced, TransactionMustAbort, WrongTransactionState


def machine(*phases: TransactionPhase) -> TransactionStateMachine:
    states = TransactionStateMachine("tx", 10_000)
    for phase in phases:
        states.transition_to(phase)
    return states


OPEN = (TransactionPhase.INITIALIZING, TransactionPhase.READY, TransactionPhase.IN_TRANSACTION)


def test_an_abortable_error_forbids_everything_but_the_abort() -> None:
    states = machine(*OPEN)
    states.transition_to_abortable_error(ValueError("bad record"))
    with pytest.raises(TransactionMustAbort, match="must be aborted: bad record"):
        states.check_usable()
    states.transition_to(TransactionPhase.ABORTING)
    states.transition_to_abortable_error(ValueError("another"))
    assert states.phase is TransactionPhase.ABORTING, "it is being aborted already"


def test_an_abortable_error_without_a_transaction_is_fatal() -> None:
    states = machine(*OPEN[:2])
    states.transition_to_abortable_error(ValueError("late"))
    with pytest.raises(ProducerFailed, match="must be closed: late"):
        states.check_usable()


def test_a_fenced_producer_says_so_at_each_call() -> None:
    states = machine(*OPEN)
    states.transition_to_fatal_error(states.fenced())
    with pytest.raises(ProducerFenced, match=r'transactional id "tx".* transaction\.timeout\.ms \(10000\)'):
        states.check_usable()


def test_an_illegal_transition_names_the_operation() -> None:
    with pytest.raises(WrongTransactionState, match="commit_transaction is not allowed: init_transactions was not"):
        machine().transition_to(TransactionPhase.COMMITTING)


def test_an_operation_is_resumed_until_its_result_is_acknowledged() -> None:
    operation, result = OperationInProgress(), TransactionResult()
    started: list[TransactionResult] = []

    def start() -> TransactionResult:
        started.append(result)
        return result

    for _ in range(2):
        assert operation.start_or_resume(TransactionPhase.COMMITTING, "commit_transaction", start) is result
    assert len(started) == 1
    with pytest.raises(WrongTransactionState, match="send: commit_transaction has not finished"):
        operation.check_none("send")
    with pytest.raises(WrongTransactionState, match="abort_transaction: commit_transaction has not finished"):
        operation.start_or_resume(TransactionPhase.ABORTING, "abort_transaction", start)
    result.complete()
    result.acknowledge()
    operation.check_none("send")
