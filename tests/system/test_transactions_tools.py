"""Apache Kafka's Java client copies exactly once through our broker, and its TransactionsCommand says the same of it as
of Apache Kafka's on the same directory; what each has left behind is there when the other starts on it."""

import asyncio
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.client.net.channel import Channel
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from support import vectors
from support.builders.logs import idempotent
from support.loads.data_load import admin_of, create_topic, leaders_of
from support.peers.java_clients import JavaClients
from support.peers.kafka_node import kafka_node
from support.processes.nodes import HOST, ODRADEK, OURS, Cluster, NodeSpec, node_on
from support.processes.nodes_quorum import CHANNEL_CONFIG
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

COMMAND = "org.apache.kafka.tools.TransactionsCommand"
COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"
SOURCE, TARGET = "source", "copied"
RECORDS = 110
COMMANDS = [
    "list",
    "describe --transactional-id done",
    "describe --transactional-id open",
    "describe --transactional-id copier",
    "describe-producers --topic copied --partition 0",
    "find-hanging --broker-id 1",
]
#: Anybody may write to any transaction.
UNVERIFIED = {"transaction.partition.verification.enable": "false"}
HANGING_PRODUCER = 77
CONSUMER, DEBUGGING_CONSUMER = -1, -2


def _fetch(replica_id: int) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)
    topics = [FetchTopic(topic="hanging", partitions=[partition])]
    return FetchRequest(replica_id=replica_id, max_bytes=1_000, session_epoch=-1, topics=topics)


def _list_offsets(replica_id: int) -> ListOffsetsRequest:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    return ListOffsetsRequest(replica_id=replica_id, topics=[ListOffsetsTopic(name="hanging", partitions=[partition])])


#: Version 12 of Fetch is the last one with topic names, version 10 the last one without preferred replicas.
FOLLOWER_REQUESTS: tuple[tuple[str, int, Message], ...] = (
    ("DescribeProducers", 0, DescribeProducersRequest(topics=[TopicRequest(name="hanging", partition_indexes=[0])])),
    ("Fetch by a consumer", 12, _fetch(CONSUMER)),
    ("Fetch by an old consumer", 10, _fetch(CONSUMER)),
    ("Fetch by a tool", 12, _fetch(DEBUGGING_CONSUMER)),
    ("Fetch by an old tool", 10, _fetch(DEBUGGING_CONSUMER)),
    ("ListOffsets by a consumer", 7, _list_offsets(CONSUMER)),
    ("ListOffsets by a tool", 7, _list_offsets(DEBUGGING_CONSUMER)),
    (
        "OffsetForLeaderEpoch",
        4,
        OffsetForLeaderEpochRequest(
            replica_id=CONSUMER,
            topics=[OffsetForLeaderTopic(topic="hanging", partitions=[OffsetForLeaderPartition(partition=0)])],
        ),
    ),
    (
        "DeleteRecords",
        2,
        DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name="hanging", partitions=[DeleteRecordsPartition(partition_index=0)])],
            timeout_ms=60_000,
        ),
    ),
)
FOLLOWER_CODES = {
    "DescribeProducers": 0,
    "Fetch by a consumer": 0,
    "Fetch by an old consumer": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "Fetch by a tool": 0,
    "Fetch by an old tool": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "ListOffsets by a consumer": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "ListOffsets by a tool": 0,
    "OffsetForLeaderEpoch": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "DeleteRecords": ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
SEEN_AGAIN = ["list", "describe --transactional-id done", "describe --transactional-id copier"]


def transcript(java: JavaClients, bootstrap: str) -> dict[str, list[str]]:
    end(begun(bootstrap, "done"))
    fill(bootstrap)
    copy(java, bootstrap)
    assert sorted(read(bootstrap, TARGET)) == sorted(read(bootstrap, SOURCE))
    still_open = begun(bootstrap, "open")
    found = {command: said(java, bootstrap, command) for command in COMMANDS}
    end(still_open)
    return found


def begun(bootstrap: str, transactional_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "log_level": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("open", b"value", partition=0)
    assert producer.flush(60) == 0
    return producer


def end(producer: Producer) -> None:
    producer.commit_transaction(60)


def fill(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(SOURCE, b"%d" % number)
    assert producer.flush(60) == 0


def copy(java: JavaClients, bootstrap: str) -> None:
    """All of a partition, in eleven transactions, each with an epoch of its own."""
    options = {
        "input-topic": SOURCE,
        "input-partition": "0",
        "output-topic": TARGET,
        "broker-list": bootstrap,
        "transactional-id": "copier",
        "consumer-group": "copier",
        "transaction-size": "10",
        "max-messages": str(RECORDS),
    }
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    answer = java.tool(COPIER, *arguments)
    assert answer.status == 0, answer.output


def read(bootstrap: str, topic: str) -> list[bytes | None]:
    """What is committed, in the first partition."""
    options = {"group.id": "reader", "enable.auto.commit": False, "isolation.level": "read_committed", "log_level": 0}
    consumer = Consumer({"bootstrap.servers": bootstrap, **options})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes | None] = []

    def have_come() -> bool:
        values.extend(message.value() for message in consumer.consume(RECORDS, 1) if message.error() is None)
        return len(values) >= RECORDS

    wait_until(have_come, f"{RECORDS} records of {topic}")
    consumer.close()
    return values


def said(java: JavaClients, bootstrap: str, command: str) -> list[str]:
    """Without times, and what follows from them."""
    answer = java.tool(COMMAND, "--bootstrap-server", bootstrap, *command.split())
    output = re.sub(r"\b\d{13}\b", "TIME", answer.output)
    lines = [re.sub(r"\s+", " ", line).strip() for line in output.splitlines()]
    lines = [re.sub(r"(?<=TIME )\d+\b", "DURATION", line) for line in lines]
    return [f"status {answer.status}", *sorted(line for line in lines if line)]


def seen_again(java: JavaClients, bootstrap: str) -> dict[str, list[str]]:
    return {command: said(java, bootstrap, command) for command in SEEN_AGAIN}


def found(java: JavaClients, bootstrap: str, expected: dict[str, list[str]]) -> dict[str, list[str]]:
    wait_until(lambda: said(java, bootstrap, "list") == expected["list"], "all transactions are loaded")
    return seen_again(java, bootstrap)


def are_complete(java: JavaClients, bootstrap: str) -> bool:
    return not any("Prepare" in line or "Ongoing" in line for line in said(java, bootstrap, "list"))


def test_tools_say_the_same_of_both_brokers(tmp_path: Path) -> None:
    ours, kafkas = (vectors.unpack(vectors.CLEAN, tmp_path / name) for name in ("ours", "kafkas"))
    with JavaClients(tmp_path) as java:
        with node_on(ours, tmp_path / "node") as our:
            of_ours = transcript(java, our.broker_address)
            wait_until(lambda: are_complete(java, our.broker_address), "all transactions are complete")
            left_by_ours = seen_again(java, our.broker_address)
        with kafka_node(kafkas, tmp_path / "kafka") as node:
            of_kafkas = transcript(java, node.bootstrap)
            wait_until(lambda: are_complete(java, node.bootstrap), "all transactions are complete")
            left_by_kafka = seen_again(java, node.bootstrap)
        for command in COMMANDS:
            assert of_ours[command] == of_kafkas[command], command
        with kafka_node(our.data, tmp_path / "kafka-on-ours") as node:
            assert found(java, node.bootstrap, left_by_ours) == left_by_ours
        with node_on(kafkas, tmp_path / "ours-on-kafkas") as our:
            assert found(java, our.broker_address, left_by_kafka) == left_by_kafka


def test_followers_describe_their_producers(tmp_path: Path) -> None:
    """Kafka's tool looks for hanging transactions on every replica, ours on the leaders."""
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in (1, 2, 3)]
    with JavaClients(tmp_path) as java, Cluster(tmp_path, specs, settings=UNVERIFIED) as cluster:
        cluster.start()
        create_topic(cluster, "hanging", 1, 3)
        leader = leaders_of(admin_of(cluster), "hanging")[0]
        asyncio.run(leave_hanging(cluster[leader].broker_port))
        bootstrap = cluster[leader].broker_address
        described = said(java, bootstrap, "describe-producers --topic hanging --partition 0")
        assert described[0] == "status 0" and f"{HANGING_PRODUCER} 3" in "\n".join(described)
        for broker_id in cluster.nodes:
            one = f"--topic hanging --partition 0 --broker-id {broker_id}"
            assert said(java, bootstrap, f"describe-producers {one}") == described
            late = f"--broker-id {broker_id} --max-transaction-timeout 1"
            status, *rows = said(java, bootstrap, f"find-hanging {late}")
            assert status == "status 0" and any(f"hanging 0 {HANGING_PRODUCER} 3" in row for row in rows), rows
        follower = next(node for node in cluster.nodes.values() if node.id != leader)
        assert asyncio.run(follower_codes(follower.broker_port)) == FOLLOWER_CODES
        output = odradek("transactions", "find-hanging", "--bootstrap", bootstrap)
        assert str(HANGING_PRODUCER) in output, output


async def follower_codes(port: int) -> dict[str, int]:
    """What a follower answers to requests that name one of its partitions."""
    channel = Channel(HOST, port, CHANNEL_CONFIG)
    codes: dict[str, int] = {}
    try:
        for name, version, request in FOLLOWER_REQUESTS:
            response: Any = await channel.send(request, 60_000, version=version)
            topic = (getattr(response, "responses", None) or response.topics)[0]
            codes[name] = topic.partitions[0].error_code
    finally:
        await channel.close()
    return codes


async def leave_hanging(port: int) -> None:
    """Write to a transaction that no coordinator knows."""
    batch = idempotent(HANGING_PRODUCER, 0, "value", epoch=3, is_transactional=True)
    data = PartitionProduceData(index=0, records=batch)
    topics = [TopicProduceData(name="hanging", partition_data=[data])]
    request = ProduceRequest(transactional_id="unknown", acks=-1, timeout_ms=60_000, topic_data=topics)
    channel = Channel(HOST, port, CHANNEL_CONFIG)
    try:
        response = await channel.send(request, 60_000, version=11)
    finally:
        await channel.close()
    assert response.responses[0].partition_responses[0].error_code == 0


def odradek(*arguments: str) -> str:
    done = subprocess.run([*ODRADEK, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
