"""Exactly once under kill -9: a stream from topic to topic, and to a table, while everything around it is killed.

Three nodes, each broker and controller, RF 3. The job runs in a process of its own until it has copied all events, and
is started again when it ends otherwise. Meanwhile, at points that a seed decides, Python workers of Spark are killed
(those of tasks and those in which the driver commits), the driver with all its processes, and brokers. What is in the
topic then is counted by confluent-kafka, which reads what is committed.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from support.figures import report
from support.loads.data_load import CLIENT, admin_of, bootstrap_of, create_topic, wait_for_isr
from support.peers.librdkafka_reader import read_by_librdkafka
from support.processes import process_tree as processes
from support.processes.nodes import Cluster, three_nodes
from support.spark.copy_job import COPIES, EVENTS, RESULT
from support.spark.session import quick_environment
from support.waiting import wait_until

pytestmark = pytest.mark.slow

IS_SOAK = "ODRADEK_SOAK_FACTOR" in os.environ
RUNS = 20 if IS_SOAK else 1
EVENT_COUNT = 100_000 if IS_SOAK else 20_000
BATCH_RECORDS = 10_000 if IS_SOAK else 4_000
FAULTS = ("worker", "driver", "broker", "worker", "driver") if IS_SOAK else ("worker", "broker", "driver")
PARTITIONS = 4

#: Within a micro-batch of some seconds: where the next kill hits is left to chance.
_DELAY_MAX_S = 3.0
_RUN_TIMEOUT_S = 900
_STARTS_MAX = 20
_TESTS = Path(__file__).parents[1]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with three_nodes(tmp_path) as made:
        yield made


class Job:
    """The driver, with the JVM and the Python workers that it starts."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self.directory = directory
        self.starts = 0
        self._command = (sys.executable, "-m", "support.spark.copy_job", bootstrap, str(directory), str(BATCH_RECORDS))
        self._log = directory / "job.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.starts += 1
        assert self.starts <= _STARTS_MAX, f"the job does not come to an end\n{self.log_tail()}"
        with self._log.open("ab") as output:
            output.write(b"--- start %d\n" % self.starts)
            output.flush()
            variables = os.environ | quick_environment() | {"PYTHONPATH": str(_TESTS)}
            self._process = subprocess.Popen(self._command, stdout=output, stderr=subprocess.STDOUT, env=variables)

    def is_done(self) -> bool:
        """Starts it again where it has failed."""
        assert self._process is not None
        status = self._process.poll()
        if status is not None and status != 0:
            self.start()
        return status == 0

    def commits(self) -> int:
        """Micro-batches that Spark has logged as committed."""
        return sum(1 for each in self.directory.glob("checkpoint-*/commits/*") if each.name.isdigit())

    def kill_driver(self) -> None:
        assert self._process is not None
        processes.kill_tree(self._process.pid)
        self._process.wait()

    def kill_worker(self, chance: random.Random) -> bool:
        """One of the Python processes of the JVM, or of the daemon that it has; False if there is none now."""
        assert self._process is not None
        python = [each for each in processes.descendants(self._process.pid) if _is_of_spark(processes.command_of(each))]
        workers = [each for each in python if not processes.children(each)]
        if workers:
            processes.kill(chance.choice(sorted(workers)))
        return bool(workers)

    def log_tail(self) -> str:
        return self._log.read_text(errors="replace")[-8_000:]


def _is_of_spark(command: str) -> bool:
    program, _, rest = command.partition(" ")
    return "python" in program and "pyspark" in rest


def produce_events(bootstrap: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.messages": count, **CLIENT})
    for number in range(count):
        producer.produce(EVENTS, b"event %d %s" % (number, b"." * 80), key=b"%d" % number)
    assert producer.flush(120) == 0


def committed_in(bootstrap: str, topic: str) -> Counter[bytes]:
    """Keys of the records that are committed, up to the end of each partition, of which nothing may be open."""
    found = read_by_librdkafka(bootstrap, topic, PARTITIONS, isolation_level="read_committed")
    return Counter(seen.key or b"" for seen in found)


def faults_of(chance: random.Random, job: Job, cluster: Cluster) -> list[tuple[str, Callable[[], object]]]:
    """In an order that the seed decides."""

    def kill_broker() -> None:
        # With one killed, enough are left to take everything.
        wait_for_isr(admin_of(cluster), COPIES, *cluster.nodes)
        node = cluster[chance.choice(sorted(cluster.nodes))]
        node.kill()
        node.start()

    def kill_worker() -> None:
        wait_until(lambda: job.is_done() or job.kill_worker(chance), "there is a Python worker")

    known: dict[str, Callable[[], object]] = {
        "broker": kill_broker,
        "driver": job.kill_driver,
        "worker": kill_worker,
    }
    return [(name, known[name]) for name in chance.sample(FAULTS, len(FAULTS))]


@pytest.mark.parametrize("seed", range(RUNS))
def test_no_event_is_lost_or_doubled(cluster: Cluster, tmp_path: Path, seed: int) -> None:
    chance, bootstrap = random.Random(seed), bootstrap_of(cluster)
    create_topic(cluster, EVENTS, PARTITIONS, 3)
    create_topic(cluster, COPIES, PARTITIONS, 3)
    produce_events(bootstrap, EVENT_COUNT)
    job = Job(bootstrap, tmp_path)
    begun_s = time.monotonic()
    job.start()
    try:
        done = []
        batches = 2 * EVENT_COUNT // BATCH_RECORDS
        for index, (name, fault) in enumerate(faults_of(chance, job, cluster)):
            wanted = batches * index // (len(FAULTS) + 1)
            wait_until(
                lambda wanted=wanted: job.is_done() or job.commits() >= wanted, f"{wanted} batches", _RUN_TIMEOUT_S
            )
            time.sleep(chance.uniform(0, _DELAY_MAX_S))
            if not job.is_done():
                fault()
                done.append(name)
        wait_until(job.is_done, "the job has copied everything", _RUN_TIMEOUT_S, job.log_tail)
        copies = committed_in(bootstrap, COPIES)
        table = json.loads((tmp_path / RESULT).read_text())
        expected = {b"%d" % number for number in range(EVENT_COUNT)}
        lost, doubled = len(expected - copies.keys()), copies.total() - len(copies)
        report(
            "spark exactly once",
            seed=seed,
            events=EVENT_COUNT,
            kills=done,
            starts=job.starts,
            topic_lost=lost,
            topic_doubled=doubled,
            table_lost=EVENT_COUNT - table["distinct"],
            table_doubled=table["records"] - table["distinct"],
            seconds=round(time.monotonic() - begun_s),
        )
        assert (lost, doubled, copies.total()) == (0, 0, EVENT_COUNT)
        assert table == {"records": EVENT_COUNT, "distinct": EVENT_COUNT}
    finally:
        job.kill_driver()
