"""A broker of ours and one of Apache Kafka's, each alone in a cluster with the same file, asked the same in every
version: their answers differ in nothing but ports, ids, paths and documentation."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from odradek.client.net.channel import Channel
from odradek.errors import Disconnected
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.codec import encode
from odradek.protocol.errors import InvalidMessage, UnsupportedVersion
from odradek.protocol.json_form import to_json
from odradek.protocol.message import Message
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from odradek.protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from odradek.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from support.processes.nodes import HOST, Cluster, Kind, Node, NodeSpec

pytestmark = [pytest.mark.slow, pytest.mark.peer]

TIMEOUT_MS = 60_000
KINDS = (Kind.ODRADEK, Kind.KAFKA)

SETTINGS = {
    "broker.rack": "r1",
    "log.retention.hours": "48",
    "log.roll.ms": "3600000",
    "log.flush.scheduler.interval.ms": "100000",
    "message.max.bytes": "2000000",
    "compression.type": "lz4",
    "group.consumer.session.timeout.ms": "50000",
    "auto.create.topics.enable": "false",
    "max.request.partition.size.limit": "4",
    "some.plugin.setting": "x",
}
TOPICS = [
    CreatableTopic(name="a", num_partitions=3, replication_factor=1),
    CreatableTopic(
        name="b",
        num_partitions=2,
        replication_factor=1,
        configs=[
            CreatableTopicConfig(name="retention.ms", value="5000"),
            CreatableTopicConfig(name="cleanup.policy", value="compact,delete"),
        ],
    ),
]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Node]]:
    root = tmp_path_factory.mktemp("beside")
    clusters = [
        Cluster(root / kind.value, [NodeSpec(1, kind, roles="broker,controller", settings=SETTINGS)]) for kind in KINDS
    ]
    with clusters[0], clusters[1]:
        for cluster in clusters:
            cluster.start()
        nodes = [cluster[1] for cluster in clusters]
        asyncio.run(prepare(nodes))
        yield nodes


async def prepare(nodes: list[Node]) -> None:
    for node in nodes:
        async with asyncio.timeout(TIMEOUT_MS / 1000):
            await until_there(node)


async def until_there(node: Node) -> None:
    channel = Channel(HOST, node.broker_port)
    try:
        while True:
            try:
                response = await channel.send(CreateTopicsRequest(topics=TOPICS, timeout_ms=TIMEOUT_MS), TIMEOUT_MS)
                described = await channel.send(MetadataRequest(topics=None), TIMEOUT_MS)
            except Disconnected:
                await asyncio.sleep(0.05)
                continue
            if response.topics[0].error_code == 36 and [topic.name for topic in described.topics] == ["a", "b"]:
                return
    finally:
        await channel.close()


async def answers(nodes: list[Node], request: Message, version: int) -> list[Any]:
    found = []
    for node in nodes:
        channel = Channel(HOST, node.broker_port)
        try:
            response = await channel.send(request, TIMEOUT_MS, version=version)
        finally:
            await channel.close()
        found.append(normal(node, to_json(response, version)))
    return found


def normal(node: Node, value: Any, name: str = "") -> Any:
    """Without what must differ, and in an order of our own."""
    if isinstance(value, list):
        return sorted((normal(node, each) for each in value), key=json.dumps)
    if isinstance(value, dict):
        return {name: normal(node, each, name) for name, each in value.items()}
    if name in ("topicId", "clusterId", "documentation") and value:
        return "ANY"
    if not isinstance(value, int | str) or isinstance(value, bool):
        return value
    text = str(value)
    for port, word in ((node.broker_port, "BROKER"), (node.controller_port, "CONTROLLER")):
        text = text.replace(str(port), word)
    return text.replace(str(node.directory), "DIRECTORY")


REQUESTS: dict[str, Callable[[], Message]] = {
    "metadata of all topics": lambda: MetadataRequest(topics=None),
    "metadata of none": lambda: MetadataRequest(topics=[]),
    "metadata of some": lambda: MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in ("a", "none", "no good", "__consumer_offsets")],
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    ),
    "metadata by unknown id": lambda: MetadataRequest(topics=[MetadataRequestTopic(topic_id=b"?" * 16, name=None)]),
    "cluster": lambda: DescribeClusterRequest(include_cluster_authorized_operations=True, include_fenced_brokers=True),
    "cluster of controllers": lambda: DescribeClusterRequest(endpoint_type=2),
    "partitions": DescribeTopicPartitionsRequest,
    "partitions after a cursor": lambda: DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in ("a", "b", "c", "no good")],
        cursor=Cursor(topic_name="a", partition_index=1),
        response_partition_limit=3,
    ),
    "partitions after a wrong cursor": lambda: DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="b")], cursor=Cursor(topic_name="a", partition_index=1)
    ),
    "configs": lambda: DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
            for kind, name in ((2, "a"), (2, "b"), (2, "none"), (2, "no good"), (4, ""), (4, "2"), (32, "g"), (16, "m"))
        ],
        include_synonyms=True,
    ),
    "configs by name": lambda: DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=2, resource_name="b", configuration_keys=["retention.ms", "segment.ms", "none"]
            )
        ]
    ),
    "config resources": ListConfigResourcesRequest,
}


def versions(request: Message) -> list[int]:
    """Those that have words for what the request holds."""
    first, last = request.VERSIONS
    return [version for version in range(first, last + 1) if is_sayable(request, version)]


def is_sayable(request: Message, version: int) -> bool:
    try:
        encode(request, version)
    except (UnsupportedVersion, InvalidMessage):
        return False
    return True


@pytest.mark.parametrize("name", REQUESTS)
def test_answers_are_the_same(both: list[Node], name: str) -> None:
    request = REQUESTS[name]()
    assert versions(request)
    for version in versions(request):
        ours, theirs = asyncio.run(answers(both, request, version))
        assert ours == theirs, f"version {version}"


def test_settings_of_the_broker_are_the_same(both: list[Node]) -> None:
    """Settings that Kafka does not document, and so are in no table of ours, are left out."""
    resource = DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    ours, theirs = (
        {config["name"]: config for config in answer["results"][0]["configs"]}
        for answer in asyncio.run(answers(both, request, 4))
    )
    assert set(ours) <= set(theirs)
    assert {name: config for name, config in theirs.items() if name in ours} == ours
    assert len(ours) > 300


def test_versions_are_the_same(both: list[Node]) -> None:
    """Of what we serve."""

    async def told(node: Node) -> Any:
        channel = Channel(HOST, node.broker_port)
        try:
            await channel.connect()
            return channel.api_versions
        finally:
            await channel.close()

    ours, theirs = (asyncio.run(told(node)) for node in both)
    assert ApiKey.METADATA in ours
    assert ours == {key: versions for key, versions in theirs.items() if key in ours}
