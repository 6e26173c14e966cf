"""A pipeline that reads and writes topics, behind a Spark Connect server that has Odradek installed.

`test_deploy_guide` runs pipelines on a standalone cluster, and on a server in front of it, whose machines do not."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from helpers import spark
from helpers.pipelines import ODRADEK, WAIT_S, make_project, running
from helpers.reading import read_by_librdkafka
from helpers.spark_cluster import connect_server
from odradek.client.blocking.producer import Producer
from odradek.testing import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.peer]

RECORDS = 500
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
        with Producer({"bootstrap.servers": made.bootstrap}) as producer:
            for number in range(RECORDS):
                producer.send("orders", str(number).encode(), partition=number % PARTITIONS)
        yield made.bootstrap


def project_for(directory: Path, bootstrap: str, topic: str) -> Path:
    return make_project(directory, {"a.py": DEFINITIONS.replace("@BOOTSTRAP@", bootstrap).replace("@TOPIC@", topic)})


def check_done(project: Path, bootstrap: str, topic: str) -> None:
    """Each record once, in the table and in the topic."""
    table = pq.read_table(project / "storage" / "warehouse" / "orders")
    assert sorted(table["number"].to_pylist()) == list(range(RECORDS))
    values = [seen.value for seen in read_by_librdkafka(bootstrap, topic)]
    assert sorted(int(value or b"") for value in values) == list(range(RECORDS))


def test_spark_connect(cluster: str, tmp_path: Path) -> None:
    project = project_for(tmp_path / "connect", cluster, "by-connect")
    settings = {"spark.sql.warehouse.dir": str(project / "storage" / "warehouse")}
    environment = spark.quick_environment()
    python = Path(sys.executable)
    with connect_server(tmp_path / "server", python, settings=settings, environment=environment) as server:
        _check_dry_runs(tmp_path, project, server.url)
        with running(project, "--remote", server.url) as run:
            assert run.end() == 0, run.events
    check_done(project, cluster, "by-connect")
    assert run.of("session")[0]["jvm_pid"] is None
    (batch,) = [event for event in run.of("progress") if event["flow"] == "copied"]
    assert (batch["rows_in"], batch["rows_out"]) == (RECORDS, RECORDS)


def _check_dry_runs(directory: Path, project: Path, url: str) -> None:
    """What only Spark can find is found, and nothing is run."""
    text = (project / "transformations" / "a.py").read_text()
    wrong = make_project(directory / "wrong", {"a.py": text.replace('F.col("number")', 'F.col("nmber")')})
    for each, status, said in ((wrong, 1, "Spark: flow copied: [UNRESOLVED_COLUMN"), (project, 0, "connect is good")):
        done = subprocess.run(
            [ODRADEK, "pipeline", "check", str(each), "--dry-run", "--remote", url],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == status and said in done.stdout, (done.stdout, done.stderr)
    assert not (project / "storage" / "warehouse" / "orders").exists()
