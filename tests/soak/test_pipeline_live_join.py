"""Live mode with a flow that joins a materialized view: it reads the rows of the last refresh, and it is started again
when these have changed, and not otherwise.

Prices of products come in a topic; a materialized view has the last one of each. Orders come in another topic, and are
written to a third one with the price of their product.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek.testing import Cluster
from support.loads.data_load import CLIENT
from support.peers.librdkafka_reader import read_by_librdkafka
from support.spark.live_pipelines import wait_for_batch, wait_until_drained, wait_until_live
from support.spark.pipelines import Running, make_project, running
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

DEFINITIONS = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()
OPTIONS = {"kafka.bootstrap.servers": spark.conf.get("spark.shop.bootstrap")}


def values(topic: str) -> DataFrame:
    rows = spark.readStream.format("odradek").options(**OPTIONS, subscribe=topic, startingOffsets="earliest").load()
    return rows.select(F.col("key").cast("string").alias("key"), F.col("value").cast("string").alias("value"), "offset")


@dp.table
def changes() -> DataFrame:
    return values("prices").selectExpr("key AS product", "CAST(value AS INT) AS price", "offset")


@dp.materialized_view(spark_conf={"pipelines.trigger.interval": "1 second"})
def prices() -> DataFrame:
    return spark.read.table("changes").groupBy("product").agg(F.expr("max_by(price, offset) AS price"))


dp.create_sink("priced", "odradek", {**OPTIONS, "topic": "priced", "delivery": "exactly-once", "sinkId": "priced"})


@dp.append_flow(target="priced")
def price() -> DataFrame:
    orders = values("orders").selectExpr("key AS product", "value AS id")
    rows = orders.join(spark.read.table("prices"), "product", "left")
    return rows.selectExpr("id AS key", "CAST(price AS STRING) AS value")
"""


class Shop:
    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._producer = Producer({"bootstrap.servers": bootstrap, **CLIENT})

    def send(self, topic: str, key: str, value: str) -> None:
        self._producer.produce(topic, value.encode(), key=key.encode())
        assert self._producer.flush(60) == 0

    def priced(self) -> dict[str, str]:
        """Return the price of each order."""
        records = read_by_librdkafka(self.bootstrap, "priced", 1, isolation_level="read_committed")
        found = {str(record.key, "utf-8"): str(record.value or b"", "utf-8") for record in records if record.key}
        assert len(found) == len(records), "an order is there twice"
        return found


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Cluster() as cluster:
        for topic in ("prices", "orders", "priced"):
            cluster.create_topic(topic)
        yield Shop(cluster.bootstrap)


def starts(run: Running) -> int:
    return sum(1 for event in run.of("flow") if event["flow"] == "price" and event["state"] == "running")


def set_price(shop: Shop, run: Running, price: int, *, is_new: bool = True) -> None:
    """Send it, and wait until the view has been computed with it, and the flow that joins it runs again."""
    seen, before = len(run.events), starts(run)
    shop.send("prices", "book", str(price))
    wait_for_batch(run, "changes", seen)
    seen = len(run.events)
    run.wait_for("a refresh", lambda event: bool(event["event"] == "refresh"), seen)
    if is_new:
        wait_until(lambda: starts(run) == before + 1, "the flow is started again", 300, lambda: str(run.events[-20:]))


def order(shop: Shop, run: Running, name: str) -> None:
    """Send it, and wait until it has its price."""
    seen = len(run.events)
    shop.send("orders", "book", name)
    wait_for_batch(run, "price", seen)


def test_a_flow_that_joins_a_view(shop: Shop, tmp_path: Path) -> None:
    spec = f"configuration: {json.dumps({'spark.shop.bootstrap': shop.bootstrap})}\n"
    project = make_project(tmp_path / "shop", {"a.py": DEFINITIONS}, spec)
    live = ("--continuous", "--master", "local[2]")
    with running(project, *live) as run:
        wait_until_live(run)
        wait_until_drained(run)
        assert starts(run) == 1, "the view was empty and is empty"
        set_price(shop, run, 10)
        order(shop, run, "first")
        set_price(shop, run, 12)
        for number in range(5):  # orders do not change the view
            order(shop, run, f"more-{number}")
        set_price(shop, run, 12, is_new=False)  # nor does the same price
        order(shop, run, "last")
        assert starts(run) == 3
        assert not run.of("restart"), "no flow failed"
        assert run.stop() == 0
    with running(project, *live) as run:
        wait_until_live(run)
        wait_until_drained(run)
        order(shop, run, "next")
        assert starts(run) == 1, "the view is as it was"
        assert run.stop() == 0
    expected = {"first": "10", "last": "12", "next": "12", **{f"more-{number}": "12" for number in range(5)}}
    assert shop.priced() == expected
