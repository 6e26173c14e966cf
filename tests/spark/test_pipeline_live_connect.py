"""Live mode behind a Spark Connect server that is killed and started again: nothing lost and nothing doubled.

The server keeps its catalog in a database of its own: pipelines could not go on without it when the server is started
again. It is killed with -9 while the pipeline runs live, and again while a single update runs.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

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
from helpers.spark_cluster import RestartedServer
from odradek.testing import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.peer]

EVENT_COUNT = 1_500


@pytest.fixture
def bootstrap() -> Iterator[str]:
    with Cluster() as brokers:
        for topic in (EVENTS, COPIES):
            brokers.create_topic(topic, partitions=PARTITIONS)
        yield brokers.bootstrap


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestartedServer]:
    with ExitStack() as stack:
        yield RestartedServer(tmp_path / "server", stack)


def retries(run: Running) -> list[str]:
    return [event["cause"] for event in run.of("retry")]


def test_server_is_killed(bootstrap: str, server: RestartedServer, tmp_path: Path) -> None:
    begun_s = time.monotonic()
    project = make_project(tmp_path / "live", DEFINITIONS)
    remote, settings, load = ("--remote", server.url), settings_of(bootstrap), Load(bootstrap, pause_s=0.2)
    with running(project, "--continuous", *remote, settings=settings) as run:
        wait_until_live(run)
        seen = len(run.events)
        with load.producing(EVENT_COUNT // 2):
            wait_for_batch(run, "copied", seen)
            seen = len(run.events)
            server.kill_and_start()
            started_s = time.monotonic()
            wait_until_live(run, seen)
            live_again_s = time.monotonic() - started_s
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
        retries=live_retries,
        live_again_s=round(live_again_s, 1),
        seconds=round(time.monotonic() - begun_s),
    )
    check_contents(server.warehouse, committed_keys(bootstrap), EVENT_COUNT)
