"""librdkafka, both ways, through the mock cluster that it brings: a real port on the loopback.

Raw Produce and Fetch requests put our bytes there and bring librdkafka's bytes back as they are.
"""

import socket
import struct
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.protocol.message import Message
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.produce_response import ProduceResponse
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import parse_response, request_parts
from odradek.records.batch import Compression, read_batches
from support.builders.records import CODECS, SAMPLE, build

pytestmark = pytest.mark.peer

#: Old enough for every librdkafka's mock, new enough for batches of magic 2.
PRODUCE_VERSION = 7
FETCH_VERSION = 11

_DELIVERY_TIMEOUT_S = 30


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Producer, str]]:
    """The client that carries the cluster, and the cluster's address."""
    owner = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1, "log_level": 0})
    broker = next(iter(owner.list_topics(timeout=_DELIVERY_TIMEOUT_S).brokers.values()))
    yield owner, f"{broker.host}:{broker.port}"
    owner.flush(_DELIVERY_TIMEOUT_S)


def ask(address: str, request: Message, version: int) -> Message:
    host, _, port = address.rpartition(":")
    header = RequestHeader(
        request_api_key=request.API_KEY, request_api_version=version, correlation_id=1, client_id="odradek"
    )
    body = b"".join(request_parts(header, request))
    with socket.create_connection((host, int(port)), timeout=_DELIVERY_TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        stream = connection.makefile("rb")
        (length,) = struct.unpack(">i", stream.read(4))
        return parse_response(stream.read(length), request.API_KEY, version)[1]


def produce(address: str, topic: str, records: bytes) -> int:
    """The offset that the first record got."""
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])]
    answer = ask(address, ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data), PRODUCE_VERSION)
    assert isinstance(answer, ProduceResponse)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == 0
    return partition.base_offset


def fetch(address: str, topic: str, offset: int) -> bytes:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 24)
    request = FetchRequest(
        max_wait_ms=1000,
        min_bytes=1,
        max_bytes=1 << 24,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )
    answer = ask(address, request, FETCH_VERSION)
    assert isinstance(answer, FetchResponse)
    (found,) = answer.responses[0].partitions
    assert found.error_code == 0
    return bytes(found.records or b"")


def make_topic(owner: Producer, topic: str) -> None:
    """The mock makes a topic when its metadata is asked for."""
    assert topic in owner.list_topics(topic, timeout=_DELIVERY_TIMEOUT_S).topics


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name.lower())
def test_it_reads_ours(cluster: tuple[Producer, str], codec: Compression) -> None:
    owner, address = cluster
    topic = f"ours-{codec.name.lower()}"
    make_topic(owner, topic)
    base_offset = produce(address, topic, build(SAMPLE, codec))
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "g", "check.crcs": True, "enable.auto.commit": False, "log_level": 0}
    )
    try:
        consumer.assign([TopicPartition(topic, 0, base_offset)])
        messages = []
        while len(messages) < len(SAMPLE):
            batch = consumer.consume(len(SAMPLE) - len(messages), timeout=_DELIVERY_TIMEOUT_S)
            assert batch, f"only {len(messages)} records came"
            messages += batch
    finally:
        consumer.close()
    for i, (message, made) in enumerate(zip(messages, SAMPLE, strict=True)):
        assert message.error() is None
        assert (message.offset(), message.timestamp()[1]) == (base_offset + i, made.timestamp)
        assert (message.key(), message.value()) == (made.key, made.value)
        assert tuple(message.headers() or ()) == made.headers


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name.lower())
def test_we_read_its(cluster: tuple[Producer, str], codec: Compression) -> None:
    owner, address = cluster
    topic = f"theirs-{codec.name.lower()}"
    make_topic(owner, topic)
    producer = Producer(
        {
            "bootstrap.servers": address,
            "compression.type": codec.name.lower(),
            "linger.ms": 200,
            "enable.idempotence": codec == Compression.NONE,
            "log_level": 0,
        }
    )
    for made in SAMPLE:
        producer.produce(
            topic, key=made.key, value=made.value, headers=list(made.headers), partition=0, timestamp=made.timestamp
        )
    assert producer.flush(_DELIVERY_TIMEOUT_S) == 0
    records, codecs = [], []
    while len(records) < len(SAMPLE):
        found = list(read_batches(fetch(address, topic, len(records))))
        assert found, f"only {len(records)} records came"
        for batch in found:
            batch.check()
            codecs.append(batch.compression)
            records += list(batch.records())
    assert codec in codecs
    assert [(r.timestamp, r.key, r.value, r.headers) for r in records] == [
        (made.timestamp, made.key, made.value, made.headers) for made in SAMPLE
    ]
