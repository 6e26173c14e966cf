"""Live mode under kill -9, and switches between live mode and updates: nothing lost and nothing doubled, in topics and
tables.

Three nodes, each broker and controller, RF 3. Events are produced while a pipeline runs live: topic → table → second
table and a topic, exactly once, with a materialized view over the tables. Meanwhile, at points that a seed decides,
Python workers of Spark are killed, the driver with its JVM, the whole run, brokers, and the driver at the moment at
which an exactly-once sink has written its decision; or the run is stopped, and one update runs in its place. What is
in the topic is counted by confluent-kafka, which reads what is committed, and what is in the tables by pyarrow.
"""

import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as dataset
import pytest
from confluent_kafka import Consumer, Producer

from helpers import processes
from helpers.data_load import CLIENT, admin_of, bootstrap_of, create_topic, wait_for_isr
from helpers.figures import report
from helpers.nodes import Cluster, three_nodes
from helpers.pipelines import Running, is_drained, make_project, running
from helpers.reading import read_by_librdkafka
from helpers.waiting import wait_until
from odradek.spark.decisions import TOPIC as DECISIONS

pytestmark = [pytest.mark.slow, pytest.mark.peer]

IS_SOAK = "ODRADEK_SOAK_FACTOR" in os.environ
SEEDS = range(int(os.environ.get("ODRADEK_LIVE_SEEDS", "20"))) if IS_SOAK else range(2)
EVENT_COUNT = int(os.environ.get("ODRADEK_LIVE_EVENTS", "100000")) if IS_SOAK else 3_000
FAULTS = ("worker", "decision", "driver", "broker", "switch", "run")
FAULT_COUNT = 8
PARTITIONS = 4

_TIMEOUT_S = 600
_PAUSE_S = 0.05
#: Within some batches: what the next fault hits is left to chance.
_DELAY_MAX_S = 2.0

EVENTS, COPIES = "numbers", "copies"

PYTHON = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()
OPTIONS = {"kafka.bootstrap.servers": spark.conf.get("spark.live.bootstrap")}


@dp.table(format="parquet")
def numbers() -> DataFrame:
    rows = spark.readStream.format("odradek").options(**OPTIONS, subscribe="numbers", startingOffsets="earliest").load()
    return rows.select(F.expr("CAST(CAST(value AS STRING) AS INT)").alias("number"), "timestamp")


dp.create_sink("copies", "odradek", {**OPTIONS, "topic": "copies", "delivery": "exactly-once", "sinkId": "live"})


@dp.append_flow(target="copies")
def copied() -> DataFrame:
    rows = spark.readStream.table("numbers")
    return rows.select(F.col("number").cast("string").alias("key"), F.lit("x").alias("value"))
"""
SQL = """\
CREATE STREAMING TABLE odd USING PARQUET AS SELECT number FROM STREAM numbers WHERE number % 2 = 1;

CREATE MATERIALIZED VIEW totals USING PARQUET AS
SELECT count(*) AS numbers, sum(number) AS total FROM numbers;
"""
SETTINGS = {"pipelines.trigger.interval": "1 second"}


class Load:
    """Produces the events, a share at a time, while a fault happens."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, **CLIENT})
        self.sent = 0

    @contextmanager
    def producing(self, until: int) -> Iterator[None]:
        """Produces up to this number, in a thread of its own; at the end of the block all are acknowledged."""
        thread = threading.Thread(target=self._run, args=(until,))
        thread.start()
        try:
            yield
        finally:
            thread.join()
        assert self._producer.flush(_TIMEOUT_S) == 0

    def _run(self, until: int) -> None:
        for number in range(self.sent, until):
            self._producer.produce(EVENTS, b"%d" % number, key=b"%d" % number)
            self._producer.poll(0)
            if number % 50 == 0:
                time.sleep(_PAUSE_S)
        self.sent = until


class Pipeline:
    """`odradek pipeline run --continuous`, started again and again."""

    def __init__(self, project: Path, bootstrap: str) -> None:
        self.project = project
        self.bootstrap = bootstrap
        self._stack = ExitStack()
        self._settings = {"spark.live.bootstrap": bootstrap, **SETTINGS}
        self.run = self._start("--continuous")

    def close(self) -> None:
        self._stack.close()

    def wait_until_live(self, after: int = 0) -> None:
        """Until a driver runs all flows, of what was reported after so many events."""
        self.run.wait_for("all flows run", lambda event: _is(event, "live", state="running"), after)

    def restart(self, kill: bool) -> None:
        """Kill the run with all its processes, or stop it and let one update run, then go on live."""
        if kill:
            processes.kill_tree(self.run.process.pid)
            self.run.end()
        else:
            assert self.run.stop() == 0
            update = self._start()
            assert update.end() == 0, update.events[-5:]
        self._stack.close()
        self.run = self._start("--continuous")
        self.wait_until_live()

    def kill_driver(self) -> None:
        session = self.run.of("session")[-1]
        seen = len(self.run.events)
        processes.kill(session["driver_pid"], session["jvm_pid"])
        self.wait_until_live(seen)

    def kill_worker(self, chance: random.Random) -> None:
        wait_until(lambda: self._kill_worker(chance), "there is a Python worker of Spark")

    def wait_until_drained(self) -> None:
        """Until every flow was idle after the last batch that had rows."""

        wait_until(
            lambda: is_drained(list(self.run.events)),
            "all events are processed",
            _TIMEOUT_S,
            lambda: str(self.run.events[-20:]),
        )

    def _kill_worker(self, chance: random.Random) -> bool:
        python = [
            pid
            for pid in processes.descendants(self.run.process.pid)
            if "pyspark" in processes.command_of(pid) and "java" not in processes.command_of(pid).partition(" ")[0]
        ]
        workers = [pid for pid in python if not processes.children(pid)]
        if workers:
            processes.kill(chance.choice(sorted(workers)))
        return bool(workers)

    def _start(self, *options: str) -> Running:
        return self._stack.enter_context(running(self.project, "--retries", "20", *options, settings=self._settings))


def _is(event: dict[str, Any], kind: str, **fields: object) -> bool:
    return event["event"] == kind and all(event.get(name) == value for name, value in fields.items())


@contextmanager
def decisions_of(bootstrap: str) -> Iterator[Callable[[], None]]:
    """A function that returns when the sink has decided to commit a batch, which it may have done or not."""
    options = {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, **CLIENT}
    consumer = Consumer({**options, "auto.offset.reset": "latest", "isolation.level": "read_committed"})
    consumer.subscribe([DECISIONS])

    def wait() -> None:
        def is_decided() -> bool:
            message = consumer.poll(0.05)
            if message is None or message.error() is not None:
                return False
            state = json.loads(message.value() or b"{}")
            return any(not decision["done"] for decision in state.get("decisions", ()))

        wait_until(is_decided, "the sink decides", _TIMEOUT_S)

    try:
        yield wait
    finally:
        consumer.close()


def faults_of(seed: int) -> list[str]:
    if not IS_SOAK:
        return list(FAULTS[seed::2])
    chance = random.Random(seed)
    return [chance.choice(FAULTS) for _ in range(FAULT_COUNT)]


def committed_keys(bootstrap: str) -> Counter[bytes]:
    records = read_by_librdkafka(bootstrap, COPIES, PARTITIONS, isolation_level="read_committed")
    return Counter(record.key or b"" for record in records)


def stream_table(directory: Path) -> Counter[int]:
    """The rows of a streaming table: only files that Spark's log of the table names belong to it."""
    log = directory / "_spark_metadata"
    compacts = sorted((int(path.stem) for path in log.glob("*.compact")), reverse=True)[:1]
    names = [log / f"{compacts[0]}.compact"] if compacts else []
    names += [path for path in log.iterdir() if path.name.isdecimal() and int(path.name) > (compacts or [-1])[0]]
    entries = [json.loads(line) for path in names for line in path.read_text().splitlines()[1:]]
    files = [entry["path"].removeprefix("file://") for entry in entries]
    return (
        Counter(dataset.dataset(files, format="parquet").to_table(["number"])["number"].to_pylist())
        if files
        else Counter()
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_doubled(tmp_path: Path, seed: int) -> None:
    chance, begun_s = random.Random(seed), time.monotonic()
    project = make_project(tmp_path / "live", {"numbers.py": PYTHON, "tables.sql": SQL})
    with three_nodes(tmp_path) as cluster:
        bootstrap = bootstrap_of(cluster)
        create_topic(cluster, EVENTS, PARTITIONS, 3)
        create_topic(cluster, COPIES, PARTITIONS, 3)
        pipeline = Pipeline(project, bootstrap)
        try:
            pipeline.wait_until_live()
            faults = faults_of(seed)
            load = Load(bootstrap)
            for index, fault in enumerate(faults, 1):
                with load.producing(EVENT_COUNT * index // len(faults)):
                    time.sleep(chance.uniform(0, _DELAY_MAX_S))
                    do_fault(fault, chance, pipeline, cluster)
            pipeline.wait_until_drained()
            assert pipeline.run.stop() == 0
        finally:
            pipeline.close()
        copies = committed_keys(bootstrap)
    warehouse = project / "storage" / "warehouse"
    numbers, odd = stream_table(warehouse / "numbers"), stream_table(warehouse / "odd")
    totals = dataset.dataset(str(warehouse / "totals"), format="parquet").to_table().to_pylist()
    report(
        "pipeline live, killed",
        seed=seed,
        events=EVENT_COUNT,
        faults=faults,
        topic_lost=EVENT_COUNT - len(copies),
        topic_doubled=copies.total() - len(copies),
        table_lost=EVENT_COUNT - len(numbers),
        table_doubled=numbers.total() - len(numbers),
        seconds=round(time.monotonic() - begun_s),
    )
    assert numbers == Counter(range(EVENT_COUNT))
    assert odd == Counter(range(1, EVENT_COUNT, 2))
    assert copies == Counter(b"%d" % number for number in range(EVENT_COUNT))
    assert totals == [{"numbers": EVENT_COUNT, "total": EVENT_COUNT * (EVENT_COUNT - 1) // 2}]


def do_fault(kind: str, chance: random.Random, pipeline: Pipeline, cluster: Cluster) -> None:
    if kind == "worker":
        pipeline.kill_worker(chance)
    elif kind == "driver":
        pipeline.kill_driver()
    elif kind == "decision":
        with decisions_of(pipeline.bootstrap) as wait_for_decision:
            wait_for_decision()
            pipeline.kill_driver()
    elif kind == "broker":
        # With one killed, enough are left to take everything.
        wait_for_isr(admin_of(cluster), COPIES, *cluster.nodes)
        node = cluster[chance.choice(sorted(cluster.nodes))]
        node.kill()
        node.start()
    else:
        pipeline.restart(kill=kind == "run")
