"""Adding partitions to a transaction: one that is rejected keeps all others out."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.transaction.partition_addition import PartitionAddition, PartitionErrors
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from support.builders.replica import TOPIC, Cluster

KNOWN = TopicPartition(TOPIC, 0)
UNKNOWN = TopicPartition("unknown", 0)


class FakeShard:
    def __init__(self) -> None:
        self.added: list[tuple[str, int]] = []

    def add_partitions(
        self, name: str, producer_id: int, epoch: int, partitions: list[TopicPartition], version: int
    ) -> None:
        self.added.append((name, version))

    def verify_partitions(
        self, name: str, producer_id: int, epoch: int, partitions: list[TopicPartition]
    ) -> PartitionErrors:
        return dict.fromkeys(partitions, ErrorCode.TRANSACTION_ABORTABLE)


class FakeTransactions:
    def __init__(self, error: ApiError | None = None) -> None:
        self.shard = FakeShard()
        self.error = error

    def start_write(self, key: str, operation: Callable[[Any], Any]) -> Reply[Any]:
        reply: Reply[Any] = Reply()
        if self.error is not None:
            reply.fail(self.error)
        else:
            reply.complete(operation(self.shard))
        return reply

    def start_read(self, key: str, operation: Callable[[Any], Any]) -> Reply[Any]:
        return Reply.of(operation(self.shard))


def addition(transactions: FakeTransactions) -> PartitionAddition:
    cluster = Cluster(1)
    cluster.create_topic()
    return PartitionAddition(transactions, lambda: cluster.image)


def transaction(
    *partitions: TopicPartition, transactional_id: str = "t", verify_only: bool = False
) -> AddPartitionsToTxnTransaction:
    topics = [AddPartitionsToTxnTopic(name=tp.topic, partitions=[tp.partition]) for tp in partitions]
    return AddPartitionsToTxnTransaction(
        transactional_id=transactional_id, producer_id=1, producer_epoch=0, verify_only=verify_only, topics=topics
    )


def test_partitions_are_added_with_the_version_of_transactions() -> None:
    transactions = FakeTransactions()
    assert addition(transactions).add_or_verify(transaction(KNOWN), 2).answer() == {KNOWN: ErrorCode.NONE}
    assert transactions.shard.added == [("t", 2)]


def test_a_partition_that_does_not_exist_keeps_the_others_out() -> None:
    transactions = FakeTransactions()
    errors = addition(transactions).add_or_verify(transaction(KNOWN, UNKNOWN), 2).answer()
    assert errors == {KNOWN: ErrorCode.OPERATION_NOT_ATTEMPTED, UNKNOWN: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert not transactions.shard.added


def test_a_partition_that_the_caller_rejects_keeps_its_error() -> None:
    rejected = {UNKNOWN: int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)}
    errors = addition(FakeTransactions()).add_or_verify(transaction(KNOWN, UNKNOWN), 0, rejected).answer()
    assert errors == {KNOWN: ErrorCode.OPERATION_NOT_ATTEMPTED, UNKNOWN: ErrorCode.TOPIC_AUTHORIZATION_FAILED}


def test_verification_only_reads() -> None:
    transactions = FakeTransactions()
    errors = addition(transactions).add_or_verify(transaction(KNOWN, verify_only=True), 2).answer()
    assert errors == {KNOWN: ErrorCode.TRANSACTION_ABORTABLE}
    assert not transactions.shard.added


@pytest.mark.parametrize(
    ("transactional_id", "error", "code"),
    [
        ("", None, ErrorCode.INVALID_REQUEST),
        ("t", ApiError("fenced", ErrorCode.PRODUCER_FENCED), ErrorCode.PRODUCER_FENCED),
    ],
)
def test_the_reply_fails_with_an_error_of_the_whole_transaction(
    transactional_id: str, error: ApiError | None, code: int
) -> None:
    reply = addition(FakeTransactions(error)).add_or_verify(transaction(KNOWN, transactional_id=transactional_id), 2)
    assert reply.error is not None
    assert reply.error.code == code
