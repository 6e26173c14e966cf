"""A pipeline whose tables are Delta's, by Delta itself: Spark is killed and started again, by updates and live,
and every order is in the tables and in the topic once."""

from pathlib import Path

import pytest

from odradek.client.blocking.producer import Producer
from odradek.spark.pipeline.check import check_project
from odradek.testing import Cluster
from support.peers import downloads as peers
from support.peers.librdkafka_reader import read_by_librdkafka
from support.processes.process_tree import kill
from support.spark import session as spark
from support.spark.live_pipelines import wait_for_batch, wait_until_drained, wait_until_live
from support.spark.pipelines import WAIT_S, Running, make_project, running
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

ORDERS = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()
OPTIONS = {"kafka.bootstrap.servers": spark.conf.get("spark.shop.bootstrap")}


@dp.table
def orders() -> DataFrame:
    rows = spark.readStream.format("odradek").options(**OPTIONS, subscribe="orders", startingOffsets="earliest").load()
    return rows.selectExpr("CAST(value AS STRING) AS number", "partition")


dp.create_sink("copies", "odradek", {**OPTIONS, "topic": "copies", "delivery": "exactly-once", "sinkId": "copies"})


@dp.append_flow(target="copies")
def copied() -> DataFrame:
    return spark.readStream.table("orders").selectExpr("number AS value")
"""

COUNTS = "CREATE MATERIALIZED VIEW counts AS SELECT partition, count(*) AS orders FROM orders GROUP BY partition;"


class Shop:
    def __init__(self, directory: Path, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.sent = 0
        settings = {
            **DELTA,
            "spark.sql.sources.default": "delta",
            "spark.jars": ",".join(map(str, peers.delta_jars())),
            "spark.shop.bootstrap": bootstrap,
        }
        lines = "".join(f'  {name}: "{value}"\n' for name, value in settings.items())
        self.project = make_project(directory, {"a.py": ORDERS, "b.sql": COUNTS}, f"configuration:\n{lines}")

    def send(self, count: int) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        producer.start()
        try:
            for number in range(self.sent, self.sent + count):
                producer.send("orders", str(number).encode())
            producer.flush()
        finally:
            producer.close()
        self.sent += count

    @property
    def numbers(self) -> list[str]:
        return sorted(map(str, range(self.sent)))


def test_kill_and_start_again(tmp_path: Path) -> None:
    with Cluster() as cluster:
        cluster.create_topic("orders", partitions=2)
        cluster.create_topic("copies")
        shop = Shop(tmp_path / "shop", cluster.bootstrap)
        assert check_project(str(shop.project)).problems == ()
        shop.send(100)
        with running(shop.project, "--continuous", "--updates", "--trigger", "1s", "--master", "local[2]") as run:
            _kill_the_jvm(run, shop)
            assert run.stop() == 0
        shop.send(50)
        with running(shop.project, "--master", "local[2]") as run:
            assert run.end() == 0, run.events[-20:]
            assert (run.rows("orders"), run.rows("orders", "rows_out")) == (50, 50)
        copies = read_by_librdkafka(shop.bootstrap, "copies", isolation_level="read_committed")
        assert sorted((seen.value or b"").decode() for seen in copies) == shop.numbers
    _check_tables(shop, tmp_path)


def test_live_and_updates(tmp_path: Path) -> None:
    """Live, with a kill of the driver; one update; live again."""
    with Cluster() as cluster:
        cluster.create_topic("orders", partitions=2)
        cluster.create_topic("copies")
        shop = Shop(tmp_path / "shop", cluster.bootstrap)
        shop.send(100)
        live = ("--continuous", "--trigger", "1s", "--master", "local[2]")
        with running(shop.project, *live) as run:
            wait_until_live(run)
            shop.send(100)
            _kill_the_driver(run)
            _send_live(run, shop)
            assert run.stop() == 0
        shop.send(50)
        with running(shop.project, "--master", "local[2]") as run:
            assert run.end() == 0, run.events[-20:]
            assert (run.rows("orders"), run.rows("orders", "rows_out")) == (50, 50)
        shop.send(50)
        with running(shop.project, *live) as run:
            wait_until_live(run)
            _send_live(run, shop)
            assert (run.rows("orders"), run.rows("orders", "rows_out")) == (150, 150)
            assert run.stop() == 0
            assert len(run.of("session")) == 1 and not run.of("restart")
        copies = read_by_librdkafka(shop.bootstrap, "copies", isolation_level="read_committed")
        assert sorted((seen.value or b"").decode() for seen in copies) == shop.numbers
    _check_tables(shop, tmp_path)


def _send_live(run: Running, shop: Shop) -> None:
    seen = len(run.events)
    shop.send(100)
    wait_for_batch(run, "orders", seen)
    wait_until_drained(run)


def _kill_the_driver(run: Running) -> None:
    (session,) = run.of("session")
    seen = len(run.events)
    kill(session["driver_pid"], session["jvm_pid"])
    wait_until_live(run, seen)


def _kill_the_jvm(run: Running, shop: Shop) -> None:
    _wait_until_taken(run, shop)
    run.kill_the_jvm(lambda: shop.send(100))
    _wait_until_taken(run, shop)
    seen = len(run.events)
    run.wait_for("an update", lambda event: event["event"] == "update" and event["state"] == "completed", seen)


def _wait_until_taken(run: Running, shop: Shop) -> None:
    wait_until(
        lambda: all(run.rows(flow) == shop.sent for flow in ("orders", "copied")),
        f"{shop.sent} rows in each flow",
        WAIT_S,
        lambda: str(run.events[-20:]),
    )


def _check_tables(shop: Shop, directory: Path) -> None:
    with spark.session(directory, jars=peers.delta_jars(), settings=DELTA) as session:
        warehouse = shop.project / "storage" / "warehouse"
        orders = session.read.format("delta").load(str(warehouse / "orders"))
        assert sorted(row["number"] for row in orders.collect()) == shop.numbers
        counts = session.read.format("delta").load(str(warehouse / "counts"))
        assert sum(row["orders"] for row in counts.collect()) == shop.sent
