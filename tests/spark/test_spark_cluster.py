"""Pipelines that read and write topics, behind a Spark Connect server that has Odradek installed; it is killed and
started again, and nothing is lost and nothing doubled.

The server keeps its catalog in a database of its own: pipelines could not go on without it when the server is started
again. It is killed with -9 while a pipeline runs live, and again while a single update runs.

`test_deploy_guide` runs pipelines on a standalone cluster, and on a server in front of it, whose machines do not have
Odradek."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from odradek.client.blocking.producer import Producer
from odradek.testing import Cluster
from support.figures import report
from support.peers.librdkafka_reader import read_by_librdkafka
from support.spark import live_pipelines
from support.spark.cluster import RestartedServer
from support.spark.live_pipelines import Load, wait_for_batch, wait_until_drained, wait_until_live
from support.spark.pipelines import ODRADEK, WAIT_S, Running, make_project, running

pytestmark = [pytest.mark.slow, pytest.mark.peer]

RECORDS = 500
EVENT_COUNT = 1_500
PARTITIONS = 4

DEFINITIONS = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()
OPTIONS = {"kafka.bootstrap.servers": "@BOOTSTRAP@"}


@dp.table
def orders() -> DataFrame:
    rows = spark.readStream.format("odradek").options(**OPTIONS, subscribe="orders", startingOffsets="earliest").load()
    return rows.select(F.col("value").cast("string").cast("int").alias("number"), "partition", "offset")


dp.create_sink("copies", "odradek", {**OPTIONS, "topic": "@TOPIC@"})


@dp.append_flow(target="copies")
def copied() -> DataFrame:
    return spark.readStream.table("orders").select(F.col("number").cast("string").alias("value"))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Where it is; with records in topic orders."""
    with Cluster() as made:
        made.create_topic("orders", partitions=PARTITIONS)
        made.create_topic("by-connect")
        for topic in (live_pipelines.EVENTS, live_pipelines.COPIES):
            made.create_topic(topic, partitions=live_pipelines.PARTITIONS)
        with Producer({"bootstrap.servers": made.bootstrap}) as producer:
            for number in range(RECORDS):
                producer.send("orders", str(number).encode(), partition=number % PARTITIONS)
        yield made.bootstrap


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartedServer]:
    with ExitStack() as stack:
        yield RestartedServer(tmp_path_factory.mktemp("server"), stack)


def project_for(directory: Path, bootstrap: str, topic: str) -> Path:
    return make_project(directory, {"a.py": DEFINITIONS.replace("@BOOTSTRAP@", bootstrap).replace("@TOPIC@", topic)})


def check_done(warehouse: Path, bootstrap: str, topic: str) -> None:
    """Each record once, in the table and in the topic."""
    table = pq.read_table(warehouse / "orders")
    assert sorted(table["number"].to_pylist()) == list(range(RECORDS))
    values = [seen.value for seen in read_by_librdkafka(bootstrap, topic)]
    assert sorted(int(value or b"") for value in values) == list(range(RECORDS))


def test_spark_connect(cluster: str, server: RestartedServer, tmp_path: Path) -> None:
    project = project_for(tmp_path / "connect", cluster, "by-connect")
    _check_dry_runs(tmp_path, project, server)
    with running(project, "--remote", server.url) as run:
        assert run.end() == 0, run.events
    check_done(server.warehouse, cluster, "by-connect")
    assert run.of("session")[0]["jvm_pid"] is None
    (batch,) = [event for event in run.of("progress") if event["flow"] == "copied"]
    assert (batch["rows_in"], batch["rows_out"]) == (RECORDS, RECORDS)


def _check_dry_runs(directory: Path, project: Path, server: RestartedServer) -> None:
    """What only Spark can find is found, and nothing is run."""
    text = (project / "transformations" / "a.py").read_text()
    wrong = make_project(directory / "wrong", {"a.py": text.replace('F.col("number")', 'F.col("nmber")')})
    for each, status, said in (
        (wrong, 1, "Spark: flow copied: [UNRESOLVED_COLUMN"),
        (project, 0, "connect: no problems"),
    ):
        done = subprocess.run(
            [ODRADEK, "pipeline", "check", str(each), "--dry-run", "--remote", server.url],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == status and said in done.stdout, (done.stdout, done.stderr)
    assert not (server.warehouse / "orders").exists()


def retries(run: Running) -> list[str]:
    return [event["cause"] for event in run.of("retry")]


def test_server_is_killed(cluster: str, server: RestartedServer, tmp_path: Path) -> None:
    begun_s = time.monotonic()
    project = make_project(tmp_path / "live", live_pipelines.DEFINITIONS)
    remote, settings, load = ("--remote", server.url), live_pipelines.settings_of(cluster), Load(cluster, pause_s=0.2)
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
    live_pipelines.check_contents(server.warehouse, live_pipelines.committed_keys(cluster), EVENT_COUNT)
