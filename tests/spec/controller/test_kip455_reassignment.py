"""KIP-455: replicas move to other brokers, and back if somebody changes their mind."""

from typing import Any

import pytest

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from support.builders.controller import Bench


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    for broker_id in range(6):
        made.add_broker(broker_id)
    return made


def reassign(bench: Bench, replicas: list[int] | None, **fields: Any) -> int:
    partitions = [ReassignablePartition(partition_index=0, replicas=replicas)]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="a", partitions=partitions)], **fields)
    code = bench.ask(request).responses[0].partitions[0].error_code
    assert isinstance(code, int)
    return code


def ongoing(bench: Bench) -> list[tuple[str, list[int], list[int], list[int]]]:
    response = bench.ask(ListPartitionReassignmentsRequest(topics=None))
    return [
        (topic.name, p.replicas, p.adding_replicas, p.removing_replicas)
        for topic in response.topics
        for p in topic.partitions
    ]


def test_it_ends_when_every_added_replica_is_in_sync(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1, 2]])
    assert reassign(bench, [3, 4, 5]) == 0
    assert ongoing(bench) == [("a", [3, 4, 5, 0, 1, 2], [3, 4, 5], [0, 1, 2])]
    assert bench.partition(topic_id).leader == 0
    bench.ask(bench.isr(topic_id, 0, [0, 1, 2, 3, 4]))
    assert ongoing(bench)
    response = bench.ask(bench.isr(topic_id, 0, [0, 1, 2, 3, 4, 5]))
    assert response.topics[0].partitions[0].error_code == ErrorCode.NEW_LEADER_ELECTED
    partition = bench.partition(topic_id)
    assert partition.replicas == (3, 4, 5) == partition.isr
    assert partition.leader == 3 and partition.leader_epoch == 1
    assert len(partition.directories) == 3 and not ongoing(bench)


def test_fewer_replicas_wait_for_all_that_stay(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1, 2, 3]])
    bench.ask(bench.isr(topic_id, 0, [0, 1]))
    assert reassign(bench, [2, 3]) == 0
    assert bench.partition(topic_id).replicas == (2, 3, 0, 1)
    bench.ask(bench.isr(topic_id, 0, [0, 1, 2]))
    assert bench.partition(topic_id).is_reassigning
    bench.ask(bench.isr(topic_id, 0, [0, 1, 2, 3]))
    assert bench.partition(topic_id).replicas == (2, 3)


def test_taking_it_back(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1, 2]])
    assert reassign(bench, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    reassign(bench, [3, 4, 5])
    bench.ask(bench.isr(topic_id, 0, [0, 3]))
    assert reassign(bench, None) == 0
    partition = bench.partition(topic_id)
    assert partition.replicas == (0, 1, 2) and partition.isr == (0,) and not partition.is_reassigning


def test_taking_it_back_is_refused_when_only_added_replicas_are_in_sync(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1]])
    reassign(bench, [3, 4])
    bench.ask(bench.isr(topic_id, 0, [0, 3]))
    bench.ask(bench.beat(0, want_fence=True))
    assert bench.partition(topic_id).isr == (3,)
    assert reassign(bench, None) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    bench.set_config(2, "a", "unclean.leader.election.enable", "true")
    assert reassign(bench, None) == 0
    partition = bench.partition(topic_id)
    assert (partition.replicas, partition.isr, partition.leader) == ((0, 1), (1,), 1)
    assert partition.leader_recovery_state == 1


def test_a_later_target_replaces_an_earlier_one(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1]])
    reassign(bench, [3, 4])
    reassign(bench, [0, 5])
    partition = bench.partition(topic_id)
    assert partition.replicas == (0, 5, 1, 3, 4)
    assert partition.adding_replicas == (5,) and partition.removing_replicas == (1, 3, 4)
    bench.ask(bench.isr(topic_id, 0, [0, 1, 5]))
    assert bench.partition(topic_id).replicas == (0, 5)


@pytest.mark.parametrize(
    ("replicas", "code"),
    [
        ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([0, 0], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([0, 9], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([0, 1, 2], ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_targets_that_are_refused(bench: Bench, replicas: list[int], code: ErrorCode) -> None:
    bench.create("a", [[0, 1]])
    assert ErrorCode(reassign(bench, replicas, allow_replication_factor_change=False)) is code


def test_unknown_partitions(bench: Bench) -> None:
    assert reassign(bench, [1]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
