"""A leader that is cut off takes no records that would be lost; without controllers records flow on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from odradek.client.net.channel import Channel, ChannelConfig
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.records.builder import BatchBuilder
from support.processes.cli import Command
from support.processes.nodes import HOST, Cluster, NodeSpec, controllers
from support.waiting import wait_until

CONTROLLER, LEADER, FOLLOWER = 1, 11, 12
TOPIC = "cut-off"
WAIT_S = 120
ALL = -1
#: The last one in which topics have names.
PRODUCE_VERSION = 12

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


def produce(cluster: Cluster, value: str, acks: int, broker_id: int = LEADER) -> ErrorCode:
    """Send one record to a broker, once: clients send it again when they are told that another broker leads."""
    builder = BatchBuilder()
    builder.append(timestamp=0, key=None, value=value.encode())
    data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=builder.build())])
    request = ProduceRequest(acks=acks, timeout_ms=WAIT_S * 1000, topic_data=[data])

    async def send() -> ErrorCode:
        channel = Channel(HOST, cluster[broker_id].broker_port, ChannelConfig(client_id="test"))
        await channel.connect()
        try:
            answer = await channel.send(request, WAIT_S * 1000, version=PRODUCE_VERSION)
        finally:
            await channel.close()
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    return asyncio.run(send())


def read_until(cluster: Cluster, last: str) -> list[str]:
    settings = {"bootstrap.servers": cluster[LEADER].broker_address, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings | {"log_level": 0})
    consumer.subscribe([TOPIC])
    values: list[str] = []

    def is_read() -> bool:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            values.append((message.value() or b"").decode())
        return last in values

    try:
        wait_until(is_read, f"the record {last!r} is read", WAIT_S)
    finally:
        consumer.close()
    return values


@pytest.mark.slow
def test_acknowledged_records_survive_a_leader_that_is_cut_off(cluster: Cluster) -> None:
    leader = cluster[LEADER]
    acknowledged = []

    def send(value: str, acks: int, broker_id: int = LEADER) -> bool:
        is_acknowledged = produce(cluster, value, acks, broker_id) == ErrorCode.NONE
        acknowledged.extend([value] if is_acknowledged else [])
        return is_acknowledged

    wait_until(lambda: send("both are in sync", ALL), "records are accepted", WAIT_S, leader.log_tail)

    cluster[CONTROLLER].pause()
    # A heartbeat is given up after the session time, so the lease of the last one that was answered is over.
    unanswered = f"broker {LEADER}: no answer of the active controller"
    wait_until(lambda: unanswered in leader.log_text(), "a heartbeat is not answered", WAIT_S, leader.log_tail)
    for acks in (1, ALL):
        assert send(f"without a controller, acks={acks}", acks), leader.log_tail()

    cluster[FOLLOWER].pause()
    errors: list[ErrorCode] = []

    def is_refused() -> bool:
        errors.append(produce(cluster, "would be lost", 1))
        return errors[-1] != ErrorCode.NONE

    wait_until(is_refused, "records are refused", WAIT_S, leader.log_tail)
    assert errors[-1] == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert f"is not fetched by broker {FOLLOWER}" in leader.log_text()

    cluster[FOLLOWER].resume()
    cluster[CONTROLLER].resume()
    # The controller may have fenced the leader before it heard from it, and elected the follower.
    wait_until(
        lambda: send("healed", ALL) or send("healed", ALL, FOLLOWER),
        "records are accepted again",
        WAIT_S,
        leader.log_tail,
    )
    values = read_until(cluster, acknowledged[-1])
    assert [value for value in values if value in acknowledged] == acknowledged
