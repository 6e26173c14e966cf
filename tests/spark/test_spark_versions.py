"""What may differ between versions of Spark: small enough to be run with every supported one (`make spark-versions`),
and with the installed one in `make test`."""

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from odradek.client.blocking.producer import Producer
from odradek.spark.installed_spark import spark_release
from odradek.spark.pipeline.check import check_project
from odradek.spark.pyspark_features import HAS_READ_LIMITS
from odradek.testing import Cluster
from support.peers import downloads as peers
from support.peers.librdkafka_reader import read_by_librdkafka
from support.spark import live_pipelines
from support.spark.live_pipelines import (
    COPIES,
    EVENTS,
    Load,
    check_contents,
    committed_keys,
    settings_of,
    view_rows,
    wait_until_drained,
    wait_until_live,
)
from support.spark.pipelines import make_project, running
from support.spark.session import session
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

PARTITIONS = 2
WAIT_S = 300

LIVE_EVENTS = 200

#: Minor versions of Spark for which there is a Delta.
HAS_DELTA = ("4.1", "4.2")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        yield made


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with session(tmp_path_factory.mktemp("spark-versions")) as made:
        yield made


def send(cluster: Cluster, topic: str, numbers: range) -> None:
    with Producer({"bootstrap.servers": cluster.bootstrap}) as producer:
        for number in numbers:
            producer.send(topic, f"value-{number}".encode(), key=f"key-{number}".encode())
        producer.flush()


def topic_of(cluster: Cluster, name: str, records: int = 0) -> str:
    cluster.create_topic(name, partitions=PARTITIONS)
    send(cluster, name, range(records))
    return name


def stream(spark: SparkSession, cluster: Cluster, topic: str, **options: str) -> DataFrame:
    reader = spark.readStream.format("odradek").option("kafka.bootstrap.servers", cluster.bootstrap)
    return reader.option("subscribe", topic).option("startingOffsets", "earliest").options(**options).load()


def keys_in(cluster: Cluster, topic: str) -> list[str]:
    records = read_by_librdkafka(cluster.bootstrap, topic, PARTITIONS, isolation_level="read_committed")
    return sorted((record.key or b"").decode() for record in records)


def keys(numbers: range) -> list[str]:
    return sorted(f"key-{number}" for number in numbers)


class Collected:
    """A stream into memory: the keys of each batch."""

    def __init__(self, rows: DataFrame, checkpoint: Path) -> None:
        self.batches: list[list[str]] = []
        self._writer = rows.writeStream.foreachBatch(self._collect).option("checkpointLocation", str(checkpoint))

    def _collect(self, rows: DataFrame, batch_id: int) -> None:
        self.batches.append(sorted(row.key.decode() for row in rows.select("key").collect()))

    def keys(self) -> list[str]:
        return sorted(key for batch in self.batches for key in batch)

    def take_all(self) -> list[str]:
        """Run up to the end of the topic and return the keys that were read."""
        self.batches.clear()
        query = self._writer.trigger(availableNow=True).start()
        assert query.awaitTermination(WAIT_S)
        return self.keys()

    def take_while_running(self, act: Callable[[], object], expected: list[str]) -> None:
        self.batches.clear()
        query = self._writer.trigger(processingTime="0 seconds").start()
        try:
            wait_until(lambda: query.recentProgress or query.exception(), "the stream has begun", WAIT_S)
            act()
            # Progress is reported when a batch is committed; one that is not would be read again.
            wait_until(
                lambda: query.exception() or sum(each.numInputRows for each in query.recentProgress) >= len(expected),
                "all is read and committed",
                WAIT_S,
                lambda: str(self.batches),
            )
        finally:
            query.stop()
        assert self.keys() == expected


def test_batch_reads(spark: SparkSession, cluster: Cluster) -> None:
    topic = topic_of(cluster, "batch-reads", 50)
    reader = spark.read.format("odradek").option("kafka.bootstrap.servers", cluster.bootstrap)
    rows = reader.option("subscribe", topic).option("includeHeaders", "true").load()
    assert sorted(row.key.decode() for row in rows.collect()) == keys(range(50))
    assert rows.filter(F.col("headers").isNotNull()).count() == 0
    some = reader.option("subscribe", topic).option("endingOffsets", f'{{"{topic}": {{"0": 3, "1": 4}}}}').load()
    assert some.groupBy("partition").count().orderBy("partition").collect() == [(0, 3), (1, 4)]


def test_stream_reads(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    topic = topic_of(cluster, "stream-reads", 30)
    collected = Collected(stream(spark, cluster, topic), tmp_path / "checkpoint")
    assert collected.take_all() == keys(range(30))
    send(cluster, topic, range(30, 40))
    assert collected.take_all() == keys(range(30, 40)), "it continues from its checkpoint"
    collected.take_while_running(lambda: send(cluster, topic, range(40, 60)), keys(range(40, 60)))
    assert collected.take_all() == []
    at_latest = Collected(stream(spark, cluster, topic, startingOffsets="latest"), tmp_path / "latest")
    at_latest.take_while_running(lambda: send(cluster, topic, range(60, 70)), keys(range(60, 70)))


def test_stream_read_limits(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    topic = topic_of(cluster, "limits", 40)
    limited = Collected(stream(spark, cluster, topic, maxOffsetsPerTrigger="10"), tmp_path / "checkpoint")
    if HAS_READ_LIMITS:
        assert limited.take_all() == keys(range(40))
        assert len(limited.batches) >= 4
        return
    with pytest.raises(StreamingQueryException, match=r"maxOffsetsPerTrigger requires Spark 4.2 or newer"):
        limited.take_all()


def test_writes(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    source, target = topic_of(cluster, "writes-source", 25), topic_of(cluster, "writes-target")
    rows = spark.range(0, 100).selectExpr("concat('key-', id) AS key", "concat('value-', id) AS value")
    options = {"kafka.bootstrap.servers": cluster.bootstrap, "topic": target}
    rows.write.format("odradek").options(**options).mode("append").save()
    assert keys_in(cluster, target) == keys(range(100))
    copies = stream(spark, cluster, source).select("key", "value")
    writer = copies.writeStream.format("odradek").options(**options, checkpointLocation=str(tmp_path / "copies"))
    assert writer.trigger(availableNow=True).start().awaitTermination(WAIT_S)
    assert Counter(keys_in(cluster, target)) == Counter(keys(range(100)) + keys(range(25)))


def test_exactly_once(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    """A batch that Spark repeats, because it did not come to log its commit, is not written twice."""
    source, target = topic_of(cluster, "once-source", 50), topic_of(cluster, "once-target")
    checkpoint = tmp_path / "once"

    def copy() -> None:
        rows = stream(spark, cluster, source).select("key", "value")
        writer = rows.writeStream.format("odradek").option("kafka.bootstrap.servers", cluster.bootstrap)
        writer = writer.option("topic", target).option("delivery", "exactly-once")
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        assert query.awaitTermination(WAIT_S)

    def forget_commit(batch_id: int) -> None:
        for name in (str(batch_id), f".{batch_id}.crc"):
            (checkpoint / "commits" / name).unlink()

    copy()
    assert keys_in(cluster, target) == keys(range(50))
    forget_commit(0)
    send(cluster, source, range(50, 80))
    copy()
    if not HAS_READ_LIMITS:
        assert keys_in(cluster, target) == keys(range(50)), "Spark 4.1 runs one batch, which is the repeated one"
        copy()
    assert keys_in(cluster, target) == keys(range(80))
    forget_commit(1)
    copy()
    assert keys_in(cluster, target) == keys(range(80))


DEFINITIONS = {
    "orders.py": """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()
OPTIONS = {"kafka.bootstrap.servers": spark.conf.get("spark.shop.bootstrap")}


@dp.table
def orders() -> DataFrame:
    topic = spark.conf.get("spark.shop.source")
    rows = spark.readStream.format("odradek").options(**OPTIONS, subscribe=topic, startingOffsets="earliest").load()
    return rows.selectExpr("CAST(key AS STRING) AS key", "partition")


TARGET = {**OPTIONS, "topic": spark.conf.get("spark.shop.target"), "delivery": "exactly-once", "sinkId": "copies"}
dp.create_sink("copies", "odradek", TARGET)


@dp.append_flow(target="copies")
def copied() -> DataFrame:
    return spark.readStream.table("orders").selectExpr("key", "key AS value")
""",
    "counts.sql": "CREATE MATERIALIZED VIEW counts AS SELECT partition, count(*) AS n FROM orders GROUP BY partition;",
}


def update_twice(cluster: Cluster, directory: Path, name: str, settings: dict[str, str]) -> None:
    source, target = topic_of(cluster, f"{name}-source", 40), topic_of(cluster, f"{name}-target")
    given = {"bootstrap": cluster.bootstrap, "source": source, "target": target}
    spec = {**{f"spark.shop.{key}": value for key, value in given.items()}, **settings}
    lines = "".join(f'  {key}: "{value}"\n' for key, value in spec.items())
    project = make_project(directory / name, DEFINITIONS, f"configuration:\n{lines}")
    assert check_project(str(project)).problems == ()
    for first, last in ((0, 40), (40, 60)):
        send(cluster, source, range(max(first, 40), last))
        with running(project, "--master", "local[2]") as run:
            assert run.end() == 0, run.events[-20:]
            assert run.rows("orders") == run.rows("copied") == last - first
        assert keys_in(cluster, target) == keys(range(last))


def test_pipeline(cluster: Cluster, tmp_path: Path) -> None:
    update_twice(cluster, tmp_path, "pipeline", {})


def test_live_pipeline(cluster: Cluster, tmp_path: Path) -> None:
    cluster.create_topic(EVENTS, partitions=PARTITIONS)
    cluster.create_topic(COPIES, partitions=live_pipelines.PARTITIONS)
    settings = settings_of(cluster.bootstrap)
    lines = "".join(f'  {key}: "{value}"\n' for key, value in settings.items())
    project = make_project(tmp_path / "live", live_pipelines.DEFINITIONS, f"configuration:\n{lines}")
    load = Load(cluster.bootstrap)
    with running(project, "--continuous", "--master", "local[2]") as run:
        wait_until_live(run)
        with load.producing(LIVE_EVENTS):
            pass
        wait_until_drained(run)
        wait_until(
            lambda: view_rows(project / "storage" / "warehouse" / "totals")[0]["numbers"] == LIVE_EVENTS,
            "the materialized view is refreshed",
            WAIT_S,
        )
        run.process.send_signal(signal.SIGINT)
        assert run.end() == 0, run.events[-20:]
    check_contents(project / "storage" / "warehouse", committed_keys(cluster.bootstrap), LIVE_EVENTS)


def test_delta(cluster: Cluster, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    settings = {
        "spark.sql.sources.default": "delta",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    release = spark_release()
    if release not in HAS_DELTA:
        lines = "".join(f'  {key}: "{value}"\n' for key, value in settings.items())
        project = make_project(tmp_path / "none", {"a.sql": "CREATE MATERIALIZED VIEW a AS SELECT 1 AS one;"})
        (project / "spark-pipeline.yml").write_text(
            (project / "spark-pipeline.yml").read_text() + f"configuration:\n{lines}"
        )
        (problem,) = check_project(str(project)).problems
        assert f"Delta had no build for Spark {release}" in str(problem)
        record_property("note", "no build")
        return
    jars = peers.delta_jars(release)
    update_twice(cluster, tmp_path, "delta", {**settings, "spark.jars": ",".join(map(str, jars))})
    (version,) = {jar.name.removesuffix(".jar").rpartition("-")[2] for jar in jars}
    record_property("note", f"{version} passed")
