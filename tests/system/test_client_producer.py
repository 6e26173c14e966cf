"""The producer against one node of ours and one of Apache Kafka's: one table. librdkafka reads, and says what is right.

The node is killed in between, so that what is said of order, loss and repetition is said of the worst.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import Producer as Librdkafka
from confluent_kafka import TopicPartition as Place

from odradek.client.net.channel import FinalizedFeatures
from odradek.client.net.network_client import NetworkClient
from odradek.client.producer.producer import Delivery, OutgoingRecord, Producer
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import InputError
from odradek.errors import (
    BufferExhausted,
    DeliveryTimedOut,
    ProducerClosed,
    ProducerFenced,
    RecordTooLarge,
    Refused,
    RequestTimedOut,
    TransactionAborted,
    UnknownTopic,
)
from odradek.protocol.error_codes import ErrorCode
from support.figures import report
from support.loads.data_load import CLIENT, admin_of, bootstrap_of, create_topic
from support.peers.librdkafka_reader import LIMIT_S, Seen, read_by_librdkafka, run
from support.processes.nodes import OURS, Cluster, Kind, NodeSpec
from support.waiting import wait_until

pytestmark = pytest.mark.slow

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    # A broker that was killed is registered again when its session is over.
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "500",
}


@pytest.fixture(scope="module", params=[OURS, pytest.param(Kind.KAFKA, marks=pytest.mark.peer)], ids=lambda k: k.value)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    specs = [NodeSpec(1, request.param, roles="broker,controller")]
    with Cluster(tmp_path_factory.mktemp("producer"), specs, settings=SETTINGS) as cluster:
        cluster.start()
        yield cluster


@pytest.fixture
def bootstrap(cluster: Cluster) -> str:
    return bootstrap_of(cluster)


def producer_of(bootstrap: str, **settings: object) -> Producer:
    return Producer(**{"bootstrap_servers": bootstrap, "linger_ms": 0} | settings)


def values(records: list[Seen]) -> list[bytes | None]:
    return [record.value for record in records]


def test_what_is_sent_is_what_is_read(cluster: Cluster, bootstrap: str) -> None:
    """A partition for each codec."""
    create_topic(cluster, "codecs", len(CODECS), 1)
    headers = [("empty", b""), ("null", None), ("ünï", b"\xff")]

    async def send(codec: str, partition: int) -> list[int]:
        async with producer_of(bootstrap, compression_type=codec, linger_ms=5) as producer:
            deliveries = [
                await producer.send(
                    "codecs",
                    None if number % 50 == 7 else b"v" * (number % 90),
                    key=None if number % 3 == 0 else f"{number}".encode(),
                    headers=headers if number % 5 == 0 else (),
                    partition=partition,
                    timestamp_ms=1_700_000_000_000 + number * 7 % 100,
                )
                for number in range(300)
            ]
            ranges = await (await producer.send_batch("codecs", [b"many"] * 1_000, partition))
            assert sum(each.record_count for each in ranges) == 1_000
            found = [await each for each in deliveries]
            assert all(each.timestamp_ms == 1_700_000_000_000 + n * 7 % 100 for n, each in enumerate(found))
            return [each.offset for each in found]

    for partition, codec in enumerate(CODECS):
        assert run(send(codec, partition)) == list(range(300))
    read = read_by_librdkafka(bootstrap, "codecs", len(CODECS))
    for partition in range(len(CODECS)):
        found = [record for record in read if record.partition == partition]
        assert len(found) == 1_300 and values(found[300:]) == [b"many"] * 1_000
        for number, record in enumerate(found[:300]):
            assert record.value == (None if number % 50 == 7 else b"v" * (number % 90))
            assert record.key == (None if number % 3 == 0 else f"{number}".encode())
            assert record.timestamp_ms == 1_700_000_000_000 + number * 7 % 100
            assert list(record.headers) == (headers if number % 5 == 0 else [])


def test_keys_land_where_java_and_librdkafka_put_them(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "keys", 7, 1)
    create_topic(cluster, "keys-theirs", 7, 1)
    keys = [f"key-{number}".encode() for number in range(200)]
    theirs = Librdkafka({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", **CLIENT})
    for key in keys:
        theirs.produce("keys-theirs", key=key)
    assert theirs.flush(LIMIT_S) == 0

    async def send() -> dict[bytes, int]:
        async with producer_of(bootstrap) as producer:
            deliveries = {key: await producer.send("keys", key=key) for key in keys}
            return {key: (await delivery).partition for key, delivery in deliveries.items()}

    ours = run(send())
    expected = {record.key: record.partition for record in read_by_librdkafka(bootstrap, "keys-theirs", 7)}
    assert ours == expected
    assert {record.key: record.partition for record in read_by_librdkafka(bootstrap, "keys", 7)} == expected


def test_other_ways_to_choose_a_partition(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "choices", 4, 1)

    async def partitions(count: int, **settings: object) -> list[int]:
        async with producer_of(bootstrap, **settings) as producer:
            deliveries = [await producer.send("choices", b"v", key=b"same") for _ in range(count)]
            return [(await each).partition for each in deliveries]

    assert run(partitions(8, partitioner_class="org.apache.kafka.clients.producer.RoundRobinPartitioner")) == [
        *range(4),
        *range(4),
    ]
    assert run(partitions(3, partitioner_class=lambda topic, key, value, count: count - 1)) == [3] * 3
    assert len(set(run(partitions(20, partitioner_ignore_keys=True)))) == 1, "one batch, one partition"
    with pytest.raises(InputError, match="returned partition 9 of choices, which has 4"):
        run(partitions(1, partitioner_class=lambda *_: 9))


def test_values_without_keys_are_spread(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "spread", 4, 1)

    async def send() -> Counter[int]:
        counts: Counter[int] = Counter()
        async with producer_of(bootstrap, batch_size=1_000) as producer:
            for each in await (await producer.send_batch("spread", [b"v" * 90] * 4_000)):
                counts[each.partition] += each.record_count
        return counts

    counts = run(send())
    assert sum(counts.values()) == 4_000 and all(counts[number] > 400 for number in range(4))


def test_acks(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "acks", 3, 1)

    async def send(acks: int | str, partition: int) -> list[int]:
        async with producer_of(bootstrap, acks=acks) as producer:
            sent = [await producer.send_and_wait("acks", b"%d" % number, partition=partition) for number in range(10)]
            return [each.offset for each in sent]

    assert run(send(1, 1)) == run(send("all", 2)) == list(range(10))
    # Once the leader has acknowledged something: before it knows that it leads it drops records with acks=0.
    assert run(send(1, 0)) == list(range(10))
    assert run(send(0, 0)) == [-1] * 10
    wait_until(lambda: len(read_by_librdkafka(bootstrap, "acks", 3)) == 40, "all are there")
    assert values(read_by_librdkafka(bootstrap, "acks", 3)) == [b"%d" % number for number in range(10)] * 4


def test_times_of_the_broker_and_callbacks(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "append-time", 1, 1, {"message.timestamp.type": "LogAppendTime"})
    told: list[tuple[object, object]] = []

    async def send() -> None:
        async with producer_of(bootstrap) as producer:
            delivery = await producer.send(
                "append-time", b"v", timestamp_ms=5, on_delivery=lambda metadata, error: told.append((metadata, error))
            )
            assert abs((await delivery).timestamp_ms - time.time() * 1000) < 3_600_000
            await asyncio.gather(delivery, await producer.send("append-time", b"v", partition=0))
            assert told == [(delivery.result(), None)]

    run(send())


def test_what_is_too_large(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "large", 1, 1, {"max.message.bytes": "2000"})

    async def send() -> None:
        async with producer_of(bootstrap, max_request_size=10_000, batch_size=9_000, linger_ms=50) as producer:
            with pytest.raises(RecordTooLarge, match=r"larger than max\.request\.size \(10000\)"):
                await producer.send("large", bytes(10_000))
            with pytest.raises(Refused, match="MESSAGE_TOO_LARGE") as refused:
                await producer.send_and_wait("large", bytes(3_000))
            assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE
            # Together they are too much for the broker: the batch is split.
            deliveries = [await producer.send("large", b"%d" % number * 500) for number in range(9)]
            assert [(await each).offset for each in deliveries] == list(range(9))

    run(send())
    assert values(read_by_librdkafka(bootstrap, "large", 1)) == [b"%d" % number * 500 for number in range(9)]


def test_topics_and_partitions_that_are_not_there(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "there", 1, 1)

    async def send() -> None:
        async with producer_of(bootstrap, max_block_ms=300) as producer:
            with pytest.raises(UnknownTopic, match="topic nowhere is not known after"):
                await producer.send("nowhere", b"v")
            with pytest.raises(
                UnknownTopic, match="there has no partition 1; there are 0 to 0, and after 300 ms no more"
            ):
                await producer.send("there", b"v", partition=1)
            with pytest.raises(Refused, match="INVALID_TOPIC"):
                await producer.send("no/name", b"v")
            with pytest.raises(InputError, match="is str, not bytes"):
                await producer.send("there", "text")
            with pytest.raises(InputError, match="no transactional_id"):
                await producer.begin_transaction()
            assert await producer.partitions_for("there") == (0,)
        with pytest.raises(ProducerClosed):
            await producer.send("there", b"v")

    run(send())


def test_nothing_is_lost_doubled_or_reordered_when_the_node_is_killed(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "killed", 2, 1)
    deliveries: list[Delivery] = []

    async def send() -> None:
        async with producer_of(bootstrap, batch_size=500, reconnect_backoff_ms=20) as producer:
            for number in range(4_000):
                deliveries.append(await producer.send("killed", b"%d" % number, partition=number % 2))
                if number == 2_000:
                    await deliveries[500]
                    await asyncio.to_thread(cluster[1].kill)
                    await asyncio.to_thread(cluster.start)
                if number % 100 == 0:
                    await asyncio.sleep(0.001)
            for delivery in deliveries:
                await delivery

    run(send())
    found = read_by_librdkafka(bootstrap, "killed", 2)
    for partition in (0, 1):
        read = [int(record.value or b"") for record in found if record.partition == partition]
        assert read == list(range(partition, 4_000, 2))
    report("producer: node killed under load", acked=len(deliveries), lost=0, duplicated=0, reordered=0)


def test_back_pressure_and_time_outs_while_the_node_hangs(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "hangs", 1, 1)

    async def send() -> None:
        # Filling the buffer must not take as long as a delivery may, also on a machine that is busy.
        limits = {"request_timeout_ms": 1_000, "delivery_timeout_ms": 6_000, "max_block_ms": 300}
        async with producer_of(bootstrap, buffer_memory=4_000, batch_size=1_000, **limits) as producer:
            await send_until_acked(producer, b"before")
            cluster[1].pause()
            try:
                deliveries = []
                with pytest.raises(BufferExhausted, match=r"no room for the record in buffer\.memory \(4000 bytes\)"):
                    while True:
                        deliveries.append(await producer.send("hangs", b"v" * 400))
                assert len(deliveries) == 8
                for delivery in deliveries:
                    with pytest.raises(DeliveryTimedOut, match=r"hangs-0 were not acknowledged within .* ms"):
                        await delivery
            finally:
                cluster[1].resume()
            await send_until_acked(producer, b"after")

    async def send_until_acked(producer: Producer, value: bytes) -> None:
        """A machine that is busy takes longer now and then than the producer's short limits."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                try:
                    await producer.send_and_wait("hangs", value)
                    return
                except RequestTimedOut:
                    pass

    run(send())
    read = values(read_by_librdkafka(bootstrap, "hangs", 1))
    assert read[0] == b"before" and read[-1] == b"after"


def committed_values(bootstrap: str, topic: str) -> list[bytes | None]:
    return values(read_by_librdkafka(bootstrap, topic, 1, isolation_level="read_committed"))


@pytest.mark.parametrize("version", [1, 2])
def test_transactions_commit_and_abort(
    cluster: Cluster, bootstrap: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster has version 2, and still speaks version 1 with those who know of nothing else."""
    topic = f"transactions-{version}"
    create_topic(cluster, topic, 1, 1)
    if version == 1:
        monkeypatch.setattr(NetworkClient, "features", FinalizedFeatures())

    async def send() -> None:
        async with producer_of(bootstrap, transactional_id=f"of version {version}", linger_ms=5) as producer:
            for number in range(4):
                async with producer.transaction():
                    await producer.send(topic, b"committed %d" % number)
                with pytest.raises(ValueError, match="no"):
                    async with producer.transaction():
                        await producer.send_and_wait(topic, b"aborted")
                        raise ValueError("no")
            await producer.begin_transaction()
            never = await producer.send(topic, b"never sent")
            await producer.abort_transaction()
            with pytest.raises(TransactionAborted):
                await never

    run(send())
    wait_until(lambda: len(committed_values(bootstrap, topic)) == 4, "all markers are written")
    assert committed_values(bootstrap, topic) == [b"committed %d" % number for number in range(4)]
    everything = values(read_by_librdkafka(bootstrap, topic, 1, isolation_level="read_uncommitted"))
    assert everything.count(b"aborted") == 4 and b"never sent" not in everything


def test_a_second_producer_fences_the_first(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "fenced", 1, 1)

    async def send() -> None:
        async with (
            producer_of(bootstrap, transactional_id="fenced") as first,
            producer_of(bootstrap, transactional_id="fenced") as second,
        ):
            await first.init_transactions()
            await first.begin_transaction()
            await first.send_and_wait("fenced", b"of the first")
            async with second.transaction():
                await second.send("fenced", b"of the second")
            with pytest.raises(ProducerFenced, match='another producer with the transactional id "fenced"'):
                await first.commit_transaction()
            with pytest.raises(ProducerFenced):
                await first.send("fenced", b"never")

    run(send())
    wait_until(lambda: committed_values(bootstrap, "fenced") == [b"of the second"], "the first one's were aborted")


@pytest.mark.parametrize("version", [1, 2])
def test_offsets_are_committed_with_the_transaction(
    cluster: Cluster, bootstrap: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = f"copied-{version}"
    create_topic(cluster, topic, 1, 1)
    place, admin = TopicPartition(topic, 0), admin_of(cluster)
    if version == 1:
        monkeypatch.setattr(NetworkClient, "features", FinalizedFeatures())

    def committed() -> int:
        wanted = ConsumerGroupTopicPartitions(f"copiers-{version}", [Place(*place)])
        (found,) = admin.list_consumer_group_offsets([wanted], require_stable=True).values()
        return int(found.result(LIMIT_S).topic_partitions[0].offset)

    async def send() -> None:
        async with producer_of(bootstrap, transactional_id=f"copier-{version}") as producer:
            async with producer.transaction():
                await producer.send(topic, b"v")
                await producer.send_offsets_to_transaction(
                    {place: OffsetAndMetadata(7, None, "note")}, f"copiers-{version}"
                )
            with pytest.raises(ValueError):
                async with producer.transaction():
                    await producer.send_offsets_to_transaction({place: OffsetAndMetadata(99)}, f"copiers-{version}")
                    raise ValueError
            await producer.begin_transaction()
            await producer.abort_transaction()

    run(send())
    wait_until(lambda: committed() == 7, "the offset of the committed transaction, and not of the aborted one")


def test_many_at_once_with_keys_and_headers(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "many", 1, 1)

    async def send() -> None:
        async with producer_of(bootstrap, value_serializer=lambda text: text.encode()) as producer:
            records = [OutgoingRecord(f"v{number}", f"k{number}".encode(), [("h", b"x")]) for number in range(50)]
            (first, *_) = await (await producer.send_batch("many", ["plain", *records]))
            assert (first.topic, first.partition, first.base_offset) == ("many", 0, 0)
            await producer.flush()

    run(send())
    found = read_by_librdkafka(bootstrap, "many", 1)
    assert values(found) == [b"plain", *(b"v%d" % number for number in range(50))]
    assert [record.key for record in found[1:]] == [b"k%d" % number for number in range(50)]
    assert all(list(record.headers) == [("h", b"x")] for record in found[1:])
