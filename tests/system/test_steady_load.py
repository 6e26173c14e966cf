"""A node under a steady load keeps its memory flat, while old segments go and new ones come.

Producers send small batches, a consumer reads along, and each of them is replaced by a new one now and then, as in a
node's life. `ODRADEK_STEADY_SECONDS` makes it last longer than its records take; `make soak` lets it run for half an
hour.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.figures import report
from support.loads.data_load import bootstrap_of, create_topic
from support.processes.nodes import OURS, Cluster, Node, NodeSpec

pytestmark = pytest.mark.slow

TOPIC, PARTITIONS = "steady", 4
VALUE = os.urandom(100)
#: A request of few records: what each request leaves behind is to be seen, and what each record does.
BATCH_RECORDS = 50
#: Of one producer and of one consumer; then come new ones.
TURN_RECORDS = 50_000
WARM_UP_TURNS, TURNS = 4, 16
SECONDS = float(os.environ.get("ODRADEK_STEADY_SECONDS", "0"))

#: Segments are rolled and deleted many times over, and most requests meet one that is about to be.
SETTINGS = {
    "log.segment.bytes": "1048576",
    "log.retention.bytes": "4194304",
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "500",
}
#: Above the highest of the warm-up. Ten bytes that stay for a record, or 500 for a request, are more than this.
GROWTH_LIMIT_BYTES = 8_000_000

_TIMEOUT_S = 120
_SAMPLE_S = 0.1


def test_memory_stays_flat(tmp_path: Path) -> None:
    with Cluster(tmp_path, [NodeSpec(1, OURS, roles="broker,controller", settings=SETTINGS)]) as cluster:
        cluster.start()
        create_topic(cluster, TOPIC, PARTITIONS, 1)
        node, servers = cluster[1], bootstrap_of(cluster)
        started = resident_bytes(node)
        with sampled(node) as warm_up:
            for number in range(WARM_UP_TURNS):
                turn(servers, number)
        turns, deadline_s = WARM_UP_TURNS, time.monotonic() + SECONDS
        with sampled(node) as steady:
            deleted = 0  # retention looks for the first time after half a minute
            while turns < WARM_UP_TURNS + TURNS or time.monotonic() < deadline_s or not deleted:
                turn(servers, turns)
                turns += 1
                deleted = deleted_records(cluster)
        growth = max(steady) - max(warm_up)
        report(
            "a node in steady load",
            records=turns * TURN_RECORDS,
            **{"MB at the start": started // 10**6, "MB after warm-up": max(warm_up) // 10**6},
            **{"MB at most": max(steady) // 10**6, "MB at the end": steady[-1] // 10**6},
            deleted_records=deleted,
        )
        assert deleted > 0
        assert growth < GROWTH_LIMIT_BYTES, f"{growth} bytes more after {turns * TURN_RECORDS} records"


def turn(servers: str, number: int) -> None:
    """So many records from one producer, and the same to one consumer."""
    settings = {"bootstrap.servers": servers, "log_level": 0}
    producer = Producer(
        {**settings, "enable.idempotence": True, "batch.num.messages": BATCH_RECORDS, "linger.ms": 1},
    )
    consumer = Consumer({**settings, "group.id": "unused", "enable.auto.commit": False, "auto.offset.reset": "error"})
    first = number * TURN_RECORDS // PARTITIONS
    try:
        consumer.assign([TopicPartition(TOPIC, partition, first) for partition in range(PARTITIONS)])
        for batch in range(TURN_RECORDS // BATCH_RECORDS):
            producer.produce_batch(TOPIC, [{"value": VALUE}] * BATCH_RECORDS, partition=batch % PARTITIONS)
            producer.poll(0)
        came = 0
        while came < TURN_RECORDS:
            some = consumer.consume(10_000, _TIMEOUT_S)
            assert some, f"{came} of {TURN_RECORDS} records came"
            assert all(message.error() is None for message in some), some[0].error()
            came += len(some)
        assert producer.flush(_TIMEOUT_S) == 0
    finally:
        consumer.close()


@contextmanager
def sampled(node: Node) -> Iterator[list[int]]:
    """The resident memory of the node, again and again as long as the block lasts."""
    samples, is_over = [resident_bytes(node)], threading.Event()

    def sample() -> None:
        while not is_over.wait(_SAMPLE_S):
            samples.append(resident_bytes(node))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield samples
    finally:
        is_over.set()
        sampler.join()
        samples.append(resident_bytes(node))


def resident_bytes(node: Node) -> int:
    assert node.process is not None
    pages = int(Path(f"/proc/{node.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def deleted_records(cluster: Cluster) -> int:
    """Below the first offsets of the partitions: what retention took away."""
    consumer = Consumer({"bootstrap.servers": bootstrap_of(cluster), "group.id": "unused"})
    try:
        asked = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
        return sum(consumer.get_watermark_offsets(partition, _TIMEOUT_S)[0] for partition in asked)
    finally:
        consumer.close()
