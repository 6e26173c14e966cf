"""A leader that is cut off takes no records that would be lost; without controllers records flow on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from helpers.cli import Command
from helpers.nodes import Cluster, NodeSpec, controllers
from helpers.waiting import wait_until

CONTROLLER, LEADER, FOLLOWER = 1, 11, 12
TOPIC = "cut-off"
WAIT_S = 120

SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "offsets.topic.replication.factor": "1",
}


@pytest.fixture
def cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Cluster]:
    specs = [*controllers(1), NodeSpec(LEADER, roles="broker"), NodeSpec(FOLLOWER, roles="broker")]
    with Cluster(tmp_path, specs, settings=SETTINGS) as cluster:
        cluster.start()
        command = Command(capsys, cluster[LEADER].broker_address)

        def are_both_active() -> bool:
            if command.say("cluster", "describe").status:
                return False
            nodes = command.json("cluster", "describe")["nodes"]
            return sorted(node["id"] for node in nodes if not node["fenced"]) == [LEADER, FOLLOWER]

        wait_until(are_both_active, "both brokers are active", WAIT_S, cluster[LEADER].log_tail)
        command.do("topics", "create", TOPIC, "--replica-assignment", f"{LEADER}:{FOLLOWER}")
        yield cluster


def produce(cluster: Cluster, value: str, acks: str) -> KafkaError | None:
    """Send one record to the leader, once; return its error."""
    errors: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        errors.append(error)

    producer = Producer(
        {"bootstrap.servers": cluster[LEADER].broker_address, "acks": acks, "retries": 0, "log_level": 0}
    )
    producer.produce(TOPIC, value, partition=0, on_delivery=delivered)
    assert producer.flush(WAIT_S) == 0
    return errors[0]


def read(cluster: Cluster, count: int) -> list[str]:
    settings = {"bootstrap.servers": cluster[LEADER].broker_address, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings | {"log_level": 0})
    consumer.subscribe([TOPIC])
    values: list[str] = []

    def is_read() -> bool:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            values.append((message.value() or b"").decode())
        return len(values) >= count

    try:
        wait_until(is_read, f"{count} records are read", WAIT_S)
    finally:
        consumer.close()
    return values


@pytest.mark.slow
def test_acknowledged_records_survive_a_leader_that_is_cut_off(cluster: Cluster) -> None:
    leader = cluster[LEADER]
    acknowledged = []

    def send(value: str, acks: str) -> KafkaError | None:
        error = produce(cluster, value, acks)
        if error is None:
            acknowledged.append(value)
        return error

    wait_until(lambda: send("both are in sync", "all") is None, "records are accepted", WAIT_S, leader.log_tail)

    cluster[CONTROLLER].pause()
    # A heartbeat is given up after the session time, so the lease of the last one that was answered is over.
    unanswered = f"broker {LEADER}: no answer of the active controller"
    wait_until(lambda: unanswered in leader.log_text(), "a heartbeat is not answered", WAIT_S, leader.log_tail)
    for acks in ("1", "all"):
        assert send(f"without a controller, acks={acks}", acks) is None, leader.log_tail()

    cluster[FOLLOWER].pause()
    errors: list[KafkaError] = []

    def is_refused() -> bool:
        error = produce(cluster, "would be lost", "1")
        errors.extend([] if error is None else [error])
        return error is not None

    wait_until(is_refused, "records are refused", WAIT_S, leader.log_tail)
    assert [error.code() for error in errors] == [KafkaError.NOT_LEADER_FOR_PARTITION]
    assert f"is not fetched by broker {FOLLOWER}" in leader.log_text()

    cluster[FOLLOWER].resume()
    cluster[CONTROLLER].resume()
    wait_until(lambda: send("healed", "all") is None, "records are accepted again", WAIT_S, leader.log_tail)
    values = read(cluster, len(acknowledged))
    assert [value for value in values if value in acknowledged] == acknowledged
