"""Live mode on a standalone cluster whose executors are killed: nothing lost and nothing doubled, in topics and tables.

A Master and two Workers run in clean environments and in directories of their own, of which each has one executor.
Executors are killed with -9 in the middle of batches: one, then both at once. Then the run is stopped, and one update,
of which one executor is killed, takes what came meanwhile.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.testing import Cluster
from support.figures import report
from support.spark.cluster import driver_settings, standalone_cluster
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
from support.spark.pipelines import make_project, running

pytestmark = [pytest.mark.slow, pytest.mark.peer]

EVENT_COUNT = 2_000


@pytest.fixture
def bootstrap() -> Iterator[str]:
    with Cluster() as brokers:
        for topic in (EVENTS, COPIES):
            brokers.create_topic(topic, partitions=PARTITIONS)
        yield brokers.bootstrap


def test_executors_are_killed(bootstrap: str, tmp_path: Path) -> None:
    begun_s = time.monotonic()
    project = make_project(tmp_path / "live", DEFINITIONS)
    load = Load(bootstrap, pause_s=0.2)
    with standalone_cluster(tmp_path / "cluster") as cluster:
        settings = {**driver_settings(), **settings_of(bootstrap)}
        with running(project, "--continuous", "--master", cluster.url, settings=settings) as run:
            wait_until_live(run)
            for index, count in enumerate((1, 2), 1):
                seen = len(run.events)
                with load.producing(EVENT_COUNT * index // 3):
                    wait_for_batch(run, "copied", seen)
                    cluster.wait_for_executors()
                    for _ in range(count):
                        cluster.kill_executor()
            wait_until_drained(run)
            assert run.stop() == 0
        restarts = [event["cause"] for event in run.of("restart")]
        sessions = len(run.of("session"))
        with load.producing(EVENT_COUNT):
            pass
        with running(project, "--master", cluster.url, settings=settings) as run:
            cluster.wait_for_executors()  # whose registration the first job waits for
            cluster.kill_executor()
            assert run.end() == 0, run.events[-5:]
    report(
        "pipeline live, executors killed",
        events=EVENT_COUNT,
        restarts=restarts,
        sessions=sessions,
        seconds=round(time.monotonic() - begun_s),
    )
    assert sessions == 1
    check_contents(project / "storage" / "warehouse", committed_keys(bootstrap), EVENT_COUNT)
