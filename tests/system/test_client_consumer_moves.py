"""The consumer on three nodes of ours while leaders move, and from a follower that is near."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from odradek.client.consumer.consumer import Consumer
from odradek.client.types import TopicPartition
from support.figures import report
from support.loads.data_load import CLIENT, admin_of, bootstrap_of, create_topic, leaders_of, wait_for_isr
from support.peers.librdkafka_reader import LIMIT_S, run
from support.processes.nodes import OURS, Cluster, NodeSpec
from support.waiting import wait_until

pytestmark = pytest.mark.slow

NODES = (1, 2, 3)
PARTITIONS = 6
SETTINGS = {
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "offsets.topic.replication.factor": "3",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    specs = [
        NodeSpec(node_id, OURS, roles="broker,controller", settings={"broker.rack": f"rack-{node_id}"})
        for node_id in NODES
    ]
    with Cluster(tmp_path_factory.mktemp("moves"), specs, settings=SETTINGS) as cluster:
        cluster.start()
        create_topic(cluster, "moving", PARTITIONS, 3)
        yield cluster


class Writer:
    """Writes numbers to all partitions, beside the test, until it is told to stop."""

    def __init__(self, bootstrap: str) -> None:
        self.written = 0
        self._is_over = threading.Event()
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2, **CLIENT}
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._is_over.wait(0.002):
            for _ in range(PARTITIONS):
                self._producer.produce("moving", b"%d" % self.written, partition=self.written % PARTITIONS)
                self.written += 1
            self._producer.poll(0)

    def finish(self) -> int:
        """How many were written, all of them acknowledged."""
        self._is_over.set()
        self._thread.join()
        assert self._producer.flush(LIMIT_S) == 0
        return self.written


def test_every_record_comes_once_and_in_order_while_leaders_move(cluster: Cluster) -> None:
    admin = admin_of(cluster)
    writer = Writer(bootstrap_of(cluster))
    seen: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    total: list[int] = []
    epochs: set[int | None] = set()

    def bounce() -> None:
        """Every partition's leader moves at least once; it is always one that has everything."""
        for node_id in NODES[:2]:
            cluster[node_id].stop()
            cluster[node_id].start()
            wait_for_isr(admin, "moving", *NODES)
        total.append(writer.finish())

    async def read() -> None:
        settings = {"bootstrap_servers": bootstrap_of(cluster), "auto_offset_reset": "earliest"}
        async with Consumer(fetch_max_wait_ms=50, **settings) as consumer:
            consumer.assign([TopicPartition("moving", number) for number in range(PARTITIONS)])
            bouncing = asyncio.ensure_future(asyncio.to_thread(bounce))
            while not bouncing.done() or sum(map(len, seen.values())) < total[0]:
                for record in await consumer.poll(100):
                    seen[record.partition].append(int(record.value))
                    epochs.add(record.leader_epoch)
            await bouncing

    run(read())
    for number, numbers in seen.items():
        assert numbers == list(range(number, total[0], PARTITIONS)), f"partition {number}"
    assert len(epochs) > 1, "leaders have moved"
    report("consumer: read while leaders moved", records=total[0], epochs=len(epochs))


def test_a_follower_that_is_near_is_read_from(cluster: Cluster) -> None:
    create_topic(cluster, "near", 1, 3)
    producer = Producer({"bootstrap.servers": bootstrap_of(cluster), **CLIENT})
    part = TopicPartition("near", 0)
    admin = admin_of(cluster)
    wait_until(lambda: 0 in leaders_of(admin, "near"), "the node that answers knows the leader")
    leader = leaders_of(admin, "near")[0]
    follower = next(node_id for node_id in NODES if node_id != leader)

    async def read() -> tuple[list[bytes], int | None]:
        settings = {"bootstrap_servers": bootstrap_of(cluster), "auto_offset_reset": "earliest"}
        async with Consumer(client_rack=f"rack-{follower}", fetch_max_wait_ms=50, **settings) as consumer:
            consumer.assign([part])
            values = []
            for number in range(5):
                producer.produce("near", b"%d" % number)
                producer.flush(LIMIT_S)
                values += [record.value for record in await consumer.poll(LIMIT_S * 1000)]
            state = consumer._subscriptions.assigned_state(part)
            return values, state.preferred_read_replica

    assert run(read()) == ([b"0", b"1", b"2", b"3", b"4"], follower)
