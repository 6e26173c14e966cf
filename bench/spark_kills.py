"""The death of a broker, as tasks of Spark see it beside librdkafka's producer: how long the work under way takes.

Three brokers, three replicas of everything, transactions included. Each kind of work is done over and over, in a thread
of its own: reading a range of every partition, writing a batch of rows, writing and committing a batch exactly once,
and producing a record to every partition with librdkafka. Then the leader of a partition is killed with kill -9. A
figure is the longest that one round of a kind took from then on.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import pyarrow as pa  # type: ignore[import-untyped]
from confluent_kafka import Producer

from beside import running, servers_of
from loads import create_topic, leaders
from odradek.client.direct.leader_connections import Leaders
from odradek.client.direct.ranges import RangeRequest, read_ranges
from odradek.common.addresses import parse_host_port
from odradek.common.ids import TopicPartition
from odradek.spark.exactly_once.coordinator import SinkCoordinator
from odradek.spark.exactly_once.decision_log import DecisionLog
from odradek.spark.exactly_once.decisions import PreparedTransaction
from odradek.spark.exactly_once.protocol import ExactlyOnce, transactional_id
from odradek.spark.sink.options import SinkOptions, sink_options
from odradek.spark.sink.task_writer import TaskWriter, leaders_for, transactions_for
from quorums import bytecode
from rows import Row
from support.processes.nodes import Kind

NODES, PARTITIONS = 3, 6
_WARM_UP_S, _AFTER_S = 10.0, 15.0
_PAUSE_S = 0.02
_LANES = 8
#: A sink's task and its driver are processes of their own, which share no connections.
_DRIVER_LANE = 1
_REPLICATED = {
    "transaction.state.log.replication.factor": str(NODES),
    "transaction.state.log.min.isr": "2",
    "offsets.topic.replication.factor": str(NODES),
}

Work = Callable[[], None]


def run() -> Iterator[Row]:
    with bytecode(), running(Kind.ODRADEK, NODES, _REPLICATED) as cluster:
        servers = servers_of(cluster)
        for topic in ("read", "written", "exactly-once", "librdkafka"):
            create_topic(servers, topic, PARTITIONS, NODES)
        _librdkafka(servers, "read")()
        works = {
            "a read task": _reading(servers),
            "a write task": _writing(servers),
            "an exactly-once batch": _exactly_once(servers),
            "librdkafka's producer": _librdkafka(servers, "librdkafka"),
        }
        slowest_s = _slowest(works, lambda: cluster[leaders(servers, "written")[0]].kill())
    *ours, peer = works
    for name in ours:
        yield Row(
            operation=f"kill -9 of a leader of three nodes, {name}, longest round",
            ours=slowest_s[name],
            peer=slowest_s[peer],
            unit="s",
            is_rate=False,
            note="",
            beside=peer,
        )


def _slowest(works: dict[str, Work], kill: Work) -> dict[str, float]:
    """Return how long the longest round of each took that was under way at the kill or began after it."""
    spans: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    with _repeated(works, spans):
        time.sleep(_WARM_UP_S)
        killed_s = time.monotonic()
        kill()
        time.sleep(_AFTER_S)
    return {name: max(end - start for start, end in spans[name] if end > killed_s) for name in works}


@contextmanager
def _repeated(works: dict[str, Work], spans: dict[str, list[tuple[float, float]]]) -> Iterator[None]:
    is_over = threading.Event()

    def repeat(name: str) -> None:
        while not is_over.is_set():
            start_s = time.monotonic()
            works[name]()
            spans[name].append((start_s, time.monotonic()))
            time.sleep(_PAUSE_S)

    threads = [threading.Thread(target=repeat, args=(name,)) for name in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def _reading(servers: str) -> Work:
    connections = Leaders([parse_host_port(each) for each in servers.split(",")], "bench", 30_000)
    ranges = [RangeRequest(TopicPartition("read", number), 0, 1) for number in range(PARTITIONS)]

    def read() -> None:
        assert sum(len(chunk.columns) for chunk in read_ranges(connections, ranges)) == PARTITIONS

    return read


def _writing(servers: str) -> Work:
    options = sink_options({"kafka.bootstrap.servers": servers, "kafka.client.id": "write-task", "topic": "written"})
    return lambda: TaskWriter(options).write([_rows()])


def _exactly_once(servers: str) -> Work:
    options = sink_options(
        {"kafka.bootstrap.servers": servers, "topic": "exactly-once", "delivery": "exactly-once", "sinkId": "bench"}
    )
    batches = count()

    def commit() -> None:
        batch_id = next(batches)
        run = _driver(options).begin_run()
        own_id = transactional_id("bench", run, 0, batch_id)
        task = TaskWriter(options, own_id)
        task.write([_rows()])
        prepared = PreparedTransaction(own_id, *task.identity)
        _driver(options).commit(run, "query", batch_id, [prepared], task.record_count)

    return commit


def _driver(options: SinkOptions) -> ExactlyOnce:
    lanes = [transactions_for(options, lane) for lane in range(_DRIVER_LANE, _DRIVER_LANE + _LANES)]
    store = DecisionLog(leaders_for(options, _DRIVER_LANE), lanes[0], options.producer, "bench")
    return ExactlyOnce("bench", store, SinkCoordinator(lanes))


def _librdkafka(servers: str, topic: str) -> Work:
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "linger.ms": 0, "log_level": 0})

    def write() -> None:
        for number in range(PARTITIONS):
            producer.produce(topic, value=b"value", partition=number)
        assert producer.flush(60) == 0

    return write


def _rows() -> pa.RecordBatch:
    """Ten for each partition."""
    partitions = [number % PARTITIONS for number in range(10 * PARTITIONS)]
    values = pa.array([b"value"] * len(partitions), pa.binary())
    return pa.RecordBatch.from_arrays([values, pa.array(partitions, pa.int32())], names=["value", "partition"])
