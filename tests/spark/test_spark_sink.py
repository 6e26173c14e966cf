"""The same rows written with our data source and with Spark's own connector, to a node of ours and to Apache Kafka: the
same records in the same partitions, the same refusals. confluent-kafka reads them; Spark's connector on Apache Kafka
says what is right."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from support.loads.data_load import CLIENT, bootstrap_of
from support.peers.librdkafka_reader import read_by_librdkafka
from support.processes.nodes import Kind, one_of_each_kind
from support.spark.session import connector_jars, session
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

_PARTITIONS = 3

#: That a task of Python is given.
_ROWS_AT_ONCE = "spark.sql.execution.arrow.maxRecordsPerBatch"

#: Partition, key, value, headers.
TaskResult = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


@dataclass(frozen=True, slots=True)
class Way:
    """A connector on a cluster."""

    form: str
    kind: Kind


TRUTH = Way("kafka", Kind.KAFKA)
OTHERS = (Way("odradek", Kind.ODRADEK), Way("odradek", Kind.KAFKA))


@dataclass
class World:
    spark: SparkSession
    bootstraps: dict[Kind, str]
    directory: Path

    def topic(self, way: Way, name: str, **config: str) -> str:
        topic = f"{name}-{way.form}"
        admin = self.admin(way)
        admin.create_topics([NewTopic(topic, _PARTITIONS, 1, config=config)])[topic].result(60)
        return topic

    def admin(self, way: Way) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstraps[way.kind], **CLIENT})

    def write(self, way: Way, rows: DataFrame, **options: str) -> None:
        writer = rows.write.format(way.form).option("kafka.bootstrap.servers", self.bootstraps[way.kind])
        writer.options(**options).mode("append").save()

    def each_way(self, work: Callable[[Way], object]) -> list[object]:
        """One after the other: Spark knows data sources in Python by the session of the thread."""
        return [work(way) for way in (TRUTH, *OTHERS)]

    def records(self, way: Way, topic: str) -> list[TaskResult]:
        """What is committed, partition by partition."""
        found = read_by_librdkafka(
            self.bootstraps[way.kind], topic, _PARTITIONS, tolerates_errors=False, isolation_level="read_committed"
        )
        return [(seen.partition, seen.key, seen.value, seen.headers) for seen in found]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("spark-sink")
    with ExitStack() as stack:
        clusters = stack.enter_context(one_of_each_kind(directory))
        spark = stack.enter_context(session(directory / "spark", jars=connector_jars()))
        bootstraps = {kind: bootstrap_of(cluster) for kind, cluster in clusters.items()}
        for each in bootstraps.values():
            wait_until(lambda each=each: AdminClient({"bootstrap.servers": each}).list_topics(timeout=5), "it answers")  # type: ignore[misc]
        yield World(spark, bootstraps, directory)


def _rows(spark: SparkSession) -> DataFrame:
    """Keys of all lengths, tombstones, headers with and without values, values that are not ASCII; in one task."""
    headers = f.array(
        f.struct(f.lit("n").alias("key"), f.col("id").cast("string").cast("binary").alias("value")),
        f.struct(f.lit("null").alias("key"), f.lit(None).cast("binary").alias("value")),
    )
    return spark.range(0, 3_000, numPartitions=1).select(
        f.concat(f.repeat(f.lit("k"), (f.col("id") % 11).cast("int")), f.col("id").cast("string")).alias("key"),
        f.when(f.col("id") % 7 == 0, None).otherwise(f.concat(f.lit("größe "), f.col("id"))).alias("value"),
        f.when(f.col("id") % 3 == 0, headers).alias("headers"),
        f.when(f.col("id") % 5 == 0, (f.col("id") % _PARTITIONS).cast("int")).alias("partition"),
    )


def test_the_same_records_in_the_same_partitions(world: World) -> None:
    rows = _rows(world.spark)

    def write(way: Way) -> list[TaskResult]:
        topic = world.topic(way, "same")
        world.write(way, rows, topic=topic)
        return world.records(way, topic)

    expected, *others = world.each_way(write)
    assert len(expected) == 3_000  # type: ignore[arg-type]
    for found in others:
        assert found == expected


@pytest.mark.parametrize(
    ("delivery", "codec"),
    [("at-least-once", "gzip"), ("idempotent", "lz4"), ("idempotent", "snappy"), ("exactly-once", "zstd")],
)
def test_every_delivery_and_codec_writes_the_same(world: World, delivery: str, codec: str) -> None:
    for way in OTHERS:
        topic = world.topic(way, f"{delivery}-{codec}")
        options = {"topic": topic, "delivery": delivery, "kafka.compression.type": codec, "sinkId": topic}
        world.write(way, world.spark.range(1_000).selectExpr("string(id) AS key", "string(id) AS value"), **options)
        found = world.records(way, topic)
        assert sorted(int(value or b"") for _, _, value, _ in found) == list(range(1_000))
        assert all(key == value for _, key, value, _ in found)


def test_a_column_says_the_topic(world: World) -> None:
    def write(way: Way) -> list[list[TaskResult]]:
        topics = [world.topic(way, name) for name in ("even", "odd")]
        name = f.when(f.col("id") % 2 == 0, f.lit(topics[0])).otherwise(f.lit(topics[1]))
        key = f.col("id").cast("string")
        world.write(
            way, world.spark.range(0, 100, 1, 1).select(key.alias("key"), key.alias("value"), name.alias("topic"))
        )
        return [world.records(way, topic) for topic in topics]

    expected, *others = world.each_way(write)
    assert [expected] * len(others) == others


def test_rows_without_keys_are_all_there_and_reach_all_partitions(world: World) -> None:
    rows = world.spark.range(0, 5_000, 1, 1).select(f.rpad(f.col("id").cast("string"), 1_000, " ").alias("value"))
    for way in OTHERS:
        topic = world.topic(way, "keyless")
        world.write(way, rows, topic=topic)
        found = world.records(way, topic)
        assert sorted(int(value or b"") for _, _, value, _ in found) == list(range(5_000))
        assert {partition for partition, _, _, _ in found} == set(range(_PARTITIONS))


def test_no_rows_are_no_records(world: World) -> None:
    for way in OTHERS:
        topic = world.topic(way, "empty")
        rows = world.spark.range(10).where("id < 0").selectExpr("string(id) AS value")
        world.write(way, rows, topic=topic, delivery="exactly-once", sinkId="empty")
        assert world.records(way, topic) == []


def test_a_topic_is_made_where_the_cluster_makes_topics(world: World) -> None:
    for way in OTHERS:
        world.write(way, world.spark.range(1).selectExpr("string(id) AS value"), topic=f"made-{way.kind.value}")


@pytest.mark.parametrize(
    ("select", "options", "reason"),
    [
        (["string(id) AS value"], {}, "topic option required when no 'topic' attribute is present"),
        (["string(id) AS key"], {"topic": "t"}, "Required attribute 'value' not found"),
        (["id AS value"], {"topic": "t"}, "value attribute unsupported type bigint"),
        (["string(id) AS value", "id AS key"], {"topic": "t"}, "key attribute unsupported type bigint"),
        (["string(id) AS value", "id AS partition"], {"topic": "t"}, "partition attribute unsupported type bigint"),
        (["string(id) AS value", "string(null) AS topic"], {}, "contains a null topic. Use the `topic` option"),
    ],
)
def test_what_cannot_be_written_is_refused_in_the_same_words(
    world: World, select: list[str], options: dict[str, str], reason: str
) -> None:
    def refusal(way: Way) -> str:
        with pytest.raises((PySparkException, Py4JJavaError)) as refused:
            world.write(way, world.spark.range(1).selectExpr(*select), **options)
        return str(refused.value)

    assert all(reason in str(told) for told in world.each_way(refusal))


def test_a_record_larger_than_a_request_is_refused(world: World) -> None:
    way = OTHERS[0]
    topic = world.topic(way, "large")
    rows = world.spark.range(1).select(f.repeat(f.lit("x"), 50_000).alias("value"))
    with pytest.raises(PySparkException, match=r"kafka\.max\.request\.size is 20000"):
        world.write(way, rows, topic=topic, **{"kafka.max.request.size": "20000"})


def test_overwriting_is_refused(world: World) -> None:
    rows = world.spark.range(1).selectExpr("string(id) AS value")
    with pytest.raises(PySparkException, match="a topic cannot be overwritten"):
        rows.write.format("odradek").option("kafka.bootstrap.servers", "localhost:1").option("topic", "t").mode(
            "overwrite"
        ).save()


@pytest.mark.parametrize(
    ("way", "delivery"), [(OTHERS[0], "idempotent"), (OTHERS[0], "exactly-once"), (OTHERS[1], "exactly-once")]
)
def test_streams_copy_topics(world: World, way: Way, delivery: str) -> None:
    source, topic = (world.topic(way, f"{name}-{delivery}") for name in ("source", "copy"))
    world.write(way, _rows(world.spark).drop("partition", "headers"), topic=source)
    _copy(world, way, source, topic, delivery)
    assert sorted(world.records(way, topic)) == sorted(world.records(way, source))


def _copy(world: World, way: Way, source: str, topic: str, delivery: str) -> None:
    rows = (
        world.spark.readStream.format("odradek")
        .option("kafka.bootstrap.servers", world.bootstraps[way.kind])
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "2000")
        .load()
    )
    query = (
        rows.select("key", "value")
        .writeStream.format("odradek")
        .option("kafka.bootstrap.servers", world.bootstraps[way.kind])
        .option("topic", topic)
        .option("delivery", delivery)
        .option("checkpointLocation", str(world.directory / f"checkpoint-{way.kind.value}-{delivery}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


@pytest.mark.parametrize("way", OTHERS)
def test_a_stream_that_is_stopped_before_any_task_has_ended_leaves_nothing_open(world: World, way: Way) -> None:
    """The first rows are large enough to be sent on, and the next one takes longer than any test."""
    topic = world.topic(way, "stopped")
    rows = world.spark.readStream.format("rate").option("rowsPerSecond", "100").load()
    sleep = "reflect('java.lang.Thread', 'sleep', 3600000L)"
    world.spark.conf.set(_ROWS_AT_ONCE, "1")
    query = (
        rows.selectExpr(f"IF(value < 30, RPAD(value, 10000, '.'), {sleep}) AS value")
        .writeStream.format("odradek")
        .option("kafka.bootstrap.servers", world.bootstraps[way.kind])
        .option("topic", topic)
        .option("delivery", "exactly-once")
        .option("checkpointLocation", str(world.directory / topic / way.kind.value))
        .start()
    )
    world.spark.conf.unset(_ROWS_AT_ONCE)
    wait_until(lambda: _open_records(world, way, topic) > 0, "a transaction is open", 120)
    query.stop()
    wait_until(lambda: _open_records(world, way, topic) == 0, "it is aborted", 120)
    assert world.records(way, topic) == []


def _open_records(world: World, way: Way, topic: str) -> int:
    """Up to the end, from the first that those who read what is committed have to wait for."""
    wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(_PARTITIONS)}
    admin = world.admin(way)
    found = (
        admin.list_offsets(wanted, isolation_level=level)
        for level in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED)
    )
    ends, stable = (sum(each.result(60).offset for each in offsets.values()) for offsets in found)
    return ends - stable
