"""The consumer against a node of ours and one of Apache Kafka's: one table. librdkafka writes, and says what is right.

What a group does with it is tested elsewhere: here partitions are assigned by hand.
"""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place

from odradek.client.consumer.consumer import Consumer
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.errors import NoOffsetForPartition, OffsetOutOfRange
from support.loads.data_load import CLIENT, admin_of, bootstrap_of, create_topic
from support.peers.librdkafka_reader import LIMIT_S, Seen, read_by_librdkafka, read_to_the_end, run, seen
from support.processes.nodes import OURS, Cluster, Kind, NodeSpec
from support.waiting import wait_until

pytestmark = pytest.mark.slow

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

#: The cleaner looks for work all the time.
SETTINGS = {"log.cleaner.backoff.ms": "50", "log.cleaner.enable": "true"}


@pytest.fixture(scope="module", params=[OURS, pytest.param(Kind.KAFKA, marks=pytest.mark.peer)], ids=lambda k: k.value)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    specs = [NodeSpec(1, request.param, roles="broker,controller")]
    with Cluster(tmp_path_factory.mktemp("consumer"), specs, settings=SETTINGS) as cluster:
        cluster.start()
        create_topic(cluster, "mixed", 2, 1)
        write_mixed(bootstrap_of(cluster), "mixed")
        yield cluster


@pytest.fixture
def bootstrap(cluster: Cluster) -> str:
    return bootstrap_of(cluster)


def write_mixed(bootstrap: str, topic: str) -> None:
    """Every codec, keys and values that are null and empty, headers, times out of order."""
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 20, **CLIENT})
        for number in range(300):
            producer.produce(
                topic,
                key=None if number % 3 == 0 else f"{codec}-{number}".encode(),
                value=None if number % 50 == 7 else b"v" * (number % 90),
                partition=number % 2,
                timestamp=1_700_000_000_000 + (number * 7) % 100,
                headers=[("codec", codec.encode()), ("empty", b""), ("null", None)] if number % 5 == 0 else None,
            )
        assert producer.flush(LIMIT_S) == 0


def write(bootstrap: str, topic: str, *texts: str, start_ms: int = 1_000) -> None:
    """In order, one second apart."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **CLIENT})
    for number, text in enumerate(texts):
        producer.produce(topic, value=text.encode(), partition=0, timestamp=start_ms + number * 1000)
    assert producer.flush(LIMIT_S) == 0


def texts(records: list[Seen]) -> list[str]:
    return [(record.value or b"").decode() for record in records]


def made(cluster: Cluster, topic: str, *written: str) -> TopicPartition:
    create_topic(cluster, topic, 1, 1)
    write(bootstrap_of(cluster), topic, *written)
    return TopicPartition(topic, 0)


def consumer_of(bootstrap: str, **settings: object) -> Consumer:
    """With short waits at the broker: what is asked meanwhile comes behind a fetch."""
    defaults = {"bootstrap_servers": bootstrap, "auto_offset_reset": "earliest", "fetch_max_wait_ms": 50}
    return Consumer(**defaults | settings)


MIXED = [TopicPartition("mixed", 0), TopicPartition("mixed", 1)]


def test_records_lists_and_columns_are_what_librdkafka_reads(bootstrap: str) -> None:
    expected = read_by_librdkafka(bootstrap, "mixed", 2)
    assert len(expected) == 300 * len(CODECS)

    async def by_record() -> list[Seen]:
        async with consumer_of(bootstrap) as consumer:
            consumer.assign(MIXED)
            found = []
            async for record in consumer:
                found.append(seen(record))
                if len(found) == len(expected):
                    return found
        raise AssertionError("the records ended")

    async def by_list() -> list[Seen]:
        async with consumer_of(bootstrap, max_poll_records=7, max_partition_fetch_bytes=2_000) as consumer:
            consumer.assign(MIXED)
            return await read_to_the_end(consumer, MIXED)

    async def by_column() -> list[Seen]:
        async with consumer_of(bootstrap, fetch_max_bytes=10_000) as consumer:
            consumer.assign(MIXED)
            found: list[Seen] = []
            async for batch in consumer.batches():
                headers = [tuple((h.key, h.value) for h in batch.headers(index)) for index in range(len(batch))]
                columns = (batch.offsets.tolist(), batch.timestamps_ms.tolist(), batch.keys(), batch.values(), headers)
                found += [Seen(batch.partition, *row) for row in zip(*columns, strict=True)]
                table = batch.to_arrow().to_pydict()
                assert (table["offset"], table["key"], table["value"]) == (columns[0], columns[2], columns[3])
                assert (set(table["topic"]), set(table["partition"])) == ({"mixed"}, {batch.partition})
                if len(found) == len(expected):
                    assert await consumer.position(MIXED[0]) == len(expected) // 2
                    return found
        raise AssertionError("the batches ended")

    for way in (by_record, by_list, by_column):
        found = run(way())
        for number in (0, 1):
            of_partition = [record for record in found if record.partition == number]
            assert of_partition == [record for record in expected if record.partition == number], way.__name__


def test_aborted_transactions_are_not_read_by_who_reads_committed(cluster: Cluster, bootstrap: str) -> None:
    create_topic(cluster, "transactions", 1, 1)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "consumer-test", **CLIENT})
    producer.init_transactions(LIMIT_S)
    for number in range(6):
        producer.begin_transaction()
        for each in range(10):
            producer.produce("transactions", f"{number}-{each}".encode())
        producer.flush(LIMIT_S)
        producer.abort_transaction(LIMIT_S) if number % 2 else producer.commit_transaction(LIMIT_S)
    producer.begin_transaction()
    producer.produce("transactions", b"open")
    producer.flush(LIMIT_S)
    part = TopicPartition("transactions", 0)

    async def read(isolation_level: str) -> tuple[list[str], list[str]]:
        async with consumer_of(bootstrap, isolation_level=isolation_level) as consumer:
            consumer.assign([part])
            records = texts(await read_to_the_end(consumer, [part]))
            consumer.seek_to_beginning()
            values: list[str] = []
            async for batch in consumer.batches():
                values += [value.decode() for value in batch.values()]
                if len(values) >= len(records):
                    break
            assert consumer.current_lag(part) == 0
            return records, values

    written = [f"{number}-{each}" for number in range(6) for each in range(10)]
    committed = [text for text in written if int(text[0]) % 2 == 0]
    assert run(read("read_committed")) == (committed, committed)
    assert run(read("read_uncommitted")) == ([*written, "open"], [*written, "open"])
    producer.abort_transaction(LIMIT_S)


def test_a_compacted_topic_has_gaps(cluster: Cluster, bootstrap: str) -> None:
    settings = {"cleanup.policy": "compact", "segment.ms": "10", "min.cleanable.dirty.ratio": "0.01"}
    create_topic(cluster, "compacted", 1, 1, settings)
    # A segment is closed by the first batch that is more than segment.ms younger than its own first batch, and the
    # cleaner leaves the last segment alone: by the clock, five rounds could all be in one.
    first_ms = int(time.time() * 1000) - 60_000
    for number in range(5):
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, **CLIENT})
        for key in range(50):
            producer.produce("compacted", key=b"%d" % key, value=b"%d" % number, timestamp=first_ms + number * 1_000)
        assert producer.flush(LIMIT_S) == 0
    wait_until(lambda: len(read_by_librdkafka(bootstrap, "compacted")) < 250, "the cleaner has been there")
    part = TopicPartition("compacted", 0)

    async def read() -> list[Seen]:
        async with consumer_of(bootstrap) as consumer:
            consumer.assign([part])
            found = await read_to_the_end(consumer, [part])
            assert await consumer.position(part) == 250
            return found

    # It may go on cleaning between the two; what both have they have alike.
    found, expected = run(read()), read_by_librdkafka(bootstrap, "compacted")
    assert {record.key: record.value for record in found} == {b"%d" % key: b"4" for key in range(50)}
    assert set(expected) <= set(found) and [record.offset for record in found] == sorted(r.offset for r in found)


def test_where_a_consumer_stands_and_where_it_goes(cluster: Cluster, bootstrap: str) -> None:
    part = made(cluster, "places", "a", "b", "c", "d", "e")
    other = MIXED[0]

    async def talk() -> None:
        async with consumer_of(bootstrap, max_poll_records=2) as consumer:
            consumer.assign([part])
            assert texts(list(map(seen, await consumer.poll(LIMIT_S * 1000)))) == ["a", "b"]
            assert (await consumer.position(part), consumer.current_lag(part)) == (2, 3)
            consumer.seek(part, 4)
            assert texts(list(map(seen, await consumer.poll(LIMIT_S * 1000)))) == ["e"]
            consumer.seek(part, OffsetAndMetadata(1, 0))
            assert texts(list(map(seen, await consumer.poll(LIMIT_S * 1000)))) == ["b", "c"]
            consumer.seek_to_end(part)
            assert await consumer.position(part) == 5
            consumer.seek_to_beginning()
            assert await consumer.position(part) == 0

            assert await consumer.beginning_offsets([part]) == {part: 0}
            assert await consumer.end_offsets([part]) == {part: 5}
            found = (await consumer.offsets_for_times({part: 2_500}))[part]
            assert found is not None and (found.offset, found.timestamp_ms) == (2, 3_000)
            assert await consumer.offsets_for_times({part: 5_001}) == {part: None}
            assert await consumer.partitions_for("mixed") == (0, 1)
            assert {"mixed", "places"} <= set(await consumer.topics())

            consumer.assign([part, other])
            consumer.pause(part)
            assert consumer.paused() == {part}
            for _ in range(5):
                assert {record.topic for record in await consumer.poll(LIMIT_S * 1000)} == {"mixed"}
            consumer.pause(other)
            assert await consumer.poll(100) == []
            consumer.resume(part)
            assert texts(list(map(seen, await consumer.poll(LIMIT_S * 1000)))) == ["a", "b"]

    run(talk())


def test_records_that_were_not_given_out_yet_are_taken_back(cluster: Cluster, bootstrap: str) -> None:
    part = made(cluster, "loop", *(str(number) for number in range(100)))

    async def talk() -> list[str]:
        found = []
        async with consumer_of(bootstrap) as consumer:
            consumer.assign([part])
            async for record in consumer:
                found.append(record.value.decode())
                assert await consumer.position(part) == record.offset + 1
                if found[-1] == "3" and len(found) == 4:
                    consumer.seek(part, 50)
                elif found[-1] == "52":
                    break
            found += [record.value.decode() for record in await consumer.poll(LIMIT_S * 1000, max_records=2)]
            async for record in consumer:
                found.append(record.value.decode())
                break
            async for batch in consumer.batches():
                found += [value.decode() for value in batch.values()]
                return found
        return found

    assert run(talk()) == [str(number) for number in (0, 1, 2, 3, 50, 51, 52, *range(53, 100))]


def test_where_a_consumer_begins(cluster: Cluster, bootstrap: str) -> None:
    now_ms = int(time.time() * 1000)
    part = made(cluster, "resets", "old", "older")
    write(bootstrap, "resets", "new", "newer", start_ms=now_ms - 60_000)

    async def begins(policy: str) -> int:
        async with consumer_of(bootstrap, auto_offset_reset=policy) as consumer:
            consumer.assign([part])
            return await consumer.position(part)

    places = {policy: run(begins(policy)) for policy in ("earliest", "latest", "by_duration:PT1H", "by_duration:PT1S")}
    assert places == {"earliest": 0, "latest": 4, "by_duration:PT1H": 2, "by_duration:PT1S": 4}
    with pytest.raises(NoOffsetForPartition, match="no committed offset for resets-0"):
        run(begins("none"))


def test_a_position_below_the_logs_start(cluster: Cluster, bootstrap: str) -> None:
    part = made(cluster, "deleted", *"abcdef")
    admin = admin_of(cluster)
    admin.delete_records([Place("deleted", 0, 4)], request_timeout=LIMIT_S)[Place("deleted", 0)].result(LIMIT_S)

    async def read(policy: str) -> list[str]:
        async with consumer_of(bootstrap, auto_offset_reset=policy) as consumer:
            consumer.assign([part])
            consumer.seek(part, 1)
            if policy == "none":
                for _ in range(2):
                    with pytest.raises(OffsetOutOfRange, match="deleted-0 has no offset 1"):
                        await consumer.poll(LIMIT_S * 1000)
                consumer.seek(part, 5)
            return texts(list(map(seen, await consumer.poll(LIMIT_S * 1000))))

    assert run(read("earliest")) == ["e", "f"]
    assert run(read("none")) == ["f"]


def test_a_topic_that_is_made_anew_is_read_from_its_beginning(cluster: Cluster, bootstrap: str) -> None:
    part = made(cluster, "anew", "a", "b", "c")
    admin = admin_of(cluster)

    async def read() -> list[str]:
        async with consumer_of(bootstrap, metadata_max_age_ms=500) as consumer:
            consumer.assign([part])
            found = texts(list(map(seen, await consumer.poll(LIMIT_S * 1000))))
            admin.delete_topics(["anew"], request_timeout=LIMIT_S)["anew"].result(LIMIT_S)
            wait_until(lambda: "anew" not in admin.list_topics(timeout=5).topics, "the topic is gone")
            made(cluster, "anew", "d", "e", "f", "g")
            while len(found) < 7:
                found += texts(list(map(seen, await consumer.poll(1_000))))
            return found

    assert run(read()) == ["a", "b", "c", "d", "e", "f", "g"]
