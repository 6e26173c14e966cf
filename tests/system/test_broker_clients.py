"""Clients that we did not write, and a broker of ours as their only address: they see the cluster and change it."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import aiokafka.admin
import pytest
from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka import admin as confluent

from odradek.client.net.channel import Channel
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from support.peers import kafka_tools
from support.processes.nodes import HOST, OURS, Cluster, Node, NodeSpec, controllers

pytestmark = pytest.mark.slow

TIMEOUT_S = 60
SETTINGS = {"log.retention.hours": "48", "message.max.bytes": "2000000"}

KAFKA_PYTHON = Path(__file__).parents[1] / "support" / "peers" / "kafka_python_admin.py"

T = TypeVar("T")


def wait_for(look: Callable[[], T], what: str) -> T:
    """The first answer that is true. A client may fail meanwhile."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        failure: Exception | None = None
        try:
            if found := look():
                return found
        except KafkaException as error:
            failure = error
        if time.monotonic() > deadline_s:
            raise AssertionError(f"not in {TIMEOUT_S} s: {what}") from failure
        time.sleep(0.02)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Broker and controller in one process."""
    spec = NodeSpec(1, OURS, roles="broker,controller", settings=SETTINGS)
    with Cluster(tmp_path_factory.mktemp("combined"), [spec]) as cluster:
        cluster.start()
        yield cluster[1]
        assert cluster[1].stop() == 0


@pytest.fixture
def librdkafka(node: Node) -> Any:
    return confluent.AdminClient({"bootstrap.servers": node.broker_address})


def done(futures: dict[Any, Any]) -> dict[Any, Any]:
    return {key: future.result(TIMEOUT_S) for key, future in futures.items()}


# librdkafka


def test_librdkafka_sees_the_cluster(librdkafka: Any, node: Node) -> None:
    metadata = librdkafka.list_topics(timeout=TIMEOUT_S)
    assert {broker.id: (broker.host, broker.port) for broker in metadata.brokers.values()} == {
        1: (HOST, node.broker_port)
    }
    described = librdkafka.describe_cluster(include_authorized_operations=True).result(TIMEOUT_S)
    assert described.cluster_id == metadata.cluster_id
    assert described.controller.id == metadata.controller_id == 1
    assert [each.name for each in described.authorized_operations]


def test_librdkafka_makes_changes_and_deletes_topics(librdkafka: Any) -> None:
    done(librdkafka.create_topics([confluent.NewTopic("made", 3, 1, config={"segment.ms": "60000"})]))
    topic = wait_for(lambda: librdkafka.list_topics("made").topics["made"].partitions, "the topic is there")
    assert {number: (each.leader, each.replicas, each.isrs) for number, each in topic.items()} == {
        number: (1, [1], [1]) for number in range(3)
    }
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        done(librdkafka.create_topics([confluent.NewTopic("made", 1, 1)]))
    done(librdkafka.create_partitions([confluent.NewPartitions("made", 5)]))
    wait_for(lambda: len(librdkafka.list_topics("made").topics["made"].partitions) == 5, "five partitions")
    (described,) = done(librdkafka.describe_topics(TopicCollection(["made"]))).values()
    assert len(described.partitions) == 5
    done(librdkafka.delete_topics(["made"]))
    wait_for(lambda: "made" not in librdkafka.list_topics().topics, "the topic is gone")
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
        done(librdkafka.delete_topics(["made"]))


def test_librdkafka_reads_and_changes_settings(librdkafka: Any) -> None:
    done(librdkafka.create_topics([confluent.NewTopic("settings", 1, 1)]))

    def resource(**options: Any) -> Any:
        return confluent.ConfigResource(confluent.ResourceType.TOPIC, "settings", **options)

    def setting(name: str) -> Any:
        (configs,) = done(librdkafka.describe_configs([resource()])).values()
        return configs[name]

    inherited = wait_for(lambda: setting("max.message.bytes"), "the topic is there")
    assert (inherited.value, confluent.ConfigSource(inherited.source).name) == ("2000000", "STATIC_BROKER_CONFIG")
    entry = confluent.ConfigEntry("max.message.bytes", "5000", incremental_operation=confluent.AlterConfigOpType.SET)
    done(librdkafka.incremental_alter_configs([resource(incremental_configs=[entry])]))
    changed = wait_for(lambda: (one := setting("max.message.bytes")).value == "5000" and one, "the setting is there")
    assert confluent.ConfigSource(changed.source).name == "DYNAMIC_TOPIC_CONFIG"
    assert [synonym.name for synonym in changed.synonyms.values()][:2] == ["max.message.bytes", "message.max.bytes"]
    broker = confluent.ConfigResource(confluent.ResourceType.BROKER, "1")
    (configs,) = done(librdkafka.describe_configs([broker])).values()
    assert configs["log.retention.hours"].value == "48"
    assert configs["node.id"].is_read_only


def test_a_topic_is_made_because_a_client_asks_for_it(librdkafka: Any) -> None:
    wait_for(lambda: librdkafka.list_topics("wished-for").topics["wished-for"].partitions, "made by itself")
    assert "wished-for" in librdkafka.list_topics().topics


# kcat


def test_kcat(node: Node, librdkafka: Any) -> None:
    def told(*options: str) -> Any:
        command = ["kcat", "-b", node.broker_address, "-L", "-J", *options]
        said = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        return json.loads(said.stdout)

    done(librdkafka.create_topics([confluent.NewTopic("kcat", 2, 1)]))
    seen = wait_for(lambda: (each := told("-t", "kcat"))["topics"][0]["partitions"] and each, "the topic is there")
    assert seen["brokers"] == [{"id": 1, "name": node.broker_address}]
    assert seen["controllerid"] == 1
    assert [(each["partition"], each["leader"]) for each in seen["topics"][0]["partitions"]] == [(0, 1), (1, 1)]


# kafka-python


def test_kafka_python(node: Node) -> None:
    command = [sys.executable, str(KAFKA_PYTHON), node.broker_address]
    said = subprocess.run(command, capture_output=True, text=True, timeout=2 * TIMEOUT_S, check=False)
    assert said.returncode == 0, said.stderr


# aiokafka


def test_aiokafka(node: Node) -> None:
    async def topics(client: Any, name: str, *, there: bool) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while (name in await client.list_topics()) is not there:
                await asyncio.sleep(0.02)

    async def main() -> None:
        client = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=node.broker_address)
        await client.start()
        try:
            await client.create_topics([aiokafka.admin.NewTopic("async", 2, 1)])
            await topics(client, "async", there=True)
            (described,) = await client.describe_topics(["async"])
            assert [each["leader"] for each in described["partitions"]] == [1, 1]
            resource = aiokafka.admin.config_resource.ConfigResource(
                aiokafka.admin.config_resource.ConfigResourceType.TOPIC, "async"
            )
            (configs,) = await client.describe_configs([resource])
            assert "2000000" in str(configs)
            await client.delete_topics(["async"])
            await topics(client, "async", there=False)
        finally:
            await client.close()

    asyncio.run(main())


# Apache Kafka's own tools


@pytest.mark.peer
def test_kafkas_tools(node: Node) -> None:
    def topics(*options: str) -> str:
        return tool("org.apache.kafka.tools.TopicCommand", *options)

    def tool(name: str, *options: str) -> str:
        return kafka_tools.run(name, "--bootstrap-server", node.broker_address, *options)

    topics("--create", "--topic", "java", "--partitions", "3", "--config", "segment.ms=60000")
    described = topics("--describe", "--topic", "java")
    assert "PartitionCount: 3" in described
    assert "segment.ms=60000" in described
    assert described.count("Leader: 1\tReplicas: 1\tIsr: 1") == 3
    change = ("--alter", "--entity-type", "topics", "--entity-name", "java", "--add-config", "flush.ms=1000")
    assert "Completed updating config for topic java" in tool("kafka.admin.ConfigCommand", *change)
    shown = tool("kafka.admin.ConfigCommand", "--describe", "--entity-type", "topics", "--entity-name", "java")
    assert "flush.ms=1000" in shown
    topics("--delete", "--topic", "java")
    assert "java" not in topics("--list").split()


# Brokers apart from the controllers


def test_changes_go_through_while_the_active_controller_is_killed(tmp_path: Path) -> None:
    """A client that knows one broker alone sees no error: the broker looks for the controllers, the client does not."""
    specs = [*controllers(3), *(NodeSpec(node_id, OURS, roles="broker") for node_id in (11, 12))]
    with Cluster(tmp_path, specs) as cluster:
        cluster.start()
        client = confluent.AdminClient({"bootstrap.servers": cluster[11].broker_address})
        wait_for(lambda: len(client.list_topics(timeout=5).brokers) == 2, "both brokers are unfenced")
        for number, victim in enumerate(active_controllers(cluster, 2)):
            done(client.create_topics([confluent.NewTopic(f"before-{number}", 2, 2)], operation_timeout=30))
            cluster[victim].kill()
            done(client.create_topics([confluent.NewTopic(f"after-{number}", 2, 2)], operation_timeout=30))
            cluster[victim].start()
        other = confluent.AdminClient({"bootstrap.servers": cluster[12].broker_address})
        expected = {f"{word}-{number}" for word in ("before", "after") for number in range(2)}
        wait_for(lambda: set(other.list_topics(timeout=5).topics) == expected, "the other broker knows all of it")


def active_controllers(cluster: Cluster, count: int) -> Iterator[int]:
    """The leader of each moment, as DescribeQuorum through a broker says."""
    for _ in range(count):
        yield wait_for(lambda: leader_through(cluster[11]), "somebody leads")


def leader_through(broker: Node) -> int:
    async def main() -> int:
        channel = Channel(HOST, broker.broker_port)
        try:
            partition = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData()])
            response = await channel.send(DescribeQuorumRequest(topics=[partition]), TIMEOUT_S * 1000)
            leader: int = response.topics[0].partitions[0].leader_id
            return max(leader, 0)
        finally:
            await channel.close()

    return asyncio.run(main())
