"""Identity, sequences and transactions as Kafka's TransactionManager has them."""

from typing import Any

import pytest

from odradek.client.errors import refusal
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.producer.pending_request import PendingRequest
from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.record_accumulator import AccumulatorSettings
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.producer.transaction_offsets import AddOffsets, CommitOffsets
from odradek.client.producer.transaction_requests import AddPartitions, EndTransaction, InitProducerId
from odradek.client.producer.transaction_states import TransactionPhase, TransactionResult
from odradek.client.producer.transactions import _GroupAlone
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.errors import (
    DeliveryTimedOut,
    Disconnected,
    ProducerFailed,
    ProducerFenced,
    TransactionMustAbort,
    VersionsDiffer,
    WrongTransactionState,
)
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from odradek.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from odradek.protocol.messages.end_txn_response import EndTxnResponse
from odradek.protocol.messages.init_producer_id_response import InitProducerIdResponse
from odradek.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from unit.client.producer.producing import PLACE, Queues, batch, idempotent

OTHER = TopicPartition("t", 1)
GROUP = _GroupAlone("g")
OFFSETS = {PLACE: OffsetAndMetadata(5), OTHER: OffsetAndMetadata(9, 3, "note")}


class Transactional:
    """A manager, and what it forgot."""

    def __init__(self, version: int = 2) -> None:
        self.forgotten: list[tuple[CoordinatorKind, str]] = []
        self.manager = TransactionManager("tx", 10_000, 100, lambda *key: self.forgotten.append(key))
        self.manager.features.note(1, version)

    def next(self, kind: type[PendingRequest], *, has_incomplete: bool = False) -> Any:
        request = self.manager.next_request(has_incomplete)
        assert isinstance(request, kind)
        return request

    def initialize(self, epoch: int = 0) -> None:
        result = self.manager.initialize()
        self.next(InitProducerId).handle_response(InitProducerIdResponse(producer_id=7, producer_epoch=epoch))
        self.see(result)

    def begin(self) -> None:
        if self.manager.states.phase == TransactionPhase.UNINITIALIZED:
            self.initialize()
        self.manager.begin()

    def send(self, place: TopicPartition = PLACE, count: int = 1) -> ProducerBatch:
        """One that is on its way."""
        self.manager.add_partition(place)
        if not self.manager.features.is_version_2:
            self.next(AddPartitions).handle_response(added({place: 0}))
        made = batch(count, place)
        assert self.manager.sequences.may_send_to(place)
        self.manager.sequences.assign(made)
        return made

    def see(self, result: TransactionResult, error: type[Exception] | None = None) -> None:
        assert result.is_done
        assert isinstance(result.error, error) if error else result.error is None
        result.acknowledge()


def added(codes: dict[TopicPartition, int]) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                name="t",
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(partition_index=place.partition, partition_error_code=code)
                    for place, code in codes.items()
                ],
            )
        ]
    )


def committed(codes: dict[TopicPartition, int]) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name="t",
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=place.partition, error_code=code)
                    for place, code in codes.items()
                ],
            )
        ]
    )


# Idempotence


def test_batches_are_numbered_on_and_epochs_begin_at_zero() -> None:
    manager = idempotent()
    made = [batch(count) for count in (3, 2, 1)]
    for each in made:
        manager.sequences.assign(each)
    assert [(each.producer_id, each.producer_epoch, each.base_sequence) for each in made] == [
        (7, 0, 0),
        (7, 0, 3),
        (7, 0, 5),
    ]
    assert made[1].last_sequence == 4


def test_only_the_next_of_those_that_failed_is_sent_again() -> None:
    manager = idempotent()
    first, second = batch(), batch()
    for each in (first, second):
        manager.sequences.assign(each)
    assert manager.sequences.may_drain(first) and not manager.sequences.may_drain(second)
    manager.sequences.handle_completed_batch(first, 10)
    assert manager.sequences.may_drain(second)


def test_one_that_is_not_next_is_repeated_without_a_new_epoch() -> None:
    manager = idempotent()
    first, second = batch(), batch()
    for each in (first, second):
        manager.sequences.assign(each)
    assert manager.sequences.can_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    manager.renew_identity()
    assert manager.identity.epoch == 0 and second.base_sequence == 1


def test_a_gap_raises_the_epoch_and_numbers_what_is_in_flight_anew() -> None:
    manager = idempotent()
    first, second, other = batch(2), batch(3), batch(1, OTHER)
    for each in (first, second, other):
        manager.sequences.assign(each)
    manager.sequences.handle_completed_batch(first, 0)
    assert manager.sequences.can_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1), "records were lost"
    manager.renew_identity()
    assert manager.identity == (7, 1)
    assert (second.producer_epoch, second.base_sequence, second.sequence_has_been_reset) == (1, 0, True)
    assert (other.producer_epoch, other.base_sequence) == (0, 0), "others keep their epoch until they are done"
    new_other = batch(1, OTHER)
    assert not manager.sequences.may_drain(new_other)
    manager.sequences.handle_completed_batch(other, 0)
    manager.sequences.assign(new_other)
    assert (new_other.producer_epoch, new_other.base_sequence) == (1, 0)


def test_an_unknown_producer_is_retried_with_a_new_epoch() -> None:
    manager = idempotent()
    first = batch()
    manager.sequences.assign(first)
    assert manager.sequences.can_retry(first, ErrorCode.UNKNOWN_PRODUCER_ID, -1)
    manager.renew_identity()
    assert manager.identity.epoch == 0, "the broker could not say where its log begins"
    assert manager.sequences.can_retry(first, ErrorCode.UNKNOWN_PRODUCER_ID, 50)
    manager.renew_identity()
    assert manager.identity.epoch == 1


def test_the_last_epoch_is_followed_by_another_id() -> None:
    manager = idempotent(epoch=2**15 - 1)
    first = batch()
    manager.sequences.assign(first)
    manager.sequences.can_retry(first, ErrorCode.UNKNOWN_PRODUCER_ID, 50)
    manager.renew_identity()
    assert not manager.identity.is_valid and not manager.sequences.may_drain(batch())
    request = manager.next_request(has_incomplete_batches=True)
    assert isinstance(request, InitProducerId)
    request.handle_response(InitProducerIdResponse(producer_id=8, producer_epoch=0))
    assert manager.identity == (8, 0)


def test_what_expired_after_it_was_sent_holds_back_new_ones_until_it_is_resolved() -> None:
    manager = idempotent()
    expired, second = batch(), batch()
    for each in (expired, second):
        manager.sequences.assign(each)
    manager.sequences.handle_failed_batch(expired, DeliveryTimedOut("late"), is_certain=False)
    manager.sequences.mark_unresolved(expired)
    assert not manager.sequences.may_drain(batch())
    manager.sequences.handle_completed_batch(second, 1)
    manager.sequences.resolve_gaps()
    manager.renew_identity()
    assert manager.identity.epoch == 0, "the second was taken, so the first was too"
    assert manager.sequences.may_drain(batch())


def test_what_expired_and_was_last_leads_to_a_new_epoch() -> None:
    manager = idempotent()
    expired = batch()
    manager.sequences.assign(expired)
    manager.sequences.handle_failed_batch(expired, DeliveryTimedOut("late"), is_certain=False)
    manager.sequences.mark_unresolved(expired)
    manager.sequences.resolve_gaps()
    manager.renew_identity()
    assert manager.identity.epoch == 1
    assert manager.sequences.may_drain(batch())


def test_a_refused_batch_leaves_no_gap() -> None:
    manager = idempotent()
    refused, second = batch(2), batch()
    for each in (refused, second):
        manager.sequences.assign(each)
    manager.sequences.handle_failed_batch(refused, refusal(ErrorCode.INVALID_RECORD) or ValueError(), is_certain=True)
    manager.renew_identity()
    assert (second.producer_epoch, second.base_sequence) == (1, 0)


def test_no_permission_to_write_idempotently() -> None:
    manager = TransactionManager()
    manager.renew_identity()
    request = manager.next_request(has_incomplete_batches=True)
    assert request is not None
    request.handle_response(InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    assert manager.states.phase == TransactionPhase.ABORTABLE_ERROR
    manager.restart()
    assert manager.states.phase == TransactionPhase.UNINITIALIZED


def test_an_error_names_the_operation_that_came_too_early() -> None:
    manager = TransactionManager(transactional_id="t")
    calls = {
        "begin_transaction": manager.begin,
        "commit_transaction": manager.commit,
        "abort_transaction": manager.abort,
    }
    for name, call in calls.items():
        with pytest.raises(WrongTransactionState, match=f"^{name} is not allowed: init_transactions was not called"):
            call()


def test_transactional_calls_need_a_transactional_id() -> None:
    manager = idempotent()
    for call in (manager.initialize, manager.begin, manager.commit, manager.abort):
        with pytest.raises(WrongTransactionState, match=r"no transactional\.id"):
            call()


# Transactions


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_from_begin_to_commit(version: int) -> None:
    one = Transactional(version)
    one.begin()
    sent = one.send()
    assert sent.is_transactional
    result = one.manager.commit()
    assert one.manager.next_request(has_incomplete_batches=True) is None, "first all batches"
    one.manager.sequences.handle_completed_batch(sent, 3)
    end = one.next(EndTransaction)
    assert end.last_version == (4 if version == 1 else None)
    if version == 1:
        end.handle_response(EndTxnResponse())
        assert one.manager.identity == (7, 0)
    else:
        end.handle_response(EndTxnResponse(producer_id=7, producer_epoch=1))
        assert one.manager.identity == (7, 1)
    one.see(result)
    assert one.manager.states.phase == TransactionPhase.READY
    one.begin()
    again = one.send()
    assert (again.producer_epoch, again.base_sequence) == ((0, 1) if version == 1 else (1, 0))


def test_version_1_sends_nothing_to_a_partition_before_it_is_added() -> None:
    one = Transactional(1)
    one.begin()
    one.manager.add_partition(PLACE)
    waiting = batch()
    assert not one.manager.sequences.may_drain(waiting)
    request = one.next(AddPartitions)
    one.manager.add_partition(OTHER)
    request.handle_response(added({PLACE: 0}))
    assert one.manager.sequences.may_drain(waiting) and not one.manager.sequences.may_drain(batch(1, OTHER))
    request = one.next(AddPartitions)
    request.handle_response(added({OTHER: ErrorCode.CONCURRENT_TRANSACTIONS}))
    assert request.backoff_ms == 100, "only the first partitions of a transaction are in a hurry"
    one.next(AddPartitions).handle_response(added({OTHER: 0}))
    assert one.manager.sequences.may_drain(batch(1, OTHER))


def test_version_1_waits_shortly_for_the_end_of_the_transaction_before() -> None:
    one = Transactional(1)
    one.begin()
    one.manager.add_partition(PLACE)
    request = one.next(AddPartitions)
    request.handle_response(added({PLACE: ErrorCode.CONCURRENT_TRANSACTIONS}))
    assert request.backoff_ms == 20


@pytest.mark.parametrize("is_commit", [True, False])
def test_nothing_is_ended_that_has_not_begun(is_commit: bool) -> None:
    one = Transactional()
    one.begin()
    one.manager.add_partition(PLACE)
    result = one.manager.commit() if is_commit else one.manager.abort()
    assert one.manager.next_request(has_incomplete_batches=False) is None
    one.see(result)
    assert one.manager.states.phase == TransactionPhase.READY


@pytest.mark.parametrize("version", [1, 2])
def test_offsets_belong_to_the_transaction(version: int) -> None:
    one = Transactional(version)
    one.begin()
    result = one.manager.send_offsets(OFFSETS, GROUP)
    if version == 1:
        one.next(AddOffsets).handle_response(AddOffsetsToTxnResponse())
    request = one.next(CommitOffsets)
    assert (request.coordinator, request.coordinator_key) == (CoordinatorKind.GROUP, "g")
    assert request.last_version == (4 if version == 1 else 5)
    request.handle_response(committed({PLACE: 0, OTHER: ErrorCode.NOT_COORDINATOR}))
    assert not result.is_done and one.forgotten == [(CoordinatorKind.GROUP, "g")]
    again = one.next(CommitOffsets)
    (topic,) = again.request.topics
    (left,) = topic.partitions
    assert (left.partition_index, left.committed_offset, left.committed_leader_epoch) == (1, 9, 3)
    again.handle_response(committed({OTHER: 0}))
    one.see(result)
    one.manager.commit()
    one.next(EndTransaction)


def test_offsets_of_a_consumer_that_is_no_member_any_more_abort() -> None:
    one = Transactional()
    one.begin()
    result = one.manager.send_offsets(OFFSETS, GROUP)
    one.next(CommitOffsets).handle_response(committed({PLACE: ErrorCode.ILLEGAL_GENERATION}))
    one.see(result, TransactionMustAbort)
    assert one.manager.states.phase == TransactionPhase.ABORTABLE_ERROR


def test_a_coordinator_that_moved_is_looked_up_again() -> None:
    one = Transactional()
    one.begin()
    one.send()
    result = one.manager.commit()
    for trouble in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None):
        end = one.next(EndTransaction)
        if trouble is None:
            end.handle_error(Disconnected("gone"))
        else:
            end.handle_response(EndTxnResponse(error_code=trouble))
        assert end.backoff_ms == 100
    assert one.forgotten == [(CoordinatorKind.TRANSACTION, "tx")] * 2
    end = one.next(EndTransaction)
    assert (end.request.producer_epoch, end.request.committed) == (0, True), "the same again"
    end.handle_response(EndTxnResponse(producer_id=7, producer_epoch=1))
    one.see(result)


@pytest.mark.parametrize("code", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_fenced_producer_stays_fenced(code: ErrorCode) -> None:
    one = Transactional()
    one.begin()
    one.send()
    result = one.manager.commit()
    one.next(EndTransaction).handle_response(EndTxnResponse(error_code=code))
    one.see(result, ProducerFenced)
    assert one.manager.states.has_fatal_error
    for call in (one.manager.begin, one.manager.abort, lambda: one.manager.add_partition(PLACE)):
        with pytest.raises(ProducerFenced, match='another producer with the transactional id "tx"'):
            call()


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (ErrorCode.INVALID_TXN_STATE, TransactionPhase.FATAL_ERROR),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, TransactionPhase.FATAL_ERROR),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, TransactionPhase.FATAL_ERROR),
        (ErrorCode.UNKNOWN_PRODUCER_ID, TransactionPhase.ABORTABLE_ERROR),
        (ErrorCode.TRANSACTION_ABORTABLE, TransactionPhase.ABORTABLE_ERROR),
    ],
)
def test_what_a_refused_commit_leads_to(code: ErrorCode, state: TransactionPhase) -> None:
    one = Transactional()
    one.begin()
    one.send()
    one.manager.commit()
    one.next(EndTransaction).handle_response(EndTxnResponse(error_code=code))
    assert one.manager.states.phase == state


def test_an_abort_that_must_be_aborted_is_the_end() -> None:
    one = Transactional()
    one.begin()
    one.send()
    one.manager.abort()
    one.next(EndTransaction).handle_response(EndTxnResponse(error_code=ErrorCode.TRANSACTION_ABORTABLE))
    assert one.manager.states.has_fatal_error


def test_no_common_version_is_fatal() -> None:
    one = Transactional()
    result = one.manager.initialize()
    one.next(InitProducerId).handle_error(VersionsDiffer("too old"))
    one.see(result, VersionsDiffer)
    with pytest.raises(ProducerFailed, match="the producer must be closed: too old"):
        one.manager.begin()


@pytest.mark.parametrize("version", [1, 2])
def test_a_batch_that_fails_leaves_only_the_abort_and_a_new_epoch(version: int) -> None:
    one = Transactional(version)
    one.begin()
    failed = one.send()
    one.manager.sequences.handle_failed_batch(failed, DeliveryTimedOut("late"), is_certain=False)
    assert one.manager.states.phase == TransactionPhase.ABORTABLE_ERROR
    with pytest.raises(TransactionMustAbort, match="must be aborted: late"):
        one.manager.commit()
    with pytest.raises(TransactionMustAbort):
        one.manager.add_partition(OTHER)
    result = one.manager.abort()
    end = one.next(EndTransaction)
    if version == 1:
        end.handle_response(EndTxnResponse())
        assert one.manager.states.phase == TransactionPhase.INITIALIZING
        bump = one.next(InitProducerId)
        assert (bump.request.producer_id, bump.request.producer_epoch) == (7, 0)
        bump.handle_response(InitProducerIdResponse(producer_id=7, producer_epoch=1))
    else:
        end.handle_response(EndTxnResponse(producer_id=7, producer_epoch=1))
    one.see(result)
    assert (one.manager.states.phase, one.manager.identity) == (TransactionPhase.READY, (7, 1))


def test_an_upgrade_to_version_2_counts_from_the_next_transaction_with_a_new_epoch() -> None:
    one = Transactional(1)
    one.begin()
    one.send()
    one.manager.features.note(2, 2)
    result = one.manager.commit()
    end = one.next(EndTransaction)
    assert end.last_version == 4
    end.handle_response(EndTxnResponse())
    one.next(InitProducerId).handle_response(InitProducerIdResponse(producer_id=7, producer_epoch=1))
    one.see(result)
    one.begin()
    one.manager.add_partition(PLACE)
    assert one.manager.features.is_version_2 and one.manager.sequences.may_drain(batch())


def test_a_call_that_took_too_long_is_called_again_and_nothing_else() -> None:
    one = Transactional()
    one.begin()
    one.send()
    first = one.manager.commit()
    with pytest.raises(WrongTransactionState, match="commit_transaction has not finished and must be called again"):
        one.manager.abort()
    assert one.manager.commit() is first
    one.next(EndTransaction).handle_response(EndTxnResponse(producer_id=7, producer_epoch=1))
    assert one.manager.commit() is first
    one.see(first)
    one.manager.begin()


@pytest.mark.parametrize("call", ["send", "commit", "abort", "offsets"])
def test_calls_without_a_transaction_say_so(call: str) -> None:
    one = Transactional()
    one.initialize()
    calls = {
        "send": lambda: one.manager.add_partition(PLACE),
        "commit": one.manager.commit,
        "abort": one.manager.abort,
        "offsets": lambda: one.manager.send_offsets(OFFSETS, GROUP),
    }
    with pytest.raises(WrongTransactionState, match="no transaction is open"):
        calls[call]()


def test_a_sequence_lost_in_a_transaction_aborts_it() -> None:
    one = Transactional()
    one.begin()
    first = one.send(count=2)
    one.manager.sequences.handle_completed_batch(first, 10)
    second = one.send()
    assert not one.manager.sequences.can_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert not one.manager.sequences.can_retry(second, ErrorCode.UNKNOWN_PRODUCER_ID, 5), "what it wrote is still there"
    assert one.manager.sequences.can_retry(second, ErrorCode.UNKNOWN_PRODUCER_ID, 50), "retention took what it wrote"
    assert second.base_sequence == 0


def test_a_refused_batch_of_a_transaction_gives_its_place_to_the_next() -> None:
    one = Transactional()
    one.begin()
    refused, second = one.send(count=3), one.send(count=2)
    one.manager.sequences.handle_failed_batch(
        refused, refusal(ErrorCode.INVALID_RECORD) or ValueError(), is_certain=True
    )
    assert (second.base_sequence, second.producer_epoch) == (0, 0)
    third = batch()
    one.manager.sequences.assign(third)
    assert third.base_sequence == 2


def test_what_waits_is_sent_at_once_when_the_transaction_ends() -> None:
    one = Transactional()
    queues = Queues(AccumulatorSettings(linger_ms=1_000), transactions=one.manager)
    one.begin()
    one.manager.add_partition(PLACE)
    queues.append()
    assert queues.drain(1) == []
    one.manager.commit()
    assert len(queues.drain(1)) == 1


def test_closing_tells_everybody() -> None:
    one = Transactional()
    one.begin()
    one.send()
    result = one.manager.commit()
    one.manager.close()
    assert result.is_done and "closed" in str(result.error)


def test_one_that_was_overtaken_is_numbered_anew_instead_of_waiting_for_ever() -> None:
    manager = idempotent()
    first, second = batch(), batch()
    for each in (first, second):
        manager.sequences.assign(each)
    manager.sequences.handle_completed_batch(second, 0)
    assert manager.sequences.can_retry(first, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)
    manager.renew_identity()
    assert (first.producer_epoch, first.base_sequence) == (1, 0)


def test_a_commit_fails_at_once_with_the_transaction_although_batches_are_on_their_way() -> None:
    one = Transactional()
    one.begin()
    failed, on_its_way = one.send(), one.send(OTHER)
    result = one.manager.commit()
    one.manager.sequences.handle_failed_batch(failed, DeliveryTimedOut("late"), is_certain=False)
    assert one.manager.next_request(has_incomplete_batches=True) is None
    one.see(result, TransactionMustAbort)
    assert not one.manager.has_pending_requests and on_its_way.has_sequence
