"""docs/deploy-spark.md works as it is written, on a standalone cluster and a Spark Connect server whose machines do not
have Odradek: every command of its console blocks, and what they show.

Only addresses and directories are others: those of the cluster that the test has started.
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from odradek.testing import Cluster
from support import figures
from support.peers.librdkafka_reader import read_by_librdkafka
from support.processes.ports import free_rows
from support.processes.process_tree import kill_tree
from support.shell_examples import Shell, Step, console_steps, is_as_shown
from support.spark.cluster import (
    HOST,
    SPARK_HOME,
    WAIT_S,
    StandaloneCluster,
    connect_server,
    driver_environment,
    driver_settings,
    machine_environment,
    standalone_cluster,
)
from support.spark.pipelines import make_project
from support.waiting import Hopeless, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

GUIDE = (Path(__file__).parents[2] / "docs" / "deploy-spark.md").read_text()
STEPS = list(console_steps(GUIDE))

DEFINITIONS = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()
OPTIONS = {"kafka.bootstrap.servers": "@BOOTSTRAP@"}


@dp.table
def orders() -> DataFrame:
    rows = spark.readStream.format("odradek").options(**OPTIONS, subscribe="orders", startingOffsets="earliest").load()
    return rows.select(F.col("value").cast("string").alias("value"))


dp.create_sink("copies", "odradek", {**OPTIONS, "topic": "@TOPIC@"})


@dp.append_flow(target="copies")
def copied() -> DataFrame:
    return spark.readStream.table("orders").select("value")
"""

ORDERS = ['{"id": "a1"}', '{"id": "a2"}']

COUNT_WITH_A_PACKAGE = """\
import sys

from pyspark.sql import SparkSession

from odradek.spark import register

bootstrap, package, remote = sys.argv[1:]
builder = SparkSession.builder
spark = (builder.remote(remote) if remote else builder).getOrCreate()
register(spark, package)
options = {"kafka.bootstrap.servers": bootstrap, "subscribe": "orders", "startingOffsets": "earliest"}
print("count", spark.read.format("odradek").options(**options).load().count())
"""


class Guide:
    """The directory of somebody who follows the guide, with the addresses that it speaks of."""

    def __init__(self, directory: Path, cluster: StandaloneCluster, bootstrap: str) -> None:
        self.directory, self.cluster, self.bootstrap = directory, cluster, bootstrap
        self.connect_port = free_rows(1, 1)[0]
        self.shared = directory / "shared"
        self._write_settings(directory / "conf")
        self._write_job()
        for name, topic in (("shop", "by-master"), ("bills", "by-connect")):
            text = DEFINITIONS.replace("@BOOTSTRAP@", bootstrap).replace("@TOPIC@", topic)
            make_project(self.shared / name, {"a.py": text})

    def command(self, text: str) -> str:
        replacements = {
            "spark://spark-1:7077": self.cluster.url,
            "sc://spark-1:15002": self.remote,
            "port=15002": f"port={self.connect_port}",
            "broker-1:9092": self.bootstrap,
            "/shared": str(self.shared),
            "spark doctor": "spark doctor --timeout 1800",  # a loaded machine starts Spark in minutes
        }
        return re.sub("|".join(map(re.escape, replacements)), lambda match: replacements[match[0]], text)

    @property
    def remote(self) -> str:
        return f"sc://{HOST}:{self.connect_port}"

    def environment(self) -> dict[str, str]:
        return {**driver_environment(), "SPARK_CONF_DIR": str(self.directory / "conf")}

    def _write_settings(self, directory: Path) -> None:
        """Small and quick, and addresses of this machine: what an administrator has set up for everybody."""
        directory.mkdir(parents=True)
        lines = [f"{name} {value}" for name, value in driver_settings().items()]
        (directory / "spark-defaults.conf").write_text("\n".join(lines) + "\n")

    def _write_job(self) -> None:
        (job,) = (
            block for block in re.findall(r"^```python\n(.*?)^```$", GUIDE, re.M | re.S) if "copy-orders" in block
        )
        (self.directory / "copy_orders.py").write_text(job)


@pytest.fixture
def guide(tmp_path: Path) -> Iterator[Guide]:
    directory = tmp_path / "deploy"
    with Cluster() as brokers, standalone_cluster(directory / "cluster") as cluster:
        for topic in ("by-master", "by-connect"):
            brokers.create_topic(topic)
        yield Guide(directory, cluster, brokers.bootstrap)


@contextmanager
def server(guide: Guide, step: Step) -> Iterator[None]:
    """The step that starts the Spark Connect server, in another terminal of a machine that has Spark and no Odradek."""
    log = guide.directory / "server.log"
    more = {
        "PYSPARK_PYTHON": guide.command("/shared/odradek/environment/bin/python"),
        "SPARK_CONF_DIR": str(guide.directory / "conf"),
    }
    environment = machine_environment(guide.cluster.python, more)
    environment["PATH"] = f"{SPARK_HOME / 'bin'}:{environment['PATH']}"
    options = "--conf spark.connect.grpc.binding.address=127.0.0.1 --conf spark.log.level=INFO"
    command = guide.command(step.command).replace(" spark-internal", f" {options} spark-internal")
    with log.open("wb") as stream:
        process = subprocess.Popen(
            ["bash", "-c", command], cwd=guide.directory, env=environment, stdout=stream, stderr=stream
        )
    try:

        def listens() -> bool:
            if process.poll() is not None:
                raise Hopeless(log.read_text())
            return "Spark Connect server started at" in log.read_text()

        wait_until(listens, "the Spark Connect server listens", WAIT_S, log.read_text)
        yield
    finally:
        kill_tree(process.pid)
        process.wait(WAIT_S)


@pytest.mark.timeout(1_800)  # eight applications of Spark, one after the other
def test_every_command(guide: Guide) -> None:
    """And, on the same cluster, packages that are registered, and a server that does not find the source."""
    began_s = time.monotonic()
    start = next(step for step in STEPS if "SparkConnectServer" in step.command)
    shell = Shell(guide.directory, guide.environment())
    runner = _runner(guide, shell)
    try:
        for step in STEPS[: STEPS.index(start)]:
            if not step.command.startswith("export PYSPARK_PYTHON"):  # it is for the server's terminal
                runner(step)
        _check_pipeline(guide, guide.shared / "shop" / "storage" / "warehouse", "by-master")
        assert all(list(work.glob("app-*/*/stderr")) for work in guide.cluster.work_directories), "both had executors"
        with server(guide, start):
            for step in STEPS[STEPS.index(start) + 1 :]:
                runner(step)
        _check_pipeline(guide, guide.shared / "warehouse", "by-connect")
    finally:
        shell.close()
    _check_registered_packages(guide)
    figures.report("deploy guide", commands=len(STEPS), seconds=round(time.monotonic() - began_s, 1))


def _runner(guide: Guide, shell: Shell) -> Callable[[Step], None]:
    def run(step: Step) -> None:
        output = shell.run(guide.command(step.command))
        logs = guide.cluster.executor_logs() if "submit" in step.command else ""
        assert is_as_shown(output, step.shown), f"{step.command} printed\n{output}\n{logs}"

    return run


def _check_pipeline(guide: Guide, warehouse: Path, topic: str) -> None:
    assert sorted(pq.read_table(warehouse / "orders")["value"].to_pylist()) == ORDERS
    values = [record.value for record in read_by_librdkafka(guide.bootstrap, topic)]
    assert sorted(str(value, "utf-8") for value in values if value) == ORDERS


def _check_registered_packages(guide: Guide) -> None:
    """They reach executors, and a server, without Odradek. The driver is started by the path of its interpreter, which
    the machines do not have."""
    job = guide.directory / "count.py"
    job.write_text(COUNT_WITH_A_PACKAGE)
    package = str(guide.directory / "dist" / "odradek-spark.zip")
    settings = {"spark.sql.warehouse.dir": str(guide.directory / "other-warehouse")}
    with connect_server(guide.directory / "other-server", guide.cluster.python, settings=settings) as other:
        for master, remote in ((guide.cluster.url, ""), ("", other.url)):
            environment = guide.environment()
            if master:
                options = f"--master {master} --conf spark.sql.execution.pyspark.python=python3 pyspark-shell"
                environment |= {"PYSPARK_SUBMIT_ARGS": options, "PYSPARK_PYTHON": sys.executable}
            done = subprocess.run(
                [sys.executable, str(job), guide.bootstrap, package, remote],
                env=environment,
                capture_output=True,
                text=True,
                timeout=WAIT_S,
            )
            assert done.stdout.splitlines() == [f"count {len(ORDERS)}"], done.stderr[-4_000:]
        _check_a_server_without_the_source(guide, other.url)


def _check_a_server_without_the_source(guide: Guide, url: str) -> None:
    """One sentence with the fix, from the pipeline and from the doctor."""
    odradek = str(Path(sys.executable).parent / "odradek")
    for command in (["pipeline", "run", str(guide.shared / "bills")], ["spark", "doctor"]):
        done = subprocess.run(
            [odradek, *command, "--remote", url],
            env=guide.environment(),
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
        output = done.stdout + done.stderr
        assert done.returncode == 1 and "Traceback" not in output, output
        assert "Spark does not find the data source odradek" in output and "set PYSPARK_PYTHON there" in output, output
