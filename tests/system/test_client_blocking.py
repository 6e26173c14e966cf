"""The blocking clients, and the network client below all of them, on a cluster of ours."""

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from odradek.client import KafkaError, OffsetAndMetadata, OutgoingRecord, RebalanceListener, TopicPartition
from odradek.client.blocking import Admin, Consumer, Producer
from odradek.client.net.network_client import CoordinatorKind, NetworkClient
from odradek.client.settings.settings import consumer_settings, producer_settings
from odradek.common.failures import InputError
from odradek.errors import ProducerClosed, RecordTooLarge, Refused, Unreachable
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.testing import Cluster
from support.processes.network import run, until

PATIENCE_MS = 60_000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(nodes=2, settings={"auto.create.topics.enable": "true"}) as cluster:
        yield cluster


@pytest.fixture
def topic(request: pytest.FixtureRequest, cluster: Cluster) -> str:
    name = str(request.node.name).translate(str.maketrans("[]", "--"))
    cluster.create_topic(name, partitions=2)
    return name


def values_of(cluster: Cluster, topic: str, count: int) -> list[bytes]:
    with Consumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, number) for number in consumer.partitions_for(topic)])
        found: list[bytes] = []
        while len(found) < count:
            found += [record.value for record in consumer.poll(PATIENCE_MS)]
        return found


def test_threads_send_and_each_keeps_its_order(cluster: Cluster, topic: str) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap, value_serializer=str.encode) as producer:

        def send(name: int) -> list[int]:
            deliveries = [producer.send(topic, f"{name} {number}", partition=1) for number in range(300)]
            return [each.result(PATIENCE_MS).offset for each in deliveries]

        with ThreadPoolExecutor(4) as pool:
            offsets = list(pool.map(send, range(4)))
    assert all(each == sorted(each) for each in offsets)
    assert sorted(offset for each in offsets for offset in each) == list(range(1_200))
    found = values_of(cluster, topic, 1_200)
    for name in range(4):
        assert [value for value in found if value.startswith(b"%d " % name)] == [
            f"{name} {number}".encode() for number in range(300)
        ]


def test_flush_batches_callbacks_and_what_is_refused(cluster: Cluster, topic: str) -> None:
    told: list[tuple[object, object]] = []
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=60_000, max_request_size=2_000) as producer:
        assert producer.partitions_for(topic) == (0, 1)
        with pytest.raises(InputError, match="'text' is str, not bytes"):
            producer.send(topic, "text")
        one = producer.send(topic, b"one", on_delivery=lambda *said: told.append(said))
        with pytest.raises(RecordTooLarge):
            producer.send(topic, bytes(3_000)).result(PATIENCE_MS)
        many = producer.send_batch(topic, [b"two", OutgoingRecord(b"three", key=b"k"), b"four"])
        producer.flush()
        assert one.done() and many.done() and one.result().topic == topic
        assert sum(each.record_count for each in many.result(PATIENCE_MS)) == 3 and many.exception() is None
        assert told == [(one.result(), None)]
        left = producer.send(topic, b"five")
    assert left.result().offset >= 0, "closing sends what is left"
    with pytest.raises(ProducerClosed):
        producer.send(topic, b"six")
    assert sorted(values_of(cluster, topic, 5)) == [b"five", b"four", b"one", b"three", b"two"]


def test_transactions(cluster: Cluster, topic: str) -> None:
    place = TopicPartition(topic, 0)
    with Producer(bootstrap_servers=cluster.bootstrap, transactional_id=topic) as producer:
        with producer.transaction():
            producer.send(topic, b"kept", partition=0)
            producer.send_offsets_to_transaction({place: OffsetAndMetadata(7)}, "a group")
        with pytest.raises(ZeroDivisionError), producer.transaction():
            producer.send(topic, b"dropped", partition=0)
            raise ZeroDivisionError
        producer.begin_transaction()
        producer.send(topic, b"dropped, too", partition=0)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send(topic, b"last", partition=0)
        producer.commit_transaction()
    settings = {"bootstrap.servers": cluster.bootstrap, "isolation.level": "read_committed", "group.id": "a group"}
    with Consumer(settings, auto_offset_reset="earliest", enable_auto_commit=False) as consumer:
        assert consumer.committed([place]) == {place: OffsetAndMetadata(7)}
        consumer.assign([place])
        consumer.seek_to_beginning()
        records = iter(consumer)
        assert [next(records).value for _ in range(2)] == [b"kept", b"last"]


class Diary(RebalanceListener):
    """Commits when partitions go, as applications do, in the thread that polls."""

    def __init__(self) -> None:
        self.consumer: Consumer
        self.said: list[tuple[str, int, threading.Thread]] = []

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self.said.append(("assigned", len(partitions), threading.current_thread()))
        assert self.consumer.assignment() >= set(partitions)

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.said.append(("revoked", len(partitions), threading.current_thread()))
        self.consumer.commit()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_in_which_a_thread_iterates(cluster: Cluster, topic: str, protocol: str) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        producer.send_batch(topic, [b"%d" % number for number in range(100)], partition=0).result(PATIENCE_MS)
    diary = Diary()
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": topic, "group.protocol": protocol}
    first = TopicPartition(topic, 0)
    with Consumer(settings, auto_offset_reset="earliest", enable_auto_commit=False) as consumer:
        diary.consumer = consumer
        consumer.subscribe(topic, listener=diary)
        seen = []
        for record in consumer:
            seen.append(record.value)
            if len(seen) == 40:
                consumer.commit()
                assert consumer.committed([first]) == {first: OffsetAndMetadata(40, 0)}
            if len(seen) == 60:
                break
        assert seen == [b"%d" % number for number in range(60)]
        assert consumer.position(first) == 60 and consumer.current_lag(first) == 40
        polled = consumer.poll(PATIENCE_MS, max_records=10)
        assert [record.offset for record in polled] == list(range(60, 70))
        consumer.pause(first)
        assert consumer.paused() == {first} and consumer.poll(0) == []
        consumer.resume(first)
        consumer.seek(first, 95)
        chunks = consumer.batches()
        assert next(chunks).offsets.tolist() == [95, 96, 97, 98, 99]
        assert consumer.end_offsets([first]) == {first: 100}
        assert consumer.group_metadata().group_id == topic
    main = threading.current_thread()
    assert diary.said == [("assigned", 2, main), ("revoked", 2, main)]
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        offsets = admin.list_consumer_group_offsets([topic])
        assert offsets[topic][first].offset == 100, "the callback committed when the partitions went"


def test_closing_ends_whoever_iterates(cluster: Cluster, topic: str) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        producer.send_and_wait(topic, b"first", partition=0)
    consumer = Consumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest")
    with pytest.raises(InputError, match="the consumer is not running"):
        next(iter(consumer))
    consumer.start()
    consumer.assign([TopicPartition(topic, 0)])
    begun = threading.Event()
    seen: list[object] = []

    def iterate() -> None:
        for record in consumer:
            seen.append(record.value)
            begun.set()
        seen.append("the end")

    waiting = threading.Thread(target=iterate)
    waiting.start()
    assert begun.wait(PATIENCE_MS / 1000)
    consumer.close()
    consumer.close()
    waiting.join(PATIENCE_MS / 1000)
    assert seen == [b"first", "the end"]


def test_errors_are_raised_where_the_call_is(cluster: Cluster) -> None:
    with pytest.raises(Unreachable, match="no broker answers"), Producer(bootstrap_servers="127.0.0.1:1"):
        pass
    with pytest.raises(InputError, match="unknown setting 'linger'"):
        Producer(bootstrap_servers=cluster.bootstrap, linger=5)
    early = Producer(bootstrap_servers=cluster.bootstrap)
    with pytest.raises(ProducerClosed, match="the producer was not started"):
        early.send("orders", b"x")
    early.close()
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        with pytest.raises(Refused, match="UNKNOWN_TOPIC_OR_PARTITION"):
            admin.describe_topics(["nobody"])
        assert [node.id for node in admin.describe_cluster().nodes] == [1, 2]
    with Producer(bootstrap_servers=cluster.bootstrap) as producer, pytest.raises(KafkaError, match="INVALID_TOPIC"):
        producer.send("no topic!", b"x")


AT_EXIT = """
import sys
from odradek.client.blocking import Consumer, Producer
producer = Producer(bootstrap_servers=sys.argv[1], linger_ms=60_000)
producer.start()
consumer = Consumer(sys.argv[2], bootstrap_servers=sys.argv[1], group_id="at exit")
consumer.start()
consumer.poll(100)
for number in range(10):
    producer.send(sys.argv[2], b"%d" % number, partition=0)
print("the program ends")
"""


def test_what_is_open_is_closed_at_the_end_of_the_program(cluster: Cluster, topic: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT, cluster.bootstrap, topic], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "the program ends\n", "")
    assert values_of(cluster, topic, 10) == [b"%d" % number for number in range(10)]
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        assert admin.describe_consumer_groups(["at exit"])["at exit"].members == (), "the member has left"


def test_the_network_client_on_a_real_cluster(cluster: Cluster, topic: str) -> None:
    async def test() -> None:
        async with NetworkClient(producer_settings(bootstrap_servers=cluster.bootstrap)) as client:
            assert sorted(client.metadata.nodes) == [1, 2]
            found = await client.topic(topic, PATIENCE_MS)
            assert client.metadata.topic_name(found.topic_id) == topic and len(found.partitions) == 2
            made = await client.topic(f"{topic}-made", PATIENCE_MS)
            assert made.partitions[0].leader_id in (1, 2), "asking has made it"
            places = [client.coordinator(kind, "me", PATIENCE_MS) for kind in CoordinatorKind]
            group, transaction = await asyncio.gather(*places)
            assert transaction in (1, 2) and group not in (1, 2)
            answers = [client.post(group, HeartbeatRequest(group_id="me", member_id="x"), PATIENCE_MS)]
            assert await client.ready(group, PATIENCE_MS)
            answers += [client.post(group, HeartbeatRequest(group_id="me", member_id="x"), PATIENCE_MS)]
            assert [(await each).error_code for each in answers if each is not None] == [25]
        settings = consumer_settings(bootstrap_servers=cluster.bootstrap, allow_auto_create_topics=False)
        async with NetworkClient(settings) as client:
            with pytest.raises(KafkaError, match="topic nobody is not known after 5000 ms: UNKNOWN_TOPIC_OR_PARTITION"):
                await client.topic("nobody", 5_000)
            client.want_topics([topic])
            await until(lambda: client.metadata.topic(topic) is not None, "the topic is known")

    run(test())


CLIENTS = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()

#: Those that are whole programs begin with a name.
PROGRAMS = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", CLIENTS, re.MULTILINE | re.DOTALL))


def test_the_programs_of_the_page_on_clients_run(cluster: Cluster, tmp_path: Path) -> None:
    said = {}
    for name, program in PROGRAMS.items():
        path = tmp_path / name
        path.write_text(program.replace("localhost:9092", cluster.bootstrap))
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, ""), f"{name}: {done.stderr}"
        said[name] = done.stdout.splitlines()
    assert said["first.py"][-1] == "b'k' b'hello'"
    assert "TOPIC_ALREADY_EXISTS" in said["admin.py"][-1] and said["settings.py"] == []
    assert said["blocking.py"] == ["999"]
