"""Apache Kafka's Java client copies exactly once through our broker, and its TransactionsCommand says the same of it as
of Apache Kafka's on the same directory; what each has left behind is there when the other starts on it."""

import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from helpers import vectors
from helpers.java_clients import JavaClients
from helpers.kafka_node import kafka_node
from helpers.nodes import node_on
from helpers.waiting import wait_until

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
