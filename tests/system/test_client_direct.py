"""Ranges read over blocking connections, from three nodes of ours; librdkafka writes, and says what is right."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place

from odradek.client.direct.leader_connections import Leaders
from odradek.client.direct.offsets import list_offsets
from odradek.client.direct.ranges import RangeRequest, read_range
from odradek.common import list_offsets_timestamps
from odradek.common.addresses import parse_host_port
from odradek.common.ids import TopicPartition
from odradek.errors import DataLost
from support.loads.data_load import admin_of, bootstrap_of, create_topic, leaders_of
from support.processes.nodes import OURS, Cluster, NodeSpec

pytestmark = pytest.mark.slow

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PART = TopicPartition("codecs", 0)
COMMITTED = TopicPartition("committed", 0)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    specs = [NodeSpec(number, OURS, roles="broker,controller") for number in (1, 2, 3)]
    with Cluster(tmp_path_factory.mktemp("direct"), specs) as cluster:
        cluster.start()
        for partition in (PART, COMMITTED):
            create_topic(cluster, partition.topic, 1, 3)
        write_codecs(bootstrap_of(cluster))
        write_transactions(bootstrap_of(cluster))
        yield cluster


@pytest.fixture
def leaders(cluster: Cluster) -> Iterator[Leaders]:
    found = Leaders([parse_host_port(each) for each in bootstrap_of(cluster).split(",")], "test", 30_000)
    yield found
    found.close()


def write_codecs(bootstrap: str) -> None:
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 50})
        for number in range(400):
            key = None if number % 3 == 0 else f"{codec}-{number}".encode()
            producer.produce(PART.topic, key=key, value=b"v" * (number % 50), timestamp=1_000 + number)
        assert producer.flush(60) == 0


def write_transactions(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "direct"})
    producer.init_transactions(60)
    for number in range(10):
        producer.begin_transaction()
        for each in range(20):
            producer.produce(COMMITTED.topic, value=f"{number}-{each}".encode())
        producer.flush(60)
        if number % 2:
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)


def expected(bootstrap: str, partition: TopicPartition, start: int, end: int) -> list[tuple[int, bytes | None, bytes]]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False}
    consumer = Consumer({**settings, "enable.partition.eof": True, "isolation.level": "read_committed"})
    consumer.assign([Place(partition.topic, partition.partition, start)])
    found = []
    while True:
        (message,) = consumer.consume(1, 60) or [None]
        assert message is not None, "nothing came for a minute"
        if message.error() or message.offset() >= end:
            consumer.close()
            return found
        found.append((message.offset(), message.key(), message.value()))


def read(leaders: Leaders, request: RangeRequest) -> list[tuple[int, bytes | None, bytes | None]]:
    return [
        record
        for columns in read_range(leaders, request)
        for record in zip(columns.offset.tolist(), columns.keys(), columns.values(), strict=True)
    ]


@pytest.mark.parametrize(("start", "end"), [(0, 2_000), (3, 1_999), (777, 778), (1_000, 1_000)])
def test_a_range_is_read_whatever_codec_it_was_written_in(
    cluster: Cluster, leaders: Leaders, start: int, end: int
) -> None:
    request = RangeRequest(PART, start, end, chunk_bytes=4_000)
    assert read(leaders, request) == expected(bootstrap_of(cluster), PART, start, end)


def test_a_range_that_is_not_read_to_its_end_is_not_in_the_way_of_the_next(cluster: Cluster, leaders: Leaders) -> None:
    chunks = read_range(leaders, RangeRequest(PART, 0, 2_000, chunk_bytes=4_000))
    next(chunks)
    chunks.close()
    assert read(leaders, RangeRequest(PART, 1_500, 1_600)) == expected(bootstrap_of(cluster), PART, 1_500, 1_600)


def test_only_what_was_committed_is_read(cluster: Cluster, leaders: Leaders) -> None:
    end = 10 * 21  # with a marker for each transaction
    found = read(leaders, RangeRequest(COMMITTED, 0, end, is_read_committed=True))
    assert found == expected(bootstrap_of(cluster), COMMITTED, 0, end)
    assert len(found) == 100
    assert len(read(leaders, RangeRequest(COMMITTED, 0, end))) == 200


def test_topics_and_the_offsets_of_their_ends_and_by_time(leaders: Leaders) -> None:
    assert leaders.topics() == {"codecs": (0,), "committed": (0,)}
    assert leaders.topics(["codecs", "missing"]) == {"codecs": (0,)}
    ends = {PART: list_offsets_timestamps.LATEST, COMMITTED: list_offsets_timestamps.EARLIEST}
    assert list_offsets(leaders, ends) == {PART: 2_000, COMMITTED: 0}
    assert list_offsets(leaders, {PART: 1_007, COMMITTED: 2**60}) == {PART: 7, COMMITTED: -1}


def test_what_was_deleted_is_reported_with_where_the_log_begins(cluster: Cluster, leaders: Leaders) -> None:
    admin = admin_of(cluster)
    (deleted,) = admin.delete_records([Place(PART.topic, 0, 100)], request_timeout=60).values()
    deleted.result(60)
    with pytest.raises(DataLost, match="offset 50 is gone; the log begins at 100") as lost:
        read(leaders, RangeRequest(PART, 50, 200))
    assert lost.value.log_start_offset == 100


def test_reading_goes_on_at_the_next_leader(cluster: Cluster, leaders: Leaders) -> None:
    admin = admin_of(cluster)
    first = leaders_of(admin, PART.topic)[0]
    chunks = read_range(leaders, RangeRequest(PART, 200, 2_000, chunk_bytes=4_000))
    found = [next(chunks)]
    cluster[first].kill()
    found += chunks
    offsets = [offset for columns in found for offset in columns.offset.tolist()]
    assert offsets == list(range(200, 2_000))
    assert leaders.of(PART).leader.port != cluster[first].broker_port
