"""A pipeline runs continuously while what it runs on is killed: nothing lost, nothing twice, nothing left behind."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from odradek.client.blocking.producer import Producer
from odradek.testing import Cluster
from support.peers.librdkafka_reader import read_by_librdkafka
from support.processes.process_tree import command_of, descendants, kill
from support.spark.pipelines import ODRADEK, WAIT_S, Running, make_project, running
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

DEFINITIONS = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark.dead_letters import accepted, rejected
from odradek.spark.formats import decode, json

spark = SparkSession.active()
OPTIONS = {"kafka.bootstrap.servers": spark.conf.get("spark.shop.bootstrap")}
NUMBER = json("number INT NOT NULL")


@dp.table
def raw() -> DataFrame:
    rows = spark.readStream.format("odradek").options(**OPTIONS, subscribe="orders", startingOffsets="earliest").load()
    return rows.withColumn("decoded", decode("value", NUMBER))


dp.create_sink("copies", "odradek", {**OPTIONS, "topic": "copies", "delivery": "exactly-once", "sinkId": "copies"})
dp.create_sink("dead", "odradek", {**OPTIONS, "topic": "orders.dead", "delivery": "exactly-once", "sinkId": "dead"})


@dp.append_flow(target="copies")
def copied() -> DataFrame:
    return accepted(spark.readStream.table("raw"), "decoded.error").select(F.to_json("decoded.data").alias("value"))


@dp.append_flow(target="dead")
def dead_letters() -> DataFrame:
    return rejected(spark.readStream.table("raw"), "decoded.error", step="decode")
"""


class Orders:
    """Each is sent once; one in ten is none."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap})
        self._producer.start()
        self.good: list[int] = []
        self.broken = 0

    @property
    def count(self) -> int:
        return len(self.good) + self.broken

    def send(self, count: int) -> None:
        for number in range(self.count, self.count + count):
            if number % 10 == 0:
                self.broken += 1
                self._producer.send("orders", b"broken")
            else:
                self.good.append(number)
                self._producer.send("orders", json.dumps({"number": number}).encode())
        self._producer.flush()

    def close(self) -> None:
        self._producer.close()


def wait_until_taken(run: Running, orders: Orders) -> None:
    """By every flow."""
    wait_until(
        lambda: all(run.rows(flow) == orders.count for flow in ("raw", "copied", "dead_letters")),
        f"{orders.count} rows in each flow",
        WAIT_S,
        lambda: str(run.events[-20:]),
    )


def status(project: Path, *options: str) -> Any:
    said = subprocess.run(
        [ODRADEK, "pipeline", "status", str(project), "--format", "json", *options],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    return json.loads(said.stdout)


def is_gone(pid: int) -> bool:
    return "pipeline" not in command_of(pid) and "java" not in command_of(pid)


def leave_unfinished(project: Path) -> None:
    """What Spark leaves where it is killed while it writes a flow's first offsets."""
    offsets = project / "storage" / "_checkpoints" / "spark_catalog" / "default" / "raw" / "raw" / "0" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.51f7c981-4fff-430a-80ca-65981d62c118.tmp").touch()


def test_kills(tmp_path: Path) -> None:
    with Cluster() as cluster:
        cluster.create_topic("orders", partitions=2)
        for topic in ("copies", "orders.dead"):
            cluster.create_topic(topic)
        spec = f"configuration: {{spark.shop.bootstrap: '{cluster.bootstrap}'}}\n"
        project = make_project(tmp_path / "shop", {"a.py": DEFINITIONS}, spec)
        assert status(project)["state"] == "never ran"
        leave_unfinished(project)
        orders = Orders(cluster.bootstrap)
        orders.send(100)
        try:
            with running(project, "--continuous", "--updates", "--trigger", "1s", "--master", "local[2]") as run:
                _kill_the_jvm(run, orders, project)
                left = [run.process.pid, *descendants(run.process.pid)]
                kill(run.process.pid)
                wait_until(lambda: all(map(is_gone, left)), "nothing is left", WAIT_S)
        finally:
            orders.close()
        _check_all_is_there(project, cluster.bootstrap, orders)


def _kill_the_jvm(run: Running, orders: Orders, project: Path) -> None:
    wait_until_taken(run, orders)
    shown = status(project)
    assert shown["state"] in ("running", "waiting") and shown["pid"] == run.process.pid
    assert {flow["flow"]: flow["lag"] for flow in shown["flows"]} == {"raw": 0, "copied": None, "dead_letters": None}
    run.kill_the_jvm(lambda: orders.send(100))
    assert [event["cause"] for event in run.of("retry")] == ["Spark's JVM is gone"]
    wait_until_taken(run, orders)


def _check_all_is_there(project: Path, bootstrap: str, orders: Orders) -> None:
    table = pq.read_table(project / "storage" / "warehouse" / "raw")
    assert table.num_rows == orders.count
    assert sorted(each["data"]["number"] for each in table["decoded"].to_pylist() if not each["error"]) == orders.good
    copies = read_by_librdkafka(bootstrap, "copies", isolation_level="read_committed")
    assert sorted(json.loads(seen.value or b"")["number"] for seen in copies) == orders.good
    after = status(project)
    assert (after["state"], after["last_error"]) == ("killed", "Spark's JVM is gone")
    assert after["dead_letters"] == [{"topic": "orders.dead", "records": orders.broken}]
    assert {flow["state"] for flow in after["flows"]} <= {"stopped", "completed"}
