"""A pipeline whose storage is in one of Hadoop's file systems: live mode, a full refresh, and live mode again.

The file system is ViewFs, which shows a directory of this machine under a URI of its own, by settings that only Spark's
session has: what lists checkpoints or tables without Spark would not find them.
"""

from collections import Counter
from pathlib import Path

import pyarrow.dataset as dataset
import pytest

from odradek.testing import Cluster
from support.spark.live_pipelines import (
    COPIES,
    DEFINITIONS,
    EVENTS,
    PARTITIONS,
    Load,
    committed_keys,
    settings_of,
    view_rows,
    wait_for_batch,
    wait_until_drained,
    wait_until_live,
)
from support.spark.pipelines import Running, make_project, running

pytestmark = [pytest.mark.slow, pytest.mark.peer]

SHARE = 300


def produce(run: Running, load: Load) -> None:
    seen = len(run.events)
    with load.producing(load.sent + SHARE):
        wait_for_batch(run, "copied", seen)
    wait_until_drained(run)


def newest_checkpoint(shared: Path) -> str:
    directories = (shared / "_checkpoints" / "spark_catalog" / "default" / "numbers" / "numbers").iterdir()
    return max(directory.name for directory in directories if directory.name.isdecimal())


def test_live_and_a_full_refresh(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    project = make_project(tmp_path / "live", DEFINITIONS)
    spec = project / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("storage: storage", "storage: viewfs://shared/live"))
    with Cluster() as brokers:
        for topic in (EVENTS, COPIES):
            brokers.create_topic(topic, partitions=PARTITIONS)
        settings = {
            **settings_of(brokers.bootstrap),
            "spark.hadoop.fs.viewfs.mounttable.shared.link./live": shared.as_uri(),
        }
        load = Load(brokers.bootstrap, pause_s=0.2)
        with running(project, "--continuous", "--master", "local[2]", settings=settings) as run:
            wait_until_live(run)
            produce(run, load)
            assert run.stop() == 0
        assert newest_checkpoint(shared) == "0"
        full_refresh = ("--full-refresh", "numbers", "--master", "local[2]")
        with running(project, *full_refresh, settings=settings) as run:
            assert run.end() == 0, run.events[-5:]
        assert newest_checkpoint(shared) == "1"
        with running(project, "--continuous", "--master", "local[2]", settings=settings) as run:
            wait_until_live(run)
            produce(run, load)
            assert run.stop() == 0
        copies = committed_keys(brokers.bootstrap)
    count = 2 * SHARE
    numbers = dataset.dataset(str(shared / "warehouse" / "numbers"), format="parquet").to_table(["number"])
    assert Counter(numbers["number"].to_pylist()) == Counter(range(count))
    assert view_rows(shared / "warehouse" / "totals") == [{"numbers": count, "total": count * (count - 1) // 2}]
    assert copies.keys() == {b"%d" % number for number in range(count)}
