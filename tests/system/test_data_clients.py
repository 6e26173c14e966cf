"""Records through clients that we did not write: every codec, headers, timestamps, large ones; one node and three."""

import asyncio
import itertools
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition as AioPartition
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from support.processes.nodes import OURS, Cluster, NodeSpec
from support.waiting import wait_until

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of how kafka-python reads its own files
    import kafka

pytestmark = pytest.mark.slow

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 3
RECORDS = 200
TIMEOUT_S = 120
LARGE_BYTES = 900_000
#: The records are of long ago: with the default, retention deletes them half a minute after the start of a node.
FOR_EVER = {"retention.ms": "-1"}

_names = (f"topic-{number}" for number in itertools.count())


class Sent(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int


def records(seed: int) -> list[Sent]:
    """Keys, tombstones, empty values, headers with and without a value, times that go back and forth."""
    draw = random.Random(seed)
    made = []
    for number in range(RECORDS):
        value = draw.choice((b"", draw.randbytes(draw.randrange(300)), b"v" * 500, b"%d" % number))
        headers = tuple((f"h{index}", draw.choice((b"", b"x%d" % index))) for index in range(draw.randrange(3)))
        made.append(Sent(b"key %d" % number, value, headers, 1_700_000_000_000 + draw.randrange(10_000)))
    return made


@pytest.fixture(scope="module", params=[1, 3], ids=["one node", "three nodes"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    settings = {"default.replication.factor": str(request.param), "min.insync.replicas": str(min(2, request.param))}
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in range(1, request.param + 1)]
    with Cluster(tmp_path_factory.mktemp("data"), specs, settings=settings) as made:
        made.start()
        admin = AdminClient({"bootstrap.servers": bootstrap(made)})
        wait_until(lambda: len(admin.list_topics(timeout=5).brokers) == len(specs), "all brokers are there", TIMEOUT_S)
        yield made
        made.check_alive()


def bootstrap(cluster: Cluster) -> str:
    return ",".join(node.broker_address for node in cluster.nodes.values())


@pytest.fixture
def topic(cluster: Cluster) -> str:
    name = next(_names)
    admin = AdminClient({"bootstrap.servers": bootstrap(cluster)})
    admin.create_topics([NewTopic(name, PARTITIONS, config=FOR_EVER)])[name].result(TIMEOUT_S)
    # The leaders themselves must know it: with acks=0 nobody hears that one does not.
    asking = Consumer({"bootstrap.servers": bootstrap(cluster), "group.id": "unused"})
    for partition in range(PARTITIONS):
        place = TopicPartition(name, partition)
        wait_until(lambda place=place: asking.get_watermark_offsets(place, 5) == (0, 0), f"{place} is led", TIMEOUT_S)
    asking.close()
    return name


# librdkafka


def produce(cluster: Cluster, topic: str, sent: list[Sent], **options: object) -> None:
    producer = Producer({"bootstrap.servers": bootstrap(cluster), **options})
    failures: list[object] = []

    def delivered(error: object, _: Message) -> None:
        if error is not None:
            failures.append(error)

    for record in sent:
        headers = list(record.headers)
        producer.produce(
            topic, record.value, record.key, timestamp=record.timestamp, headers=headers, on_delivery=delivered
        )
    assert producer.flush(TIMEOUT_S) == 0 and failures == []


def consume(cluster: Cluster, topic: str, count: int, **options: object) -> list[Sent]:
    """From assigned partitions; there is no coordinator in it."""
    settings = {"group.id": "unused", "enable.auto.commit": False, **options}
    consumer = Consumer({"bootstrap.servers": bootstrap(cluster), **settings})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    found: list[Sent] = []
    while len(found) < count:
        messages = consumer.consume(count - len(found), TIMEOUT_S)
        assert messages, f"{len(found)} of {count} records came"
        for message in messages:
            assert message.error() is None, message.error()
            headers = tuple((name, value) for name, value in message.headers() or ())
            found.append(Sent(message.key(), message.value(), headers, message.timestamp()[1]))
    consumer.close()
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_librdkafka_in_every_codec(cluster: Cluster, topic: str, codec: str) -> None:
    sent = records(seed=CODECS.index(codec))
    produce(cluster, topic, sent, acks="all", **{"enable.idempotence": True, "compression.type": codec})
    assert sorted(consume(cluster, topic, RECORDS)) == sorted(sent)


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(cluster: Cluster, topic: str, acks: str) -> None:
    sent = records(seed=10)
    produce(cluster, topic, sent, acks=acks)
    assert sorted(consume(cluster, topic, RECORDS)) == sorted(sent)


def test_large_records_and_one_that_is_too_large(cluster: Cluster, topic: str) -> None:
    sent = [Sent(b"%d" % number, bytes([number]) * LARGE_BYTES, (), 1_700_000_000_000) for number in range(5)]
    produce(cluster, topic, sent)
    assert sorted(consume(cluster, topic, len(sent), **{"fetch.message.max.bytes": LARGE_BYTES * 2})) == sent
    producer = Producer({"bootstrap.servers": bootstrap(cluster), "message.max.bytes": 5_000_000})
    codes: list[int] = []
    producer.produce(topic, b"x" * 2_000_000, on_delivery=lambda error, _: codes.append(error.code() if error else 0))
    producer.flush(TIMEOUT_S)
    assert codes == [10]  # MESSAGE_TOO_LARGE


def test_offsets_by_time_and_records_deleted(cluster: Cluster, topic: str) -> None:
    sent = [Sent(b"k", b"%d" % number, (), 1_700_000_000_000 + 1_000 * number) for number in range(100)]
    producer = Producer({"bootstrap.servers": bootstrap(cluster)})
    for record in sent:
        producer.produce(topic, record.value, record.key, partition=0, timestamp=record.timestamp)
    assert producer.flush(TIMEOUT_S) == 0
    admin = AdminClient({"bootstrap.servers": bootstrap(cluster)})
    first = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> int:
        found: int = admin.list_offsets({first: spec})[first].result(TIMEOUT_S).offset
        return found

    assert offset(OffsetSpec.latest()) == 100
    assert offset(OffsetSpec.for_timestamp(1_700_000_000_000 + 41_500)) == 42
    assert offset(OffsetSpec.max_timestamp()) == 99
    deleted = admin.delete_records([TopicPartition(topic, 0, 30)])
    assert next(iter(deleted.values())).result(TIMEOUT_S).low_watermark == 30
    assert offset(OffsetSpec.earliest()) == 30


# The others


def test_kafka_python(cluster: Cluster, topic: str) -> None:
    sent = records(seed=20)
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap(cluster), acks="all", compression_type="gzip")
    for record in sent:
        headers = [(name, value or b"") for name, value in record.headers]
        producer.send(topic, record.value, record.key, headers=headers, timestamp_ms=record.timestamp)
    producer.flush(TIMEOUT_S)
    producer.close()
    assert sorted(consume(cluster, topic, RECORDS)) == sorted(sent)
    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap(cluster), consumer_timeout_ms=TIMEOUT_S * 1000)
    consumer.assign([kafka.TopicPartition(topic, partition) for partition in range(PARTITIONS)])
    consumer.seek_to_beginning()
    found = [
        Sent(message.key, message.value, tuple(message.headers), message.timestamp)
        for message in itertools.islice(consumer, RECORDS)
    ]
    consumer.close()
    assert sorted(found) == sorted(sent)


def test_aiokafka(cluster: Cluster, topic: str) -> None:
    sent = records(seed=30)

    async def there_and_back() -> list[Sent]:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap(cluster), enable_idempotence=True)
        async with producer:
            for record in sent:
                headers = list(record.headers)
                await producer.send(topic, record.value, record.key, timestamp_ms=record.timestamp, headers=headers)
            await producer.flush()
        found = []
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap(cluster)) as consumer:
            partitions = [AioPartition(topic, partition) for partition in range(PARTITIONS)]
            consumer.assign(partitions)
            await consumer.seek_to_beginning(*partitions)
            while len(found) < RECORDS:
                message = await asyncio.wait_for(consumer.getone(), TIMEOUT_S)
                found.append(Sent(message.key, message.value, tuple(message.headers), message.timestamp))
        return found

    assert sorted(asyncio.run(there_and_back())) == sorted(sent)


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    with Cluster(tmp_path, [NodeSpec(1, OURS, roles="broker,controller")]) as made:
        made.start()
        admin = AdminClient({"bootstrap.servers": bootstrap(made), "reconnect.backoff.max.ms": 200})
        kept = NewTopic("kept", PARTITIONS, 1, config=FOR_EVER)
        admin.create_topics([kept], request_timeout=TIMEOUT_S)["kept"].result(TIMEOUT_S)
        expected: list[Sent] = []
        for round_number, end in enumerate((made[1].stop, made[1].kill, made[1].stop)):
            sent = records(seed=40 + round_number)
            produce(made, "kept", sent, **{"enable.idempotence": True})
            expected += sent
            end()
            made.start(1)
            assert sorted(consume(made, "kept", len(expected))) == sorted(expected)
