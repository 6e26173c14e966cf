"""Live mode on a standalone cluster, with a driver of its own and behind a Spark Connect server: everything is killed,
one after the other, and nothing is lost and nothing doubled, in topics and tables.

The cluster has a Master and two Workers in clean environments. Killed with -9 while events come: one executor, both
executors, the driver, the whole run, and the server or the Master.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from odradek.testing import Cluster
from support.figures import report
from support.processes.process_tree import kill, kill_tree
from support.spark.cluster import (
    RestartedServer,
    StandaloneCluster,
    driver_settings,
    master_process,
    standalone_cluster,
)
from support.spark.live_pipelines import (
    COPIES,
    DEFINITIONS,
    EVENTS,
    PARTITIONS,
    Load,
    check_contents,
    committed_keys,
    settings_of,
    wait_for_batch,
    wait_until_drained,
    wait_until_live,
)
from support.spark.pipelines import Running, make_project, running

pytestmark = [pytest.mark.slow, pytest.mark.peer]

EVENT_COUNT = 6_000


@pytest.fixture
def bootstrap() -> Iterator[str]:
    with Cluster() as brokers:
        for topic in (EVENTS, COPIES):
            brokers.create_topic(topic, partitions=PARTITIONS)
        yield brokers.bootstrap


class Bench:
    """A pipeline in live mode, and what it runs on."""

    def __init__(self, directory: Path, bootstrap: str, stack: ExitStack, *, is_remote: bool) -> None:
        self.cluster: StandaloneCluster = stack.enter_context(standalone_cluster(directory / "cluster"))
        self.project = make_project(directory / "live", DEFINITIONS)
        self.server = RestartedServer(directory / "server", stack, self.cluster.url) if is_remote else None
        self._settings = settings_of(bootstrap) if self.server else {**driver_settings(), **settings_of(bootstrap)}
        self._stack = stack
        self.run = self._start()

    @property
    def warehouse(self) -> Path:
        return self.project / "storage" / "warehouse" if self.server is None else self.server.warehouse

    def kill_executors(self, count: int) -> None:
        self.cluster.wait_for_executors()
        for _ in range(count):
            self.cluster.kill_executor()

    def kill_driver(self) -> None:
        """Behind a server its queries go on, until another driver has started them again."""
        session = self.run.of("session")[-1]
        seen = len(self.run.events)
        kill(*(session[name] for name in ("driver_pid", "jvm_pid") if session[name] is not None))
        wait_until_live(self.run, seen)

    def kill_run(self) -> None:
        kill_tree(self.run.process.pid)
        self.run.end()
        self.run = self._start()

    def kill_master(self) -> None:
        """Another one, without what it knew, kills the executors; the run goes on as another application."""
        self.cluster.master.kill()
        self._stack.enter_context(master_process(self.project.parent / "master", self.cluster.url, self.cluster.python))
        seen = len(self.run.events)
        wait_until_live(self.run, seen)

    def kill_server(self) -> None:
        assert self.server is not None
        seen = len(self.run.events)
        self.server.kill_and_start()
        wait_until_live(self.run, seen)

    def _start(self) -> Running:
        where = ("--remote", self.server.url) if self.server else ("--master", self.cluster.url)
        started = running(self.project, "--continuous", *where, settings=self._settings)
        run = self._stack.enter_context(started)
        wait_until_live(run)
        return run


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("where", ["master", "remote"])
def test_everything_is_killed(bootstrap: str, tmp_path: Path, where: str) -> None:
    begun_s = time.monotonic()
    load = Load(bootstrap, pause_s=0.2)
    with ExitStack() as stack:
        bench = Bench(tmp_path, bootstrap, stack, is_remote=where == "remote")
        faults = {
            "executor": lambda: bench.kill_executors(1),
            "driver": bench.kill_driver,
            "executors": lambda: bench.kill_executors(2),
            "run": bench.kill_run,
        }
        if bench.server is None:
            faults["master"] = bench.kill_master
        else:
            faults["server"] = bench.kill_server
        took_s = {}
        for index, (name, fault) in enumerate(faults.items(), 1):
            seen = len(bench.run.events)
            share = EVENT_COUNT // len(faults)
            with load.producing(load.sent + share // 2):
                wait_for_batch(bench.run, "copied", seen)
                fault_s = time.monotonic()
                fault()
            seen = len(bench.run.events)
            with load.producing(EVENT_COUNT if index == len(faults) else load.sent + share // 2):
                wait_for_batch(bench.run, "copied", seen)
                took_s[name] = round(time.monotonic() - fault_s, 1)
        wait_until_drained(bench.run)
        assert bench.run.stop() == 0
        report(f"pipeline live, killed, {where}", took_s=took_s, seconds=round(time.monotonic() - begun_s))
        check_contents(bench.warehouse, committed_keys(bootstrap), EVENT_COUNT)
