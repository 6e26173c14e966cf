from dataclasses import replace

import pytest

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.transaction.ending import EndRequest, fence, next_after_end
from odradek.coordinator.transaction.states import TransactionState as State
from odradek.coordinator.transaction.transaction import MAX_EPOCH, Transaction
from odradek.protocol.error_codes import ErrorCode

EPOCH = 5
NEW_ID = 900
FENCED, CONCURRENT = ErrorCode.PRODUCER_FENCED, ErrorCode.CONCURRENT_TRANSACTIONS
WRONG_STATE, WRONG_ID = ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_ID_MAPPING
#: Ended so before: answered without a change.
AS_BEFORE = None


def transaction(state: State, **fields: int) -> Transaction:
    values = {"producer_id": 7, "producer_epoch": EPOCH, "timeout_ms": 1_000, "updated_ms": 10, "started_ms": 10}
    return replace(
        Transaction("t", **(values | fields)),  # type: ignore[arg-type]
        state=state,
        partitions=(TopicPartition("a", 0),) if state is State.ONGOING or state.is_decided else (),
    )


def outcome(
    current: Transaction, epoch: int, commit: bool, version: int, producer_id: int = 7, is_pending: bool = False
) -> object:
    request = EndRequest(producer_id, epoch, commit, version)
    try:
        after = next_after_end(current, request, 20, lambda: NEW_ID, is_pending=is_pending)
    except ApiError as error:
        return error.code
    return None if after is None else after.state


# Kafka's own table stands above TransactionCoordinator.endTransaction; retry is the epoch before.
@pytest.mark.parametrize(
    ("state", "abort_retry", "abort_now", "commit_retry", "commit_now"),
    [
        (State.EMPTY, FENCED, State.PREPARE_ABORT, FENCED, WRONG_STATE),
        (State.ONGOING, FENCED, State.PREPARE_ABORT, FENCED, State.PREPARE_COMMIT),
        (State.COMPLETE_COMMIT, WRONG_STATE, State.PREPARE_ABORT, AS_BEFORE, WRONG_STATE),
        (State.COMPLETE_ABORT, AS_BEFORE, State.PREPARE_ABORT, WRONG_STATE, WRONG_STATE),
    ],
)
def test_with_version_two_the_epoch_tells_a_retry_from_the_next_end(
    state: State, abort_retry: object, abort_now: object, commit_retry: object, commit_now: object
) -> None:
    current = transaction(state)
    found = [outcome(current, epoch, commit, 2) for commit in (False, True) for epoch in (EPOCH - 1, EPOCH)]
    assert found == [abort_retry, abort_now, commit_retry, commit_now]
    assert outcome(current, EPOCH + 1, True, 2) == FENCED
    assert outcome(current, EPOCH, True, 2, producer_id=8) == WRONG_ID


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("state", "abort", "commit"),
    [
        (State.EMPTY, WRONG_STATE, WRONG_STATE),
        (State.ONGOING, State.PREPARE_ABORT, State.PREPARE_COMMIT),
        (State.PREPARE_COMMIT, CONCURRENT, CONCURRENT),
        (State.PREPARE_ABORT, CONCURRENT, CONCURRENT),
        (State.COMPLETE_COMMIT, WRONG_STATE, AS_BEFORE),
        (State.COMPLETE_ABORT, AS_BEFORE, WRONG_STATE),
    ],
)
def test_before_version_two_only_the_state_tells(version: int, state: State, abort: object, commit: object) -> None:
    current = transaction(state)
    assert [outcome(current, EPOCH, False, version), outcome(current, EPOCH, True, version)] == [abort, commit]
    for other in (EPOCH - 1, EPOCH + 1):
        assert outcome(current, other, True, version) == FENCED
    assert outcome(current, EPOCH, True, version, producer_id=8) == WRONG_ID


@pytest.mark.parametrize(
    ("state", "is_pending"),
    [(State.PREPARE_COMMIT, False), (State.PREPARE_ABORT, False), (State.ONGOING, True), (State.COMPLETE_ABORT, True)],
)
def test_with_version_two_a_pending_transition_comes_before_the_producer_id_and_epoch(
    state: State, is_pending: bool
) -> None:
    current = transaction(state)
    for epoch in (EPOCH - 1, EPOCH, EPOCH + 1):
        for commit in (False, True):
            for producer_id in (7, 8):
                assert outcome(current, epoch, commit, 2, producer_id, is_pending) == CONCURRENT


def test_before_version_two_the_producer_id_and_epoch_come_before_a_pending_transition() -> None:
    ongoing = transaction(State.ONGOING)
    assert outcome(ongoing, EPOCH, True, 0, producer_id=8, is_pending=True) == WRONG_ID
    assert outcome(ongoing, EPOCH - 1, True, 0, is_pending=True) == FENCED
    assert outcome(ongoing, EPOCH, True, 0, is_pending=True) == CONCURRENT


def test_an_end_of_version_two_takes_an_epoch() -> None:
    decided = next_after_end(transaction(State.ONGOING), EndRequest(7, EPOCH, True, 2), 20, lambda: NEW_ID)
    assert decided is not None
    assert (decided.producer_epoch, decided.last_producer_epoch, decided.next_producer_id) == (EPOCH + 1, EPOCH, -1)
    completed = decided.completed(30)
    assert (completed.producer_id, completed.producer_epoch, completed.partitions) == (7, EPOCH + 1, ())


def test_an_end_that_takes_the_last_epoch_brings_a_new_id() -> None:
    last = MAX_EPOCH - 1
    request = EndRequest(7, last, True, 2)
    decided = next_after_end(transaction(State.ONGOING, producer_epoch=last), request, 20, lambda: NEW_ID)
    assert decided is not None
    assert (decided.producer_id, decided.producer_epoch, decided.next_producer_id) == (7, MAX_EPOCH, NEW_ID)
    completed = decided.completed(30)
    assert (completed.producer_id, completed.producer_epoch, completed.previous_producer_id) == (NEW_ID, 0, 7)
    assert outcome(completed, last, True, 2) is AS_BEFORE  # it did not hear of it, and asks again with what it knows


def test_a_fenced_producer_is_one_epoch_behind() -> None:
    ongoing = transaction(State.ONGOING)
    for version in (0, 1, 2):
        decided = fence(ongoing, version, 20, lambda: NEW_ID)
        assert (decided.state, decided.producer_epoch) == (State.PREPARE_ABORT, EPOCH + 1)
        assert outcome(decided.completed(30), EPOCH, True, version) in (FENCED, WRONG_STATE)
