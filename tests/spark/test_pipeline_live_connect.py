"""Live mode behind a Spark Connect server that is killed and started again: nothing lost and nothing doubled.

The server keeps its catalog in a database of its own: pipelines could not go on without it when the server is started
again. It is killed with -9 while the pipeline runs live, and again while a single update runs.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from helpers import spark
from helpers.figures import report
from helpers.live_pipelines import (
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
from helpers.pipelines import Running, make_project, running
from helpers.ports import free_rows
from helpers.spark_cluster import ConnectServer, connect_server
from odradek.testing import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.peer]

EVENT_COUNT = 1_500


class Server:
    """A Spark Connect server that is started again and again, at one address."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._directory = directory
        self._stack = stack
        self._port = free_rows(1, 1)[0]
        self._starts = 0
        self.warehouse = directory / "warehouse"
        self.running: ConnectServer = self.start()

    def start(self) -> ConnectServer:
        self._starts += 1
        catalog = f"jdbc:derby:;databaseName={self._directory}/catalog;create=true"
        settings = {
            "spark.sql.warehouse.dir": str(self.warehouse),
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.javax.jdo.option.ConnectionURL": catalog,
        }
        self.running = self._stack.enter_context(
            connect_server(
                self._directory / f"start-{self._starts}",
                Path(sys.executable),
                settings=settings,
                environment=spark.quick_environment(),
                port=self._port,
            )
        )
        return self.running

    def kill_and_start(self) -> float:
        """Return how long the start took."""
        self.running.server.kill()
        begun_s = time.monotonic()
        self.start()
        return time.monotonic() - begun_s


@pytest.fixture
def bootstrap() -> Iterator[str]:
    with Cluster() as brokers:
        for topic in (EVENTS, COPIES):
            brokers.create_topic(topic, partitions=PARTITIONS)
        yield brokers.bootstrap


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with ExitStack() as stack:
        yield Server(tmp_path / "server", stack)


def retries(run: Running) -> list[str]:
    return [event["cause"] for event in run.of("retry")]


def test_server_is_killed(bootstrap: str, server: Server, tmp_path: Path) -> None:
    begun_s = time.monotonic()
    project = make_project(tmp_path / "live", DEFINITIONS)
    remote, settings, load = ("--remote", server.running.url), settings_of(bootstrap), Load(bootstrap)
    with running(project, "--continuous", *remote, settings=settings) as run:
        wait_until_live(run)
        seen = len(run.events)
        with load.producing(EVENT_COUNT // 2):
            wait_for_batch(run, "copied", seen)
            seen = len(run.events)
            start_s = server.kill_and_start()
            back_s = time.monotonic()
            wait_until_live(run, seen)
            back_s = time.monotonic() - back_s
        wait_until_drained(run)
        live_retries = retries(run)
        assert run.stop() == 0
    with load.producing(EVENT_COUNT), running(project, *remote, settings=settings) as run:
        run.wait_for("an update", lambda event: bool(event["event"] == "flow" and event["state"] == "running"))
        server.kill_and_start()
        assert run.end() == 0, run.events[-5:]
        assert retries(run), "the update was not interrupted"
    with running(project, *remote, settings=settings) as run:  # what came after the second update began
        assert run.end() == 0, run.events[-5:]
    report(
        "pipeline live, Connect server killed",
        events=EVENT_COUNT,
        retries=[*live_retries],
        server_start_s=round(start_s, 1),
        live_again_s=round(back_s, 1),
        seconds=round(time.monotonic() - begun_s),
    )
    check_contents(server.warehouse, committed_keys(bootstrap), EVENT_COUNT)
