"""Requests about settings and directories: the same to a node of ours and to Apache Kafka, and the same answers."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.client.net.channel import Channel, ChannelConfig
from odradek.common.failures import ApiError
from odradek.protocol.config_types import ConfigOp, ConfigResourceType
from odradek.protocol.message import Message
from odradek.protocol.messages import alter_configs_request as legacy
from odradek.protocol.messages import incremental_alter_configs_request as incremental
from odradek.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from support.peers.java_clients import JavaClients
from support.processes.nodes import Cluster, Kind, Node, NodeSpec
from support.waiting import wait_until

WAIT_S = 120
TIMEOUT_MS = 60_000

TOPIC, BROKER, LOGGER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER
GROUP, METRICS = ConfigResourceType.GROUP, ConfigResourceType.CLIENT_METRICS
SET, DELETE, APPEND, SUBTRACT = ConfigOp.SET, ConfigOp.DELETE, ConfigOp.APPEND, ConfigOp.SUBTRACT

Change = tuple[str, int, str | None]


def change(kind: int, name: str, *changes: Change, validate_only: bool = False) -> Message:
    return changes_of((kind, name, changes), validate_only=validate_only)


def changes_of(*resources: tuple[int, str, tuple[Change, ...]], validate_only: bool = False) -> Message:
    return incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[incremental.AlterableConfig(name=n, config_operation=op, value=v) for n, op, v in changes],
            )
            for kind, name, changes in resources
        ],
        validate_only=validate_only,
    )


def replace(kind: int, name: str, **values: str | None) -> Message:
    """The old request: names with `_` for `.`."""
    configs = [legacy.AlterableConfig(name=n.replace("_", "."), value=v) for n, v in values.items()]
    resource = legacy.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    return legacy.AlterConfigsRequest(resources=[resource])


def on_broker(name: str, value: str | None, op: int = SET) -> Message:
    return change(BROKER, "1", (name, op, value))


def on_all(name: str, value: str | None, op: int = SET) -> Message:
    return change(BROKER, "", (name, op, value))


def describe(kind: int, name: str, *keys: str) -> Message:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys) or None)
    return DescribeConfigsRequest(resources=[resource], include_synonyms=True)


#: In this order: what is set stays set until something takes it away.
TABLE: tuple[Message, ...] = (
    # What cannot change, or not so.
    on_broker("node.id", "3"),
    on_broker("log.dirs", "/elsewhere"),
    on_broker("log.retention.hours", "1"),
    on_all("auto.create.topics.enable", "false"),
    on_broker("ssl.keystore.location", "/nowhere"),
    on_all("listeners", "PLAINTEXT://:1"),
    on_all("cordoned.log.dirs", "/nowhere"),
    on_all("listener.name.plaintext.ssl.keystore.location", "/nowhere"),
    on_all("listener.name.plaintext.max.connections", "many"),
    on_broker("log.cleaner.threads", "two"),
    on_broker("log.cleaner.threads", "-1"),
    on_broker("log.cleaner.threads", "0"),
    on_broker("log.cleaner.threads", "3"),
    on_broker("num.io.threads", "0"),
    on_broker("num.io.threads", "100"),
    on_broker("num.io.threads", "1"),
    on_broker("num.network.threads", "9"),
    on_broker("num.replica.fetchers", "7"),
    on_broker("background.threads", "4"),
    on_broker("log.retention.ms", "0"),
    on_broker("log.roll.ms", "0"),
    on_broker("log.cleaner.dedupe.buffer.size", "1000"),
    on_broker("max.connections", "0"),
    on_broker("max.connection.creation.rate", "0"),
    on_broker("max.connections.per.ip", "0"),
    on_broker("compression.type", "rar"),
    on_broker("min.insync.replicas", "0"),
    on_broker("unclean.leader.election.enable", "perhaps"),
    on_broker("log.cleanup.policy", "shred"),
    on_broker("leader.replication.throttled.rate", "-1"),
    on_broker("leader.replication.throttled.rate", "fast"),
    on_broker("message.max.bytes", None),
    on_broker("log.retention.ms", "1", 9),
    on_broker("log.retention.ms", "1", APPEND),
    on_broker("no.such.thing", "1", APPEND),
    on_broker("no.such.thing", "1", SUBTRACT),
    change(BROKER, "2", ("log.retention.ms", SET, "5")),
    change(BROKER, "one", ("log.retention.ms", SET, "5")),
    change(BROKER, "1", ("log.retention.ms", SET, "5"), ("log.retention.ms", SET, "6")),
    changes_of((BROKER, "1", ()), (BROKER, "1", ())),
    change(77, "1", ("a", SET, "b")),
    change(TOPIC, "", ("retention.ms", SET, "5")),
    change(TOPIC, "nowhere", ("retention.ms", SET, "5")),
    change(TOPIC, "t", ("retention.ms", SET, None)),
    change(TOPIC, "t", ("retention.ms", SET, "5"), ("retention.ms", DELETE, None)),
    change(TOPIC, "t", ("no.such.thing", SET, "1")),
    change(TOPIC, "t", ("leader.replication.throttled.replicas", SET, "zero")),
    # Tiered storage is disabled in both.
    change(TOPIC, "t", ("remote.storage.enable", SET, "true")),
    change(TOPIC, "t", ("remote.storage.enable", SET, "false"), validate_only=True),
    change(TOPIC, "t", ("local.retention.ms", SET, "1000"), validate_only=True),
    change(TOPIC, "t", ("local.retention.ms", SET, "2000"), ("retention.ms", SET, "1000"), validate_only=True),
    change(TOPIC, "t", ("local.retention.bytes", SET, "1000"), ("retention.bytes", SET, "10"), validate_only=True),
    change(TOPIC, "t", ("remote.log.copy.disable", SET, "true"), validate_only=True),
    change(TOPIC, "t", ("remote.log.delete.on.disable", SET, "true"), validate_only=True),
    # Without an effect in one of both, and taken by both.
    change(TOPIC, "t", ("preallocate", SET, "true"), validate_only=True),
    change(GROUP, "g", ("share.session.timeout.ms", SET, "50000"), validate_only=True),
    change(METRICS, "m", ("interval.ms", SET, "1000"), validate_only=True),
    change(BROKER, "1", ("num.network.threads", SET, "4"), validate_only=True),
    change(BROKER, "1", ("background.threads", SET, "12"), validate_only=True),
    change(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")),
    change(METRICS, "", ("interval.ms", SET, "1000")),
    replace(BROKER, "1", node_id="3"),
    replace(BROKER, "1", log_retention_ms=None),
    replace(LOGGER, "1", root="INFO"),
    replace(TOPIC, "t", no_such="1"),
    # What does.
    on_broker("log.retention.ms", "5000"),
    on_all("log.retention.ms", "6000"),
    on_all("message.max.bytes", "2000000"),
    on_broker("leader.replication.throttled.rate", "1000000"),
    on_all("follower.replication.throttled.rate", "1000000"),
    on_broker("replica.alter.log.dirs.io.max.bytes.per.second", "1000000"),
    on_broker("no.such.thing", "secret"),
    on_broker("log.cleanup.policy", "compact", APPEND),
    on_broker("num.io.threads", "16"),
    change(BROKER, "1", ("log.cleaner.threads", SET, "2"), validate_only=True),
    changes_of(
        (BROKER, "1", (("log.roll.ms", SET, "70000"),)),
        (BROKER, "", (("node.id", SET, "4"),)),
        (TOPIC, "t", (("segment.ms", SET, "80000"),)),
    ),
    # Loggers.
    change(LOGGER, "1", ("root", SET, "INFO")),
    change(LOGGER, "1", ("root", SET, "LOUD")),
    change(LOGGER, "1", ("root", DELETE, None)),
    change(LOGGER, "1", ("root", APPEND, "INFO")),
    change(LOGGER, "1", ("no.such.logger", SET, "INFO")),
    change(LOGGER, "1", ("no.such.logger", DELETE, None)),
    change(LOGGER, "2", ("root", SET, "INFO")),
    change(LOGGER, "", ("root", SET, "INFO")),
    describe(LOGGER, "1", "root"),
    describe(LOGGER, "", "root"),
    describe(LOGGER, "2", "root"),
    describe(LOGGER, "one", "root"),
)

#: Asked when all of the table is known to the node. Whole, but for what belongs to one node alone.
SHOWN: tuple[Message, ...] = (
    describe(BROKER, "1"),
    describe(BROKER, ""),
    describe(BROKER, "2"),
    describe(BROKER, "one"),
    describe(TOPIC, "t"),
    describe(TOPIC, "nowhere"),
)

#: Addresses, paths, and what Java has and we do not.
OWN = ("listeners", "log.dirs", "controller.quorum.voters", "advertised.listeners")


#: Of Kafka's kafka-configs, after the table.
LINES = """
--alter --entity-type brokers --entity-name 1 --add-config node.id=3
--alter --entity-type brokers --entity-name 1 --add-config log.cleaner.threads=2,log.cleaner.backoff.ms=20000
--alter --entity-type brokers --entity-name 1 --delete-config log.cleaner.backoff.ms
--alter --entity-type brokers --entity-default --add-config listeners=PLAINTEXT://:1
--describe --entity-type brokers --entity-name 1
--describe --entity-type brokers --entity-default
--alter --entity-type broker-loggers --entity-name 1 --add-config root=WARN
--alter --entity-type broker-loggers --entity-name 1 --add-config root=LOUD
--alter --entity-type broker-loggers --entity-name 1 --delete-config root
--alter --entity-type topics --entity-name t --add-config retention.ms=5,max.message.bytes=2000
--alter --entity-type topics --entity-name t --delete-config retention.ms
--describe --entity-type topics --entity-name t
--describe --entity-type topics --entity-name t --all
--describe --entity-type topics --entity-name nowhere
"""

#: A node hears of a change a moment after it was made, so these are asked again.
SHOWING = "--describe"


def asked(node: Node, requests: tuple[Message, ...]) -> list[Any]:
    async def work() -> list[Any]:
        channel = Channel(node.host, node.broker_port, ChannelConfig(client_id="test"))
        try:
            return [await channel.send(request, TIMEOUT_MS) for request in requests]
        finally:
            await channel.close()

    return asyncio.run(work())


def said(response: Any) -> list[tuple[Any, ...]]:
    """What a person would see of it."""
    results = getattr(response, "results", None) or getattr(response, "responses", [])
    return [
        (
            each.resource_type,
            each.resource_name,
            each.error_code,
            each.error_message,
            sorted(
                (
                    *(config.name, config.value, config.read_only, config.config_source, config.is_sensitive),
                    config.config_type,
                    [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms],
                )
                for config in getattr(each, "configs", [])
                if config.name not in OWN
            ),
        )
        for each in results
    ]


@contextmanager
def both(root: Path) -> Iterator[tuple[Node, Node]]:
    specs = [NodeSpec(1, kind, "broker,controller", {"log.retention.hours": "24"}) for kind in Kind]
    with Cluster(root / "a", specs[:1]) as ours, Cluster(root / "b", specs[1:]) as theirs:
        ours.start()
        theirs.start()
        topic = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)])
        for cluster in (ours, theirs):
            wait_until(lambda cluster=cluster: is_made(cluster[1], topic), "it answers", WAIT_S, cluster[1].log_tail)
        yield ours[1], theirs[1]


def is_made(node: Node, topic: Message) -> bool:
    try:
        (response,) = asked(node, (topic,))
    except ApiError:
        return False
    return response.topics[0].error_code in (0, 36)


@pytest.mark.slow
@pytest.mark.peer
def test_both_answer_the_same_in_the_same_words(tmp_path: Path) -> None:
    with both(tmp_path) as nodes:
        ours, theirs = (asked(node, TABLE) for node in nodes)
        differing = [
            f"{request}\nours: {said(here)}\nKafka's: {said(there)}"
            for request, here, there in zip(TABLE, ours, theirs, strict=True)
            if said(here) != said(there)
        ]
        assert not differing, "\n\n".join(differing)
        wait_until(lambda: not differences(nodes), "both show the same", 60, lambda: "\n".join(differences(nodes)))
        assert directory_codes(nodes[0]) == directory_codes(nodes[1])
        with JavaClients(tmp_path) as java:
            for line in LINES.strip().splitlines():
                if SHOWING in line:
                    wait_until(lambda line=line: not differing_words(java, nodes, line), line, 60)  # type: ignore[misc]
                assert not (words := differing_words(java, nodes, line)), words


def directory_codes(node: Node) -> list[list[tuple[str, int, int]]]:
    """What becomes of moves to other log directories that cannot be made."""
    here, wanted = str(node.data), [("t", 0), ("t", 7), ("nowhere", 0), ("x" * 240, 0)]
    topics = [AlterReplicaLogDirTopic(name=name, partitions=[index]) for name, index in wanted]
    requests = tuple(
        AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=topics)])
        for path in (here, f"{here}/elsewhere", "")
    )
    return [
        sorted(
            (topic.topic_name, each.partition_index, each.error_code)
            for topic in answer.results
            for each in topic.partitions
        )
        for answer in asked(node, requests)
    ]


def differing_words(java: JavaClients, nodes: tuple[Node, Node], line: str) -> str:
    here, there = (words(java, node, line) for node in nodes)
    return "" if here == there else f"$ kafka-configs {line}\nours: {here}\nKafka's: {there}"


def words(java: JavaClients, node: Node, line: str) -> tuple[int, list[str]]:
    """All but where in the tool's own code something failed."""
    done = java.tool("kafka.admin.ConfigCommand", "--bootstrap-server", node.broker_address, *line.split())
    lines = done.output.replace(node.broker_address, "<node>").splitlines()
    return done.status, [each for each in lines if not each.startswith("\tat ")]


def differences(nodes: tuple[Node, Node]) -> list[str]:
    found = []
    for request, here, there in zip(SHOWN, *(asked(node, SHOWN) for node in nodes), strict=True):
        for mine, other in zip(said(here), said(there), strict=True):
            if mine[:4] != other[:4]:
                found.append(f"{request}\nours: {mine[:4]}\nKafka's: {other[:4]}")
            found += [f"{request}: ours: {row}" for row in mine[4] if row not in other[4]]
            found += [f"{request}: Kafka's: {row}" for row in other[4] if row not in mine[4]]
    return found
