"""How errors of requests are handled, against events that only note what happens."""

from collections.abc import Iterable

import pytest

from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.producer.pending_request import PendingRequest, ProducerSnapshot, TransactionRequests
from odradek.client.producer.producer_identity import ProducerIdentity
from odradek.client.producer.transaction_requests import AddPartitions, EndTransaction, InitProducerId
from odradek.client.types import TopicPartition
from odradek.errors import Disconnected, ProducerFenced
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.end_txn_response import EndTxnResponse

PRODUCER = ProducerSnapshot("tx", 10_000, 100, ProducerIdentity(7, 3), is_version_2=True)


class NotedEvents:
    has_partitions = False

    def __init__(self) -> None:
        self.log: list[str] = []

    def enqueue(self, request: PendingRequest) -> None:
        self.log.append(f"enqueue after {request.backoff_ms:g} ms")

    def coordinator_moved(self, coordinator: CoordinatorKind, key: str, /) -> None:
        self.log.append(f"moved {coordinator.name} {key}")

    def initialized(self, identity: ProducerIdentity, *, is_epoch_bump: bool) -> None:
        self.log.append(f"initialized {identity}")

    def partitions_added(self, partitions: Iterable[TopicPartition]) -> None:
        self.log.append("added")

    def partitions_rejected(self, partitions: Iterable[TopicPartition]) -> None:
        self.log.append("rejected")

    def offsets_added(self) -> None:
        self.log.append("offsets")

    def ended(self, next_identity: ProducerIdentity | None) -> None:
        self.log.append(f"ended, next epoch {None if next_identity is None else next_identity.epoch}")

    def failed(self, error: Exception, *, is_fatal: bool) -> None:
        self.log.append(f"{type(error).__name__}, fatal {is_fatal}")

    def epoch_bump_needed(self) -> None:
        self.log.append("bump")

    def fenced(self) -> ProducerFenced:
        return ProducerFenced("by another")


@pytest.mark.parametrize(
    ("code", "log"),
    [
        (ErrorCode.NOT_COORDINATOR, ["moved TRANSACTION tx", "enqueue after 100 ms"]),
        (ErrorCode.CONCURRENT_TRANSACTIONS, ["enqueue after 100 ms"]),
        (ErrorCode.PRODUCER_FENCED, ["ProducerFenced, fatal True"]),
        (ErrorCode.UNKNOWN_PRODUCER_ID, ["bump", "Refused, fatal False"]),
        (ErrorCode.TRANSACTION_ABORTABLE, ["Refused, fatal False"]),
        (ErrorCode.INVALID_TXN_STATE, ["Refused, fatal True"]),
    ],
)
def test_each_error_is_handled_in_one_way(code: ErrorCode, log: list[str]) -> None:
    events = NotedEvents()
    request = EndTransaction(events, PRODUCER, is_commit=True)
    request.handle_response(EndTxnResponse(error_code=code))
    assert events.log == log
    assert request.result.is_done == (not request.backoff_ms)


def test_a_lost_connection_is_retried_at_the_coordinator_that_is_looked_up_again() -> None:
    events = NotedEvents()
    EndTransaction(events, PRODUCER, is_commit=True).handle_error(Disconnected("closed"))
    assert events.log == ["moved TRANSACTION tx", "enqueue after 100 ms"]


def test_the_end_brings_the_next_identity() -> None:
    events = NotedEvents()
    request = EndTransaction(events, PRODUCER, is_commit=False)
    request.handle_response(EndTxnResponse(producer_id=7, producer_epoch=4))
    assert events.log == ["ended, next epoch 4"] and request.result.error is None


def test_requests_are_sent_by_priority() -> None:
    events, queue = NotedEvents(), TransactionRequests()
    bump = InitProducerId(events, PRODUCER, is_epoch_bump=True)
    end = EndTransaction(events, PRODUCER, is_commit=True)
    add = AddPartitions(events, PRODUCER, [TopicPartition("t", 0)])
    for request in (bump, end, add):
        queue.enqueue(request)
    assert [queue.pop(), queue.pop(), queue.pop()] == [add, end, bump] and not queue


def test_failing_the_queue_completes_every_result() -> None:
    queue = TransactionRequests()
    request = EndTransaction(NotedEvents(), PRODUCER, is_commit=True)
    queue.enqueue(request)
    queue.fail_all(ValueError("closed"))
    assert not queue and isinstance(request.result.error, ValueError)
