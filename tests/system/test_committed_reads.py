"""A replica was away while transactions were aborted, gets them in one append, and leads: what consumers see then.

Records are large enough that the offset index separates them, so that small fetches end between the transactions.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from odradek.cli.app import run
from support.figures import report
from support.loads.data_load import CLIENT, admin_of, bootstrap_of, leaders_of, wait_for_isr
from support.processes.nodes import OURS, Cluster, Kind, NodeSpec, controllers
from support.waiting import wait_until

pytestmark = pytest.mark.slow

TOPIC = "committed"
ABORTED = 7
COMMITTED = [b"committed-0", b"committed-8", b"committed-9"]
PADDING = b" " * 5_000
#: One batch, the two or three of the second, and everything.
FETCH_BYTES = (1_000, 13_000, 1_000_000)
SETTINGS = {
    "leader.imbalance.check.interval.seconds": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
KAFKA_ID, OUR_ID = 4, 5


def test_every_replica_returns_exactly_the_committed_records_when_it_leads(tmp_path: Path) -> None:
    """Each of three nodes leads one partition, the one that was away among them."""
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in (1, 2, 3)]
    with started(tmp_path, specs, [[3, 1, 2], [1, 2, 3], [2, 3, 1]]) as cluster:
        abort_while_away(cluster, 3, partitions=3)
        wait_until(lambda: leaders_of(admin_of(cluster), TOPIC) == {0: 3, 1: 1, 2: 2}, "each node leads a partition")
        for max_bytes in FETCH_BYTES:
            assert read_committed(cluster, 3, max_bytes) == dict.fromkeys(range(3), COMMITTED)


@pytest.mark.peer
def test_a_transaction_index_of_kafkas_is_read_correctly_and_corrected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Apache Kafka 4.3.1 itself returns aborted records in the same case. Its directory is then taken over by ours."""
    specs = [
        *controllers(1),
        NodeSpec(KAFKA_ID, Kind.KAFKA, roles="broker"),
        NodeSpec(OUR_ID, OURS, roles="broker"),
    ]
    with started(tmp_path, specs, [[KAFKA_ID, OUR_ID]]) as cluster:
        abort_while_away(cluster, KAFKA_ID, partitions=1)
        wait_until(lambda: leaders_of(admin_of(cluster), TOPIC) == {0: KAFKA_ID}, "Apache Kafka leads")
        kafkas = {max_bytes: read_committed(cluster, 1, max_bytes)[0] for max_bytes in FETCH_BYTES}
        node = cluster[KAFKA_ID]
        node.stop()
        capsys.readouterr()
        assert run(["log", "verify", str(node.data / f"{TOPIC}-0")]) == 1
        problems = [line for line in capsys.readouterr().out.splitlines() if line.startswith("problem: ")]
        assert len(problems) == 1
        # All but the last, which is followed by the other producer's transaction at once.
        assert f"last stable offset too high in {ABORTED - 1} of {ABORTED} entries" in problems[0]
        node.spec = replace(node.spec, kind=OURS)
        node.start()
        wait_until(lambda: leaders_of(admin_of(cluster), TOPIC) == {0: KAFKA_ID}, "the node leads again")
        for max_bytes in FETCH_BYTES:
            assert read_committed(cluster, 1, max_bytes) == {0: COMMITTED}
        assert run(["log", "verify", str(node.data / f"{TOPIC}-0")]) == 0
    report(
        "records that a read_committed consumer gets of a replica that caught up in one append, by fetch size",
        committed=len(COMMITTED),
        apache_kafka={max_bytes: len(values) for max_bytes, values in kafkas.items()},
    )


@contextmanager
def started(root: Path, specs: Sequence[NodeSpec], assignment: list[list[int]]) -> Iterator[Cluster]:
    """A cluster with the topic; the first replica of each partition is the one that should lead it."""
    replicas = str(len(assignment[0]))
    settings = SETTINGS | {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
    }
    with Cluster(root, specs, settings=settings) as cluster:
        cluster.start()
        admin = admin_of(cluster)
        wait_until(lambda: len(admin.list_topics(timeout=5).brokers) == len(assignment[0]), "all brokers are there")
        topic = NewTopic(TOPIC, len(assignment), replica_assignment=assignment, config={"min.insync.replicas": "1"})
        admin.create_topics([topic])[TOPIC].result(60)
        wait_for_isr(admin, TOPIC, *assignment[0])
        yield cluster


def abort_while_away(cluster: Cluster, node_id: int, *, partitions: int) -> None:
    """The node misses the end of one transaction, several that are aborted, and the start of another producer's."""
    admin = admin_of(cluster)
    in_sync = sorted(node.id for node in cluster.nodes.values() if node.spec.is_broker)
    first, second = transactional_producer(cluster, "first"), transactional_producer(cluster, "second")
    write(first, COMMITTED[0], partitions)
    first.commit_transaction(60)
    cluster[node_id].kill()
    wait_for_isr(admin, TOPIC, *(member for member in in_sync if member != node_id))
    for number in range(ABORTED):
        write(first, b"ABORTED-%d" % (number + 1), partitions)
        first.abort_transaction(60)
    write(second, COMMITTED[1], partitions)
    cluster.start(node_id)
    wait_for_isr(admin, TOPIC, *in_sync)
    second.commit_transaction(60)
    write(first, COMMITTED[2], partitions)
    first.commit_transaction(60)


def transactional_producer(cluster: Cluster, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap_of(cluster), "transactional.id": name, **CLIENT})
    producer.init_transactions(60)
    return producer


def write(producer: Producer, value: bytes, partitions: int) -> None:
    """Begin a transaction with one record in each partition, all of them acknowledged."""
    producer.begin_transaction()
    for partition in range(partitions):
        producer.produce(TOPIC, value + PADDING, partition=partition)
    assert producer.flush(60) == 0


def read_committed(cluster: Cluster, partitions: int, max_bytes: int) -> dict[int, list[bytes]]:
    """The values of each partition, up to its end, by fetches of `max_bytes` a partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_of(cluster),
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "max.partition.fetch.bytes": max_bytes,
            "fetch.wait.max.ms": 100,
            **CLIENT,
        }
    )
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(partitions)])
    values: dict[int, list[bytes]] = {partition: [] for partition in range(partitions)}
    ended: set[int] = set()

    def is_read() -> bool:
        for message in consumer.consume(100, 1):
            error, partition = message.error(), message.partition() or 0
            if error is None:
                values[partition].append((message.value() or b"").strip())
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(partition)
        return len(ended) == partitions

    try:
        wait_until(is_read, "all partitions are read to their end")
    finally:
        consumer.close()
    return values
