"""One table of what administrators ask for, rightly and wrongly, put to a broker of ours and to one of Apache Kafka's:
the same answers, codes and words, by requests that no client would send and by librdkafka's. Another one of what
producers and consumers should not send.

What is not asked, since Apache Kafka 4.3's broker never answers it: AlterConfigs that names a resource twice, Produce
without even an empty batch.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka import admin as confluent

from odradek.client.net.channel import Channel
from odradek.errors import Disconnected
from odradek.protocol.messages.metadata_request import MetadataRequest
from support.figures import report
from support.processes.nodes import HOST, Cluster, Kind, NodeSpec
from support.processes.nodes_quorum import CHANNEL_CONFIG
from support.waiting import wait_until
from system.conversations.admin import questions
from system.conversations.compare import Line, hold
from system.conversations.data import data_questions

pytestmark = [pytest.mark.slow, pytest.mark.peer]

TIMEOUT_S = 60
SETTINGS = {"auto.create.topics.enable": "false"}

#: Ids, places and moments.
HIDDEN = {
    name: f"a {name}"
    for name in (
        *("port", "cluster_id", "log_dir", "total_bytes", "usable_bytes"),
        *("high_watermark", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp"),
    )
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Cluster]]:
    """Ours, and Apache Kafka's."""
    root = tmp_path_factory.mktemp("admin")
    clusters = [
        Cluster(root / kind.value, [NodeSpec(1, kind, roles="broker,controller", settings=SETTINGS)])
        for kind in (Kind.ODRADEK, Kind.KAFKA)
    ]
    with clusters[0], clusters[1]:
        for cluster in clusters:
            cluster.start()
        for cluster in clusters:
            asyncio.run(until_unfenced(cluster))
        yield clusters


async def until_unfenced(cluster: Cluster) -> None:
    channel = Channel(HOST, cluster[1].broker_port, CHANNEL_CONFIG)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                cluster.check_alive()
                try:
                    if (await channel.send(MetadataRequest(topics=[]), TIMEOUT_S * 1000)).brokers:
                        return
                except Disconnected:
                    pass
                await asyncio.sleep(0.05)
    finally:
        await channel.close()


async def told(cluster: Cluster, asked: Iterable[Line], hidden: Mapping[str, str]) -> dict[str, Any]:
    channel = Channel(HOST, cluster[1].broker_port, CHANNEL_CONFIG)
    try:
        return await hold(channel, cluster.cluster_id, asked, hidden)
    finally:
        await channel.close()


def compare(both: list[Cluster], ask: Callable[[], Iterable[Line]], hidden: Mapping[str, str]) -> int:
    """How many answers there were."""

    async def of_both() -> list[dict[str, Any]]:
        return await asyncio.gather(*(told(cluster, ask(), hidden) for cluster in both))

    ours, kafkas = asyncio.run(of_both())
    differing = {name: (ours[name], kafkas[name]) for name in ours if ours[name] != kafkas[name]}
    assert differing == {}
    return len(ours)


def test_the_same_requests_have_the_same_answers(both: list[Cluster]) -> None:
    report("admin: answers like Apache Kafka's, code and words", requests=compare(both, questions, HIDDEN))


def test_the_same_data_has_the_same_answers(both: list[Cluster]) -> None:
    hidden = {name: f"a {name}" for name in ("port", "cluster_id", "session_id")}
    report("data: answers like Apache Kafka's, code and words", requests=compare(both, data_questions, hidden))


# librdkafka's own requests, and what it makes of the answers.


def _new(name: str, partitions: int = 1, replicas: int = 1, **options: Any) -> Any:
    return confluent.NewTopic(name, partitions, replicas, **options)


def _config(name: str, key: str, value: str | None, op: Any = confluent.AlterConfigOpType.SET) -> Any:
    entry = confluent.ConfigEntry(key, value, incremental_operation=op)
    return confluent.ConfigResource(confluent.ResourceType.TOPIC, name, incremental_configs=[entry])


def _of(kind: Any, name: str) -> Any:
    return confluent.ConfigResource(kind, name)


_APPEND = confluent.AlterConfigOpType.APPEND
_OFFSETS = {
    "latest": confluent.OffsetSpec.latest(),
    "earliest": confluent.OffsetSpec.earliest(),
    "max timestamp": confluent.OffsetSpec.max_timestamp(),
    "a time": confluent.OffsetSpec.for_timestamp(1_700_000_000_000),
}

#: In this order.
CALLS: dict[str, Callable[[Any], Any]] = {
    "create": lambda admin: admin.create_topics([_new("made", 2, config={"segment.ms": "60000"}), _new("other")]),
    "create again": lambda admin: admin.create_topics([_new("made")]),
    "create a bad name": lambda admin: admin.create_topics([_new("a b")]),
    "create too many replicas": lambda admin: admin.create_topics([_new("x", 1, 3)]),
    "create on no broker": lambda admin: admin.create_topics([confluent.NewTopic("x", 1, replica_assignment=[[9]])]),
    "create with a bad setting": lambda admin: admin.create_topics([_new("x", config={"segment.ms": "soon"})]),
    "create with an unknown setting": lambda admin: admin.create_topics([_new("x", config={"no.such": "1"})]),
    "try to create": lambda admin: admin.create_topics([_new("x"), _new("made")], validate_only=True),
    "fewer partitions": lambda admin: admin.create_partitions([confluent.NewPartitions("made", 1)]),
    "partitions of nothing": lambda admin: admin.create_partitions([confluent.NewPartitions("missing", 9)]),
    "partitions on no broker": lambda admin: admin.create_partitions(
        [confluent.NewPartitions("made", 3, replica_assignment=[[9]])]
    ),
    "change": lambda admin: admin.incremental_alter_configs([_config("made", "segment.ms", "70000")]),
    "change to nonsense": lambda admin: admin.incremental_alter_configs([_config("made", "segment.ms", "x")]),
    "append to a number": lambda admin: admin.incremental_alter_configs([_config("made", "segment.ms", "1", _APPEND)]),
    "change nothing there": lambda admin: admin.incremental_alter_configs([_config("missing", "segment.ms", "1")]),
    "settings of nothing": lambda admin: admin.describe_configs([_of(confluent.ResourceType.TOPIC, "missing")]),
    "settings of a bad name": lambda admin: admin.describe_configs([_of(confluent.ResourceType.TOPIC, "a b")]),
    "describe": lambda admin: admin.describe_topics(TopicCollection(["made", "missing", "a b"])),
    **{
        f"offset of {what}": lambda admin, s=spec: admin.list_offsets(
            {TopicPartition("made", 0): s, TopicPartition("made", 9): s, TopicPartition("missing", 0): s}
        )
        for what, spec in _OFFSETS.items()
    },
    "delete records": lambda admin: admin.delete_records(
        [TopicPartition("made", 0, 0), TopicPartition("made", 1, 99), TopicPartition("other", 0, -1)]
    ),
    "elect": lambda admin: admin.elect_leaders(
        ElectionType.PREFERRED, [TopicPartition("made", 0), TopicPartition("missing", 0)]
    ),
    "delete": lambda admin: admin.delete_topics(["made", "missing"]),
    "delete the other": lambda admin: admin.delete_topics(["other"]),
}


def outcome(asked: Any) -> Any:
    """What a client's user sees of it."""
    if isinstance(asked, dict):
        return {str(key): outcome(each) for key, each in asked.items()}
    if isinstance(asked, Future):
        try:
            return outcome(asked.result(TIMEOUT_S))
        except KafkaException as failure:
            return outcome(failure.args[0])
    if isinstance(asked, KafkaException):
        return outcome(asked.args[0])
    if isinstance(asked, KafkaError):
        return asked.name(), asked.str()
    if isinstance(asked, confluent.TopicDescription):
        return asked.name, [(one.id, [node.id for node in one.replicas]) for one in asked.partitions]
    if isinstance(asked, confluent.ListOffsetsResultInfo):
        return asked.offset, asked.timestamp, asked.leader_epoch
    if isinstance(asked, confluent.DeletedRecords):
        return asked.low_watermark
    return asked


def are_there(admin: Any, *names: str) -> bool:
    """Whether the broker knows the topics, with a leader for every partition."""
    topics = admin.list_topics(timeout=TIMEOUT_S).topics
    return all(name in topics and all(p.leader == 1 for p in topics[name].partitions.values()) for name in names)


def test_librdkafka_has_the_same_outcomes(both: list[Cluster]) -> None:
    def outcomes(cluster: Cluster) -> dict[str, Any]:
        admin = confluent.AdminClient({"bootstrap.servers": cluster[1].broker_address, "log_level": 0})
        found = {}
        for name, call in CALLS.items():
            found[name] = outcome(call(admin))
            if name == "create":
                wait_until(lambda: are_there(admin, "made", "other"), "the topics are there")
        return found

    ours, kafkas = (outcomes(cluster) for cluster in both)
    assert {name: (ours[name], kafkas[name]) for name in ours if ours[name] != kafkas[name]} == {}
    report("admin: outcomes by librdkafka like Apache Kafka's", calls=len(ours))
