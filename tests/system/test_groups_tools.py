"""Apache Kafka's ConsumerGroupCommand says the same of our broker and of Apache Kafka's on the same directory: on the
one that Apache Kafka wrote, and again, on Apache Kafka's own node, on what ours has made of it."""

import re
from pathlib import Path

import pytest
from confluent_kafka import Producer

from support import vectors
from support.loads.group_members import Member, members, wait_balanced
from support.peers.java_clients import JavaClients
from support.peers.kafka_node import kafka_node
from support.processes.nodes import node_on
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"
TOPIC = "plain"
PARTITIONS = 2
#: Those of the directory, and one more.
RECORDS = 110 + 25 + 1

#: A static member that has left is in its group until its session ends: not before the tools have looked.
#: Records of the directory are old, and stay, however long the test takes.
SETTINGS = {
    "group.consumer.session.timeout.ms": "600000",
    "group.consumer.max.session.timeout.ms": "600000",
    "log.retention.ms": "-1",
}

#: Of groups with a member of either protocol, of the two that are in the directory, and of none; in this order.
COMMANDS = [
    "--list",
    "--list --state Stable",
    "--list --type classic",
    "--describe --group live",
    "--describe --group live --members --verbose",
    "--describe --group live --state",
    "--list --type consumer",
    "--describe --group modern",
    "--describe --group modern --members --verbose",
    "--describe --group modern --state --verbose",
    "--reset-offsets --group modern --topic plain --to-latest --execute",
    "--delete-offsets --group modern --topic plain",
    "--describe --all-groups --offsets --verbose",
    "--describe --group g1 --state --verbose",
    "--describe --group java --offsets",
    "--describe --group missing",
    "--reset-offsets --group g1 --topic plain --to-earliest --dry-run",
    "--reset-offsets --group g1 --topic plain:0 --shift-by -3 --execute",
    "--reset-offsets --group live --topic plain --to-latest --execute",
    "--reset-offsets --group new --topic plain --to-offset 5 --execute",
    "--delete-offsets --group g1 --topic txn",
    "--delete-offsets --group live --topic plain",
    "--delete-offsets --group missing --topic plain",
    "--delete --group g2 --group live --group modern --group missing",
    "--describe --all-groups --offsets",
    "--list --state",
]

MODERN_MEMBERS = "--describe --group modern --members --verbose"
SEEN_AGAIN = [
    "--list --state",
    "--describe --group g1 --offsets",
    "--describe --group new --offsets",
    "--describe --group modern --offsets",
    MODERN_MEMBERS,
]


def transcript(java: JavaClients, bootstrap: str) -> dict[str, list[str]]:
    produce(bootstrap)
    live = Member(bootstrap, "live", TOPIC, **{"client.id": "member"})
    # A static one: it says that it will be back, and its group keeps it.
    static = {"group.protocol": "consumer", "group.instance.id": "static", "client.id": "member"}
    with members([live, Member(bootstrap, "modern", TOPIC, **static)]) as both:
        for member in both:
            wait_balanced([member], PARTITIONS)
            member.commit({0: 4, 1: 5})
        consume(java, bootstrap)
        return {command: said(java, bootstrap, command) for command in COMMANDS}


def produce(bootstrap: str) -> None:
    """So that the node is known to serve."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce(TOPIC, b"one more", partition=0)
    assert producer.flush(60) == 0


def consume(java: JavaClients, bootstrap: str) -> None:
    """All there is, as a member of a group; the offsets are committed at the end."""
    options = {"topic": TOPIC, "group": "java", "max-messages": str(RECORDS), "timeout-ms": "60000"}
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    answer = java.tool(CONSOLE, "--bootstrap-server", bootstrap, "--from-beginning", *arguments)
    assert answer.status == 0, answer.output


def said(java: JavaClients, bootstrap: str, command: str) -> list[str]:
    """Without what is different on every run, and without the order of lines, which is that of a hash table."""
    answer = java.tool(COMMAND, "--bootstrap-server", bootstrap, *command.split())
    output = answer.output.replace(bootstrap, "BROKER")
    output = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<= )[\w+/-]{22}(?= )", "UUID", output)
    lines = [re.sub(r"\s+", " ", line).strip() for line in output.splitlines()]
    return [f"status {answer.status}", *sorted(line for line in lines if line)]


def left_behind(java: JavaClients, bootstrap: str) -> dict[str, list[str]]:
    """Once the members have left."""
    wait_until(lambda: "live Empty" in said(java, bootstrap, "--list --state"), "one member has left")
    wait_until(lambda: any(" -2 " in line for line in said(java, bootstrap, MODERN_MEMBERS)), "the other has left")
    return {command: said(java, bootstrap, command) for command in SEEN_AGAIN}


def found(java: JavaClients, bootstrap: str, expected: dict[str, list[str]]) -> dict[str, list[str]]:
    wait_until(lambda: said(java, bootstrap, "--list --state") == expected["--list --state"], "all groups are loaded")
    return {command: said(java, bootstrap, command) for command in SEEN_AGAIN}


def test_tools_say_the_same_of_both_brokers(tmp_path: Path) -> None:
    ours, kafkas = (vectors.unpack(vectors.CLEAN, tmp_path / name) for name in ("ours", "kafkas"))
    with JavaClients(tmp_path) as java:
        with node_on(ours, tmp_path / "node", SETTINGS) as our:
            of_ours = transcript(java, our.broker_address)
            left_by_ours = left_behind(java, our.broker_address)
        with kafka_node(kafkas, tmp_path / "kafka", settings=SETTINGS) as node:
            of_kafkas = transcript(java, node.bootstrap)
            left_by_kafka = left_behind(java, node.bootstrap)
        for command in COMMANDS:
            assert of_ours[command] == of_kafkas[command], command
        assert "g1 plain 0 0 27 111 84 - - -" in of_ours["--describe --all-groups --offsets --verbose"]
        assert "java plain 0 111 111 0 - - -" in of_ours["--describe --group java --offsets"]
        with kafka_node(our.data, tmp_path / "kafka-on-ours", settings=SETTINGS) as node:
            assert found(java, node.bootstrap, left_by_ours) == left_by_ours
        with node_on(kafkas, tmp_path / "ours-on-kafkas", SETTINGS) as our:
            assert found(java, our.broker_address, left_by_kafka) == left_by_kafka
