"""Live mode under kill -9, and switches between live mode and updates: nothing lost and nothing doubled, in topics and
tables.

Three nodes, each broker and controller, RF 3. Events are produced while a pipeline runs live: topic → table → second
table and a topic, exactly once, with a materialized view over the tables. Meanwhile, at points that a seed decides,
Python workers of Spark are killed, the driver with its JVM, the whole run, brokers, and the driver at the moment at
which an exactly-once sink has written its decision; or the run is stopped, and one update runs in its place. Runs with
an odd seed keep a second driver ready. What is in the topic is counted by confluent-kafka, which reads what is
committed, and what is in the tables by pyarrow.
"""

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from odradek.spark.exactly_once.decisions import TOPIC as DECISIONS
from support.figures import report
from support.loads.data_load import CLIENT, admin_of, bootstrap_of, create_topic, wait_for_isr
from support.processes import process_tree as processes
from support.processes.nodes import Cluster, three_nodes
from support.spark.live_pipelines import (
    COPIES,
    DEFINITIONS,
    EVENTS,
    PARTITIONS,
    TIMEOUT_S,
    Load,
    check_contents,
    committed_keys,
    settings_of,
    stream_table,
    wait_until_drained,
    wait_until_live,
)
from support.spark.pipelines import Running, make_project, running
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

IS_SOAK = "ODRADEK_SOAK_FACTOR" in os.environ
SEEDS = range(int(os.environ.get("ODRADEK_LIVE_SEEDS", "20"))) if IS_SOAK else range(2)
EVENT_COUNT = int(os.environ.get("ODRADEK_LIVE_EVENTS", "100000")) if IS_SOAK else 3_000
FAULTS = ("worker", "decision", "driver", "broker", "switch", "run")
FAULT_COUNT = 8

#: Within some batches: what the next fault hits is left to chance.
_DELAY_MAX_S = 2.0


class Pipeline:
    """`odradek pipeline run --continuous`, started again and again."""

    def __init__(self, project: Path, bootstrap: str, *, has_standby: bool) -> None:
        self.project = project
        self.bootstrap = bootstrap
        self._stack = ExitStack()
        self._settings = settings_of(bootstrap)
        self._live = ("--continuous", "--standby") if has_standby else ("--continuous",)
        self.run = self._start(*self._live)

    def close(self) -> None:
        self._stack.close()

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
        self.run = self._start(*self._live)
        wait_until_live(self.run)

    def kill_driver(self) -> None:
        session = self.run.of("session")[-1]
        seen = len(self.run.events)
        processes.kill(session["driver_pid"], session["jvm_pid"])
        wait_until_live(self.run, seen)

    def kill_worker(self, chance: random.Random) -> None:
        wait_until(lambda: self._kill_worker(chance), "there is a Python worker of Spark")

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


@contextmanager
def decisions_of(bootstrap: str, since_ms: int) -> Iterator[Callable[[], None]]:
    """Return a function that returns when the sink has decided, since then, to commit a batch, which it may have
    committed or not."""
    options = {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False, **CLIENT}
    consumer = Consumer({**options, "auto.offset.reset": "earliest", "isolation.level": "read_committed"})
    consumer.subscribe([DECISIONS])

    def wait() -> None:
        def is_decided() -> bool:
            message = consumer.poll(0.05)
            if message is None or message.error() is not None or message.timestamp()[1] < since_ms:
                return False
            state = json.loads(message.value() or b"{}")
            return any(not decision["done"] for decision in state.get("decisions", ()))

        wait_until(is_decided, "the sink decides", TIMEOUT_S)

    try:
        yield wait
    finally:
        consumer.close()


def faults_of(seed: int) -> list[str]:
    if not IS_SOAK:
        return list(FAULTS[seed::2])
    chance = random.Random(seed)
    return [chance.choice(FAULTS) for _ in range(FAULT_COUNT)]


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_doubled(tmp_path: Path, seed: int) -> None:
    chance, begun_s = random.Random(seed), time.monotonic()
    project = make_project(tmp_path / "live", DEFINITIONS)
    with three_nodes(tmp_path) as cluster:
        bootstrap = bootstrap_of(cluster)
        create_topic(cluster, EVENTS, PARTITIONS, 3)
        create_topic(cluster, COPIES, PARTITIONS, 3)
        pipeline = Pipeline(project, bootstrap, has_standby=seed % 2 == 1)
        try:
            wait_until_live(pipeline.run)
            faults = faults_of(seed)
            load = Load(bootstrap)
            for index, fault in enumerate(faults, 1):
                since_ms = time.time_ns() // 1_000_000
                with load.producing(EVENT_COUNT * index // len(faults)):
                    time.sleep(chance.uniform(0, _DELAY_MAX_S))
                    do_fault(fault, chance, pipeline, cluster, since_ms)
            wait_until_drained(pipeline.run)
            assert pipeline.run.stop() == 0
        finally:
            pipeline.close()
        copies = committed_keys(bootstrap)
    warehouse = project / "storage" / "warehouse"
    numbers = stream_table(warehouse / "numbers")
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
    check_contents(warehouse, copies, EVENT_COUNT)


def do_fault(kind: str, chance: random.Random, pipeline: Pipeline, cluster: Cluster, since_ms: int) -> None:
    """`since_ms` is when the events began that are produced meanwhile."""
    if kind == "worker":
        pipeline.kill_worker(chance)
    elif kind == "driver":
        pipeline.kill_driver()
    elif kind == "decision":
        with decisions_of(pipeline.bootstrap, since_ms) as wait_for_decision:
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
