"""Clients that we did not write, and their first words: they ask for the versions, and then for the metadata.

The listener here serves these two alone, in the test's own process; what a node says beyond that is tested elsewhere.
"""

import asyncio
import io
import shutil
import socket
import subprocess
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka.admin import AdminClient
from kio.index import load_entity_schema
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.registry import ServedApi
from odradek.network.listener import Listener
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from support.peers import kafka_tools
from support.processes.network import PATIENCE_S, exchange, listening_in_thread, unknown_api_versions_bytes

with warnings.catch_warnings(action="ignore"):  # it reads its own files in a way that is going out of use
    from kafka import KafkaAdminClient

TOPIC, CLUSTER_ID = "lines", "bSXPc0xJod0nPk2Pq19b2w"


class FirstWords:
    """A node that is alone, with one topic of one partition; remembers who asked."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: set[tuple[str, int]] = set()
        self.software: set[str] = set()

    def __call__(self, ctx: Context, request: Any) -> MetadataResponse:
        self.asked.add((ctx.client_id, ctx.api_version))
        self.software.add(ctx.session.client_software_name)
        partition = MetadataResponsePartition(
            partition_index=0, leader_id=1, leader_epoch=0, replica_nodes=[1], isr_nodes=[1]
        )
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port)],
            cluster_id=CLUSTER_ID,
            controller_id=1,
            topics=[MetadataResponseTopic(name=TOPIC, topic_id=bytes(15) + b"\x01", partitions=[partition])],
        )


@pytest.fixture
def first_words() -> FirstWords:
    return FirstWords()


@pytest.fixture
def listener(first_words: FirstWords) -> Iterator[Listener]:
    with listening_in_thread([ServedApi(ApiKey.METADATA, first_words)]) as started:
        first_words.port = started.port
        yield started


@pytest.fixture
def address(listener: Listener) -> str:
    return f"127.0.0.1:{listener.port}"


def test_librdkafka(address: str, first_words: FirstWords) -> None:
    client = AdminClient({"bootstrap.servers": address, "client.id": "tester"})
    found = client.list_topics(timeout=PATIENCE_S)
    assert (list(found.topics), list(found.brokers), found.cluster_id) == ([TOPIC], [1], CLUSTER_ID)
    assert {client_id for client_id, _ in first_words.asked} == {"tester"}
    assert "confluent-kafka-python" in first_words.software


def test_kafka_python(address: str, first_words: FirstWords) -> None:
    client = KafkaAdminClient(bootstrap_servers=address, client_id="tester")
    try:
        assert client.list_topics() == [TOPIC]
    finally:
        client.close()
    assert "kafka-python" in first_words.software


def test_aiokafka(address: str, first_words: FirstWords) -> None:
    async def topics() -> list[str]:
        client = AIOKafkaAdminClient(bootstrap_servers=address, client_id="tester")
        await client.start()
        try:
            return list(await client.list_topics())
        finally:
            await client.close()

    assert asyncio.run(topics()) == [TOPIC]
    assert {client_id for client_id, _ in first_words.asked} == {"tester"}


@pytest.mark.peer
def test_kcat(address: str) -> None:
    kcat = shutil.which("kcat")
    assert kcat is not None, "kcat is missing: make setup installs it"
    done = subprocess.run(
        [kcat, "-L", "-b", address, "-m", str(PATIENCE_S)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert f"broker 1 at {address}" in done.stdout
    assert f'topic "{TOPIC}" with 1 partitions' in done.stdout


@pytest.mark.peer
def test_apache_kafka(address: str, first_words: FirstWords, listener: Listener) -> None:
    said = kafka_tools.run("org.apache.kafka.tools.BrokerApiVersionsCommand", "--bootstrap-server", address)
    assert f"{address} (id: 1 rack: null isFenced: false) -> (" in said
    lines = {line.strip() for line in said.splitlines()}
    for key, versions in listener.endpoint.registry.advertised.items():
        name = {ApiKey.METADATA: "Metadata", ApiKey.API_VERSIONS: "ApiVersions"}[ApiKey(key)]
        assert any(line.startswith(f"{name}({key}): {versions.first} to {versions.last}") for line in lines), said
    assert "apache-kafka-java" in first_words.software


@pytest.mark.parametrize("version", range(5))
def test_every_version_as_kio_says_it(version: int, listener: Listener) -> None:
    body = exchange(listener.port, kio_request(version))
    entity = load_entity_schema("api_versions", version, EntityType.response)
    response, end = entity_reader(entity)(body, 4)
    assert (int.from_bytes(body[:4], "big"), end) == (31, len(body) - 4)
    assert response.error_code.value == 0
    said = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    assert said == {key: tuple(versions) for key, versions in listener.endpoint.registry.advertised.items()}


def kio_request(version: int) -> bytes:
    request = load_entity_schema("api_versions", version, EntityType.request)
    header = request.__header_schema__
    written = io.BytesIO()
    about = {"request_api_key": i16(18), "request_api_version": i16(version), "correlation_id": i32(31)}
    entity_writer(header)(written, header(**about, client_id="old"))
    named = {"client_software_name": "kio", "client_software_version": "1"} if version >= 3 else {}
    entity_writer(request)(written, request(**named))
    return len(written.getvalue()).to_bytes(4, "big") + written.getvalue()


def test_a_version_from_the_future_is_told_which_there_are_and_asks_again(listener: Listener) -> None:
    opened = socket.create_connection(("127.0.0.1", listener.port), timeout=PATIENCE_S)
    with opened, opened.makefile("rwb") as stream:
        for sent, answered_in, error_code in ((unknown_api_versions_bytes(31), 0, 35), (kio_request(3), 3, 0)):
            stream.write(sent)
            stream.flush()
            body = stream.read(int.from_bytes(stream.read(4), "big"))
            entity = load_entity_schema("api_versions", answered_in, EntityType.response)
            response, _ = entity_reader(entity)(body, 4)
            assert response.error_code.value == error_code
            own = [each for each in response.api_keys if each.api_key == 18]
            assert [(each.min_version, each.max_version) for each in own] == [(0, 4)]
