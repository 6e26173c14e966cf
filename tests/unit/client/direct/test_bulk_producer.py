"""Batches to leaders that move, refuse, hang up before they have written and after: each is written once, in order."""

import fcntl
import os
import random
import resource
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.client.direct import bulk_producer
from odradek.client.direct.bulk_producer import BulkProducer
from odradek.client.settings.settings import producer_settings
from odradek.common.addresses import HostPort
from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.errors import Disconnected, NoLeader, Refused, RequestTimedOut
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.produce_request import ProduceRequest
from odradek.protocol.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.records.columns.column_batches import BuiltBatch

_NODES = (HostPort("a", 1), HostPort("b", 2))
_PLACES = [TopicPartition("t", number) for number in range(3)]


class FakeCluster:
    """Leaders that take a producer's batches in sequence, as brokers do. `trouble` may happen at each request."""

    def __init__(self, chance: random.Random, trouble: float) -> None:
        self.chance = chance
        self.trouble = trouble
        self.logs: dict[TopicPartition, list[int]] = {place: [] for place in _PLACES}
        self.leaders = dict.fromkeys(_PLACES, _NODES[0])
        self.refusals: dict[TopicPartition, int] = {}
        self.requests = 0

    def answer(self, node: HostPort, request: ProduceRequest) -> ProduceResponse | None:
        """None: it hangs up."""
        self.requests += 1
        if self.chance.random() < self.trouble:
            self._move_leaders()
            if self.chance.random() < 0.3:
                return None
        response = ProduceResponse(responses=[self._topic(node, each) for each in request.topic_data])
        is_lost = self.chance.random() < self.trouble / 2
        return None if is_lost else response

    def _move_leaders(self) -> None:
        for place in _PLACES:
            self.leaders[place] = self.chance.choice(_NODES)

    def _topic(self, node: HostPort, topic: Any) -> TopicProduceResponse:
        answers = [
            PartitionProduceResponse(index=each.index, error_code=self._append(node, topic.name, each))
            for each in topic.partition_data
        ]
        return TopicProduceResponse(name=topic.name, partition_responses=answers)

    def _append(self, node: HostPort, topic: str, data: Any) -> int:
        place = TopicPartition(topic, data.index)
        if place in self.refusals:
            return self.refusals[place]
        if self.leaders[place] != node:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        sequence, log = int(data.records), self.logs[place]
        if sequence < len(log):
            return ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        # One that does not know the producer takes any sequence.
        if log and sequence != len(log):
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        log.append(sequence)
        return ErrorCode.NONE


class FakeConnection:
    def __init__(self, cluster: FakeCluster, node: HostPort) -> None:
        self._cluster, self._node = cluster, node
        self._answers: deque[ProduceResponse | None] = deque()
        self._readable = os.eventfd(1)  # always
        self._is_broken = False

    def fileno(self) -> int:
        return self._readable

    def version(self, request: type[ProduceRequest], last: int) -> int:
        return last

    def send(self, request: ProduceRequest, version: int) -> None:
        """One that hung up may be noticed when it is sent to, or not before an answer is awaited."""
        answer = None if self._is_broken else self._cluster.answer(self._node, request)
        self._is_broken = answer is None
        self._answers.append(answer)
        if self._is_broken and self._cluster.chance.random() < 0.5:
            raise Disconnected("it hung up")

    def receive(self) -> ProduceResponse:
        answer = self._answers.popleft()
        if answer is None:
            raise Disconnected("it hung up")
        return answer

    def close(self) -> None:
        os.close(self._readable)


class FakeLeaders:
    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self._known: dict[TopicPartition, HostPort] = {}
        self.connections: dict[HostPort, FakeConnection] = {}

    def knows(self, place: TopicPartition) -> bool:
        return place in self._known

    def of(self, place: TopicPartition) -> Any:
        if self._cluster.chance.random() < self._cluster.trouble and not self.knows(place):
            raise NoLeader("none now")
        self._known.setdefault(place, self._cluster.leaders[place])
        return type("Leadership", (), {"leader": self._known[place]})

    def connection(self, node: HostPort) -> FakeConnection:
        if node not in self.connections:
            self.connections[node] = FakeConnection(self._cluster, node)
        return self.connections[node]

    def forget(self, place: TopicPartition) -> None:
        self._known.pop(place, None)

    def drop(self, node: HostPort) -> None:
        connection = self.connections.pop(node, None)
        if connection is not None:
            connection.close()


def _producer(cluster: FakeCluster, **settings: object) -> Iterator[BulkProducer]:
    leaders = FakeLeaders(cluster)
    given = {"bootstrap.servers": "a:1", "retry.backoff.ms": 0, **settings}
    producer = BulkProducer(leaders, producer_settings(given), base_sequence=0)  # type: ignore[arg-type]
    yield producer
    for node in list(leaders.connections):
        leaders.drop(node)


def _batch(producer: BulkProducer, place: TopicPartition) -> BuiltBatch:
    """Of one record, that is its sequence."""
    sequence = producer.next_sequence(place)
    return BuiltBatch(b"%d" % sequence, 1, sequence + 1)


def test_a_process_may_have_more_than_1024_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2_048), hard))
    descriptor = os.eventfd(1)
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 1_500)
    try:
        monkeypatch.setattr(FakeConnection, "fileno", lambda _: high)
        cluster = FakeCluster(random.Random(0), trouble=0)
        for producer in _producer(cluster):
            producer.send(_PLACES[0], _batch(producer, _PLACES[0]))
            producer.flush()
        assert cluster.logs[_PLACES[0]] == [0]
    finally:
        os.close(descriptor)
        os.close(high)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("seed", range(150))
def test_every_batch_is_written_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    cluster = FakeCluster(chance, trouble=chance.choice((0.0, 0.05, 0.3)))
    for producer in _producer(cluster):
        for _ in range(60):
            place = chance.choice(_PLACES)
            producer.send(place, _batch(producer, place))
            if chance.random() < 0.2:
                producer.poll()
        producer.flush()
        for place, log in cluster.logs.items():
            assert log == list(range(producer.next_sequence(place)))


def test_a_request_takes_one_batch_of_each_partition() -> None:
    cluster = FakeCluster(random.Random(0), trouble=0)
    for producer in _producer(cluster):
        for place in _PLACES * 4:
            producer.send(place, _batch(producer, place))
        producer.flush()
        assert cluster.requests == 4


def test_what_a_leader_refuses_for_good_is_told() -> None:
    cluster = FakeCluster(random.Random(0), trouble=0)
    cluster.refusals[_PLACES[0]] = ErrorCode.INVALID_PRODUCER_EPOCH
    for producer in _producer(cluster):
        producer.send(_PLACES[0], _batch(producer, _PLACES[0]))
        with pytest.raises(Refused, match=r"t-0: 1 record.*INVALID_PRODUCER_EPOCH"):
            producer.flush()


def test_who_writes_too_large_batches_is_told_what_would_help() -> None:
    cluster = FakeCluster(random.Random(0), trouble=0)
    cluster.refusals[_PLACES[0]] = ErrorCode.MESSAGE_TOO_LARGE
    for producer in _producer(cluster):
        producer.send(_PLACES[0], BuiltBatch(b"0", 2, 2))
        with pytest.raises(Refused, match=r"t-0: 2 record.*MESSAGE_TOO_LARGE.*; a smaller kafka\.batch\.size"):
            producer.flush()


def test_a_partition_that_takes_nothing_is_given_up() -> None:
    cluster = FakeCluster(random.Random(0), trouble=0)
    cluster.refusals[_PLACES[1]] = ErrorCode.NOT_ENOUGH_REPLICAS
    settings = {"delivery.timeout.ms": 30, "request.timeout.ms": 20, "linger.ms": 0}
    for producer in _producer(cluster, **settings):
        producer.send(_PLACES[1], _batch(producer, _PLACES[1]))
        with pytest.raises(RequestTimedOut, match=r"t-1: nothing was written for 30 ms.*NOT_ENOUGH_REPLICAS"):
            producer.flush()


def test_a_sequence_that_is_missing_is_told() -> None:
    """A record of ours is gone: no retry can mend that."""
    cluster = FakeCluster(random.Random(0), trouble=0)
    for producer in _producer(cluster):
        for _ in range(2):
            producer.send(_PLACES[0], _batch(producer, _PLACES[0]))
        producer.flush()
        cluster.logs[_PLACES[0]].pop()
        producer.send(_PLACES[0], _batch(producer, _PLACES[0]))
        with pytest.raises(Refused, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
            producer.flush()


def test_what_no_request_can_carry_is_refused() -> None:
    for producer in _producer(FakeCluster(random.Random(0), trouble=0), **{"max.request.size": 10}):
        with pytest.raises(InputError, match=r"11 bytes to t-0 .* kafka\.max\.request\.size is 10"):
            producer.send(_PLACES[0], BuiltBatch(b"x" * 11, 1, 1))


def test_a_leader_that_was_killed_costs_one_pause_for_each_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as metadata still names it, and no longer."""
    cluster = FakeCluster(random.Random(0), trouble=0)
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            cluster.leaders = dict.fromkeys(_PLACES, _NODES[1])

    def connect(leaders: FakeLeaders, node: HostPort) -> FakeConnection:
        if node == _NODES[0]:
            raise Disconnected("connection refused")
        return leaders.connections.setdefault(node, FakeConnection(cluster, node))

    monkeypatch.setattr(bulk_producer.time, "sleep", sleep)
    monkeypatch.setattr(FakeLeaders, "connection", connect)
    for producer in _producer(cluster, **{"retry.backoff.ms": 100}):
        for place in _PLACES:
            producer.send(place, _batch(producer, place))
        producer.flush()
    assert pauses == [0.1] * 3
    assert cluster.logs == {place: [0] for place in _PLACES}
