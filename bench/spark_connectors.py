"""Spark jobs with the data source `odradek` beside the same jobs with Spark's own Kafka connector, in one session.

One word differs between the two: the format. Both are warm when they are measured, and take turns in each round, so
that they are disturbed alike; a line is the median of the rounds. What a job did is checked each time: how many records
it read, or how many are in the topic that it wrote.

A read is an aggregate over every column (`_EVERY_COLUMN`): a sink that takes rows without looking at them would not
make a columnar data source produce them. Settings are the defaults of Spark and of both connectors, except for the
memory of the driver, in which the jobs run.
"""

import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from beside import Effort, running, servers_of
from brokers import timed
from flows import new_topic_name
from loads import create_topic, delete_topic
from loads import produce as fill
from quorums import bytecode
from rows import Row
from support.processes.nodes import Cluster, Kind
from support.spark.session import connector_jars, session
from timing import scratch_directory

FORMATS = ("odradek", "kafka")
#: Records of a size that are read.
COUNTS = {100: 6_000_000, 1_000: 1_000_000}
#: The size that is also streamed and written.
STREAMED_BYTES = 1_000
PER_TRIGGER = 100_000
PARTITIONS = 4

#: In a hurry only so many of the records: a JVM is slow to warm up.
_HURRY = 10
_KEY_BYTES = 10
_SETTINGS = {"spark.driver.memory": "3g", "spark.driver.extraJavaOptions": "-XX:+UseG1GC"}


@dataclass(frozen=True, slots=True)
class Bench:
    spark: SparkSession
    servers: str
    directory: Path
    rounds: int
    #: Whose broker it is, in the lines.
    where: str

    def options(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.servers}


#: Bench, format, topic, how many records -> seconds
Job = Callable[[Bench, str, str, int], float]


def run(effort: Effort) -> Iterator[Row]:
    part = _HURRY if effort.share < 1 else 1
    with bytecode(), spark_session() as (spark, directory):
        for kind, where in ((Kind.ODRADEK, ""), (Kind.KAFKA, ", on Apache Kafka's broker")):
            with running(kind) as cluster:
                yield from lines(Bench(spark, servers_of(cluster), directory, effort.rounds, where), cluster, part)


@contextmanager
def spark_session() -> Iterator[tuple[SparkSession, Path]]:
    with (
        tempfile.TemporaryDirectory(prefix="odradek-bench-", dir=scratch_directory()) as place,
        session(Path(place), jars=connector_jars(), settings=_SETTINGS) as spark,
    ):
        yield spark, Path(place)


def lines(bench: Bench, cluster: Cluster, part: int) -> Iterator[Row]:
    for size, full in COUNTS.items():
        records = full // part
        what = f"{records:,} x {size:,} B"
        with new_topic(bench) as topic:
            fill(bench.servers, topic, records, size, "all", list(cluster.nodes.values()))
            yield in_turn(bench, f"batch read of {what}", read, topic, records)
            if size == STREAMED_BYTES:
                yield in_turn(bench, f"topic to topic, {what}, {PER_TRIGGER:,} a trigger", stream, topic, records)
                yield in_turn(bench, f"batch write of {what}", write, topic, records)


def in_turn(bench: Bench, operation: str, job: Job, topic: str, records: int) -> Row:
    """The first time does not count."""
    found: dict[str, list[float]] = {name: [] for name in FORMATS}
    for nth in range(bench.rounds + 1):
        for name in FORMATS:
            spent_s = job(bench, name, topic, records)
            if nth:
                found[name].append(spent_s)
    ours, peer = (statistics.median(found[name]) for name in FORMATS)
    return Row(
        operation=f"{operation}{bench.where}",
        ours=ours,
        peer=peer,
        unit="s",
        is_rate=False,
        note="",
        beside="Spark's own connector",
    )


def read(bench: Bench, name: str, topic: str, records: int) -> float:
    rows = bench.spark.read.format(name).options(**bench.options()).option("subscribe", topic).load()
    every_column = [f.max(column) for column in ("topic", "partition", "offset", "timestamp", "timestampType")]
    every_column += [f.max(f.length("key")), f.sum(f.length("value")), f.count("value")]
    found: list[int] = []
    spent_s = timed(lambda: found.extend(rows.agg(*every_column).collect()[0][-1:]))
    assert found == [records], f"{name} read {found} of {records} records"
    return spent_s


def stream(bench: Bench, name: str, source: str, records: int) -> float:
    with new_topic(bench) as topic:
        reader = bench.spark.readStream.format(name).options(**bench.options()).option("subscribe", source)
        rows = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", PER_TRIGGER).load()
        writer = rows.select("key", "value").writeStream.format(name).options(**bench.options()).option("topic", topic)
        writer = writer.option("checkpointLocation", str(bench.directory / topic)).trigger(availableNow=True)
        spent_s = timed(lambda: writer.start().awaitTermination())
        check_count(bench, topic, records)
        return spent_s


def write(bench: Bench, name: str, _: str, records: int) -> float:
    with new_topic(bench) as topic:
        writer = made_up(bench.spark, records).write.format(name).options(**bench.options()).option("topic", topic)
        spent_s = timed(writer.mode("append").save)
        check_count(bench, topic, records)
        return spent_s


def made_up(spark: SparkSession, records: int) -> DataFrame:
    key = f.lpad(f.col("id").cast("string"), _KEY_BYTES, "0")
    value = f.concat(f.lit("x" * (STREAMED_BYTES - _KEY_BYTES)), key)
    return spark.range(records).select(key.alias("key"), value.alias("value"))


@contextmanager
def new_topic(bench: Bench) -> Iterator[str]:
    topic = f"spark-{new_topic_name()}"
    create_topic(bench.servers, topic, PARTITIONS)
    yield topic
    delete_topic(bench.servers, topic)


def check_count(bench: Bench, topic: str, records: int) -> None:
    consumer = Consumer({"bootstrap.servers": bench.servers, "group.id": "bench", "log_level": 0})
    try:
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, each))[1] for each in range(PARTITIONS)]
    finally:
        consumer.close()
    assert sum(ends) == records, f"{topic} has {sum(ends)} records, not {records}"
