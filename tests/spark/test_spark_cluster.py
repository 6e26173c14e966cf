"""A pipeline that reads and writes topics, on a Spark cluster: a standalone one with two workers, and Spark Connect.

Master, workers and the Connect server are processes of the installed PySpark. Its executors are other processes than
the driver; that both workers had one is seen from the directories that they leave.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from helpers import spark
from helpers.pipelines import FLAGS, ODRADEK, WAIT_S, make_project, quick_settings, running
from helpers.ports import free_rows
from helpers.processes import kill_tree
from helpers.reading import read_by_librdkafka
from helpers.waiting import wait_until
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
        for topic in ("by-master", "by-connect"):
            made.create_topic(topic)
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


@contextmanager
def spark_process(directory: Path, *words: str) -> Iterator[None]:
    """One that PySpark's own scripts start."""
    environment = {**os.environ, **spark.quick_environment()}
    environment |= {"SPARK_DAEMON_JAVA_OPTS": quick_settings()[FLAGS], "SPARK_DAEMON_MEMORY": "512m"}
    script = str(Path(environment["SPARK_HOME"]) / "bin" / words[0])
    with (directory / f"{words[0]}-{words[1].rpartition('.')[2]}.log").open("ab") as log:
        process = subprocess.Popen([script, *words[1:]], env=environment, stdout=log, stderr=log)
    try:
        yield
    finally:
        kill_tree(process.pid)
        process.wait(WAIT_S)


@contextmanager
def standalone_cluster(directory: Path) -> Iterator[str]:
    """Its URL, once both workers are there."""
    (port,) = free_rows(1, 1)
    url = f"spark://127.0.0.1:{port}"
    master = ("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    worker = ("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g")
    log = directory / "spark-class-Master.log"
    with spark_process(directory, "spark-class", *master):
        places = [("--work-dir", str(directory / name), "--webui-port", "0", url) for name in ("work-1", "work-2")]
        with (
            spark_process(directory, "spark-class", *worker, *places[0]),
            spark_process(directory, "spark-class", *worker, *places[1]),
        ):
            wait_until(lambda: log.read_text().count("Registering worker") == 2, "two workers", WAIT_S, log.read_text)
            yield url


def test_a_standalone_cluster(cluster: str, tmp_path: Path) -> None:
    project = project_for(tmp_path / "standalone", cluster, "by-master")
    settings = {
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.extraJavaOptions": quick_settings()[FLAGS],
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
    }
    with standalone_cluster(tmp_path) as url, running(project, "--master", url, settings=settings) as run:
        assert run.end() == 0, run.events
    check_done(project, cluster, "by-master")
    assert all(list((tmp_path / name).glob("app-*/*/stderr")) for name in ("work-1", "work-2")), "both had an executor"


@contextmanager
def connect_server(directory: Path, project: Path) -> Iterator[str]:
    """Its URL, once it listens. Where tables are is the server's own affair."""
    (port,) = free_rows(1, 1)
    settings = {
        **quick_settings(),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": str(project / "storage" / "warehouse"),
        "spark.ui.enabled": "false",
    }
    conf = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    log = directory / "spark-submit---class.log"
    with spark_process(directory, "spark-submit", "--class", server, "--master", "local[2]", *conf, "spark-internal"):
        wait_until(lambda: "started at" in log.read_text(), "the server listens", WAIT_S, log.read_text)
        yield f"sc://127.0.0.1:{port}"


def test_spark_connect(cluster: str, tmp_path: Path) -> None:
    project = project_for(tmp_path / "connect", cluster, "by-connect")
    with connect_server(tmp_path, project) as url:
        _check_dry_runs(tmp_path, project, url)
        with running(project, "--remote", url) as run:
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
