"""What a controller is asked: brokers, topics and their settings, from the first registration to the last deletion."""

from collections.abc import Iterator
from typing import Any

from odradek.protocol.message import Message
from odradek.protocol.messages import alter_configs_request as legacy
from odradek.protocol.messages import incremental_alter_configs_request as incremental
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from support.builders.controller import registration, topic
from system.conversations.compare import UNKNOWN_ID, Learned, Line
from system.conversations.controller_more import more_questions

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


def conversation() -> Iterator[Line]:
    yield from _brokers()
    yield from _topics()
    yield from _partitions()
    yield from _configs()
    yield from more_questions()
    yield from _deletions()
    yield from _departures()


def _registration(learned: Learned, broker_id: int, **fields: Any) -> Message:
    return registration(broker_id, **{"cluster_id": learned.cluster_id, **fields})


def _beat(learned: Learned, broker_id: int, **fields: Any) -> Message:
    values = {
        "broker_id": broker_id,
        "broker_epoch": learned.epochs.get(broker_id, 1),
        "current_metadata_offset": 1_000_000,
    }
    return BrokerHeartbeatRequest(**{**values, **fields})


def _brokers() -> Iterator[Line]:
    for number in (10, 11, 12, 13):
        yield Line(f"register {number}", lambda known, n=number: _registration(known, n))
    for number in (10, 11, 12):
        yield Line(f"unfence {number}", lambda known, n=number: _beat(known, n))
    yield Line("register with another cluster id", lambda known: _registration(known, 14, cluster_id="another"))
    yield Line("register without directories", lambda known: _registration(known, 14, log_dirs=[]))
    yield Line(
        "register with a reserved directory", lambda known: _registration(known, 14, log_dirs=[bytes(15) + b"\x07"])
    )
    yield Line("register without features", lambda known: _registration(known, 14, features=[]))
    yield Line("register another process of a live broker", lambda known: _registration(known, 10, incarnation=2))
    yield Line("register a broker from ZooKeeper", lambda known: _registration(known, 14, is_migrating_zk_broker=True))
    yield Line("a heartbeat of nobody", lambda known: _beat(known, 77))
    yield Line("a heartbeat of another epoch", lambda known: _beat(known, 10, broker_epoch=1))
    yield Line("a heartbeat that wants to be fenced", lambda known: _beat(known, 12, want_fence=True))
    yield Line("a heartbeat that is behind", lambda known: _beat(known, 12, current_metadata_offset=0))
    yield Line("a heartbeat that wants back", lambda known: _beat(known, 12))
    for version in range(2):
        yield Line(f"a heartbeat v{version}", lambda known: _beat(known, 12), version)
    yield Line("unregister nobody", lambda known: UnregisterBrokerRequest(broker_id=77))
    yield Line("unregister", lambda known: UnregisterBrokerRequest(broker_id=13))


def _topics() -> Iterator[Line]:
    good = [
        topic("first", [[10, 11], [11, 12]], configs={"retention.ms": "5000"}),
        topic("second", [[12], [10], [11]]),
        topic("third", [[10, 11, 12]]),
    ]
    yield Line("create topics", lambda known: CreateTopicsRequest(topics=good))
    bad = [
        topic("first"),
        topic("a b"),
        topic(""),
        topic("."),
        topic("x" * 250),
        topic("fir.st_a", num_partitions=1, replication_factor=9),
        topic("none", num_partitions=0, replication_factor=1),
        topic("minus", num_partitions=-2, replication_factor=1),
        topic("no-factor", num_partitions=1, replication_factor=0),
        topic("both", [[10]], num_partitions=1),
        topic("both-factor", [[10]], replication_factor=1),
        topic("unknown-broker", [[10, 77]]),
        topic("twice-a-broker", [[10, 10]]),
        topic("no-broker", [[]]),
        topic("uneven", [[10, 11], [10]]),
        topic("unknown-config", configs={"no.such": "1"}),
        topic("bad-config", configs={"retention.ms": "many"}),
        topic("bad-policy", configs={"cleanup.policy": "burn"}),
        topic("__cluster_metadata", num_partitions=1, replication_factor=1),
        topic("twice"),
        topic("twice"),
    ]
    yield Line("create topics that cannot be", lambda known: CreateTopicsRequest(topics=bad))
    yield Line("create too many", lambda known: CreateTopicsRequest(topics=[topic("m", num_partitions=10_001)]))
    tried = [topic("tried", [[10]], configs={"segment.bytes": "1048576"}), topic("second")]
    yield Line("try to create", lambda known: CreateTopicsRequest(topics=tried, validate_only=True))
    for version in range(2, 8):
        one = [topic(f"v{version}", [[10]]), topic("first")]
        yield Line(f"create v{version}", lambda known, o=one: CreateTopicsRequest(topics=o), version)


def _partitions() -> Iterator[Line]:
    def more(name: str, count: int, *assignments: list[int]) -> CreatePartitionsTopic:
        places = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
        return CreatePartitionsTopic(name=name, count=count, assignments=places or None)

    asked = [
        more("second", 4, [10]),
        more("third", 1),
        more("first", 1),
        more("missing", 3),
        more("v2", 3, [10]),
        more("v3", 2, [77]),
        more("v4", 2, [10, 11]),
        more("v5", -1),
        more("v6", 3),
        more("v6", 4),
    ]
    yield Line("more partitions", lambda known: CreatePartitionsRequest(topics=asked, timeout_ms=60_000))
    one = [more("v7", 3)]
    yield Line("try more", lambda known: CreatePartitionsRequest(topics=one, timeout_ms=60_000, validate_only=True))


def _configs() -> Iterator[Line]:
    def change(kind: int, name: str, *changes: tuple[str, int, str | None]) -> incremental.AlterConfigsResource:
        configs = [incremental.AlterableConfig(name=n, config_operation=op, value=v) for n, op, v in changes]
        return incremental.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)

    resources = [
        change(TOPIC, "first", ("retention.ms", 0, "7000"), ("cleanup.policy", 2, "compact")),
        change(TOPIC, "missing", ("retention.ms", 0, "1")),
        change(TOPIC, "second", ("retention.ms", 2, "1")),
        change(TOPIC, "third", ("no.such", 0, "1")),
        change(TOPIC, "v2", ("retention.ms", 0, "x")),
        change(TOPIC, "v4", ("retention.ms", 0, "1")),
        change(TOPIC, "v4", ("segment.ms", 0, "1")),
        change(TOPIC, "", ("retention.ms", 0, "1")),
        change(BROKER, "10", ("log.cleaner.threads", 0, "2")),
        change(BROKER, "", ("log.cleaner.threads", 0, "3")),
        change(BROKER, "77", ("log.cleaner.threads", 0, "3")),
        change(BROKER, "ten", ("log.cleaner.threads", 0, "3")),
        change(CLIENT_METRICS, "m", ("interval.ms", 0, "1000")),
        change(CLIENT_METRICS, "n", ("interval.ms", 0, "1")),
        change(CLIENT_METRICS, "o", ("no.such", 0, "1")),
        change(GROUP, "g", ("consumer.session.timeout.ms", 0, "50000")),
        change(GROUP, "h", ("consumer.session.timeout.ms", 0, "1")),
        change(GROUP, "i", ("no.such", 0, "1")),
        change(GROUP, "", ("consumer.session.timeout.ms", 0, "50000")),
        change(77, "x", ("y", 0, "z")),
    ]
    yield Line("change settings", lambda known: incremental.IncrementalAlterConfigsRequest(resources=resources))

    def replace(kind: int, name: str, **settings: str) -> legacy.AlterConfigsResource:
        configs = [legacy.AlterableConfig(name=n.replace("_", "."), value=v) for n, v in settings.items()]
        return legacy.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)

    replaced = [
        replace(TOPIC, "first", retention_ms="9000"),
        replace(TOPIC, "missing", retention_ms="9000"),
        replace(TOPIC, "third", no_such="1"),
        replace(TOPIC, "second", retention_ms="1"),
        replace(TOPIC, "second", retention_ms="2"),
        replace(BROKER_LOGGER, "10", root="INFO"),
        replace(77, "x"),
    ]
    yield Line("replace settings", lambda known: legacy.AlterConfigsRequest(resources=replaced))


def _deletions() -> Iterator[Line]:
    def states(known: Learned) -> Message:
        asked = [
            DeleteTopicState(name="first"),
            DeleteTopicState(topic_id=known.topic_ids["second"]),
            DeleteTopicState(name="missing"),
            DeleteTopicState(topic_id=UNKNOWN_ID),
            DeleteTopicState(),
            DeleteTopicState(name="third", topic_id=known.topic_ids["third"]),
            DeleteTopicState(name="v2"),
            DeleteTopicState(name="v2"),
            DeleteTopicState(topic_id=known.topic_ids["v7"]),
            DeleteTopicState(topic_id=known.topic_ids["v7"]),
        ]
        return DeleteTopicsRequest(topics=asked, timeout_ms=60_000)

    yield Line("delete", states)
    names = ["v2", "v3", "v3", "missing"]
    yield Line("delete by name", lambda known: DeleteTopicsRequest(topic_names=names, timeout_ms=60_000), 5)
    yield Line("delete v1", lambda known: DeleteTopicsRequest(topic_names=["v4", "missing"], timeout_ms=60_000), 1)


def _departures() -> Iterator[Line]:
    for number in (10, 11):
        # Kafka forgets how far a broker has read when it is unfenced, until it is heard again.
        yield Line(f"another heartbeat of {number}", lambda known, n=number: _beat(known, n))
    yield Line("a topic on a broker that leaves", lambda known: CreateTopicsRequest(topics=[topic("last", [[12, 10]])]))
    for number in range(3):
        yield Line(f"a broker wants to leave, {number}", lambda known: _beat(known, 12, want_shut_down=True))
    yield Line("a broker leaves that leads nothing", lambda known: _beat(known, 11, want_shut_down=True))
    for version in range(5):
        yield Line(
            f"register v{version} {20 + version}",
            lambda known, n=20 + version, v=version: _registration(known, n, **({"log_dirs": []} if v < 2 else {})),
            version,
        )
