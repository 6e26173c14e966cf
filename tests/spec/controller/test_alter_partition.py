"""AlterPartition (KIP-497, 841, 903): which ISR a leader may ask for, and what it hears otherwise."""

from typing import Any

import pytest

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.alter_partition_request import BrokerState
from support.builders.controller import Bench


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    for broker_id in range(3):
        made.add_broker(broker_id)
    return made


def outcome(bench: Bench, topic_id: bytes, isr: list[int], number: int = 0, **fields: Any) -> ErrorCode:
    return ErrorCode(bench.ask(bench.isr(topic_id, number, isr, **fields)).topics[0].partitions[0].error_code)


def test_the_isr_shrinks_and_grows_without_a_new_leader_epoch(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1, 2]])
    response = bench.ask(bench.isr(topic_id, 0, [0, 2])).topics[0].partitions[0]
    assert (response.error_code, response.isr, response.partition_epoch) == (0, [0, 2], 1)
    assert outcome(bench, topic_id, [0, 2, 1]) is ErrorCode.NONE
    partition = bench.partition(topic_id)
    assert (partition.isr, partition.leader_epoch, partition.partition_epoch) == ((0, 2, 1), 0, 2)


@pytest.mark.parametrize(
    ("isr", "fields", "code"),
    [
        ([0, 1], {"leader_epoch": 7}, ErrorCode.NOT_CONTROLLER),
        ([0, 1], {"partition_epoch": 7}, ErrorCode.NOT_CONTROLLER),
        ([0, 1], {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ([0, 1], {"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ([], {}, ErrorCode.INVALID_REQUEST),
        ([1, 2], {}, ErrorCode.INVALID_REQUEST),
        ([0, 0], {}, ErrorCode.INVALID_REQUEST),
        ([0, 9], {}, ErrorCode.INVALID_REQUEST),
        ([0], {"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ([0, 1], {"new_isr_with_epochs": [BrokerState(broker_id=0), BrokerState(broker_id=1, broker_epoch=3)]},
         ErrorCode.INELIGIBLE_REPLICA),
    ],
)  # fmt: skip
def test_refusals(bench: Bench, isr: list[int], fields: dict[str, Any], code: ErrorCode) -> None:
    topic_id = bench.create("a", [[0, 1, 2]])
    before = bench.partition(topic_id)
    assert outcome(bench, topic_id, isr, **fields) is code
    assert bench.partition(topic_id) == before


def test_a_fenced_or_stopping_replica_may_not_join(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1, 2]])
    bench.create("b", [[1, 2]])
    bench.ask(bench.beat(2, want_fence=True))
    assert outcome(bench, topic_id, [0, 2]) is ErrorCode.INELIGIBLE_REPLICA
    bench.ask(bench.beat(1, want_shut_down=True))
    assert outcome(bench, topic_id, [0, 1]) is ErrorCode.INELIGIBLE_REPLICA


def test_only_the_leader_may_ask(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1, 2]])
    request = bench.isr(topic_id, 0, [0, 1])
    request.broker_id = 1
    request.broker_epoch = bench.controller.controls.cluster.brokers[1].epoch
    assert bench.ask(request).topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    request.broker_epoch -= 1
    assert bench.refusal(request).code == ErrorCode.STALE_BROKER_EPOCH


def test_unknown_topics_and_partitions(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1]])
    request = bench.isr(topic_id, 0, [0])
    request.topics[0].partitions[0].partition_index = 5
    assert bench.ask(request).topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    request.topics[0].topic_id = bytes(16)
    assert bench.ask(request).topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_partition_twice_in_a_request(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1, 2]])
    request = bench.isr(topic_id, 0, [0])
    request.topics[0].partitions *= 2
    codes = [p.error_code for p in bench.ask(request).topics[0].partitions]
    assert codes == [0, ErrorCode.INVALID_UPDATE_VERSION]
