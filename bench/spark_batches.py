"""The fixed cost of a micro-batch: plain streams over a topic with many partitions, in batches of few records.

A stream reads a topic that is full, `PER_TRIGGER` records at a time, until it has read all of it, so that one batch
follows the other without a pause. A figure is the median of Spark's own `triggerExecution` of the batches after the
first few. Both connectors take turns in one session, as in `spark_connectors`.
"""

import statistics
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from beside import Effort, running, servers_of
from flows import new_topic_name
from loads import create_topic, delete_topic
from loads import produce as fill
from quorums import bytecode
from rows import Row
from spark_connectors import FORMATS, Bench, spark_session
from support.processes.nodes import Kind

PARTITIONS = 12
PER_TRIGGER = 1_000
_BATCHES = 40
#: Batches at the beginning of a stream that start Python workers and connect them.
_WARM_UP = 5
_RECORD_BYTES = 200
_NODES = 3


def run(effort: Effort) -> Iterator[Row]:
    with bytecode(), spark_session() as (spark, directory), running(Kind.ODRADEK, _NODES) as cluster:
        bench = Bench(spark, servers_of(cluster), directory, effort.rounds, "")
        topic = f"spark-{new_topic_name()}"
        create_topic(bench.servers, topic, PARTITIONS)
        fill(bench.servers, topic, _BATCHES * PER_TRIGGER, _RECORD_BYTES, "all", list(cluster.nodes.values()))
        what = f"{PER_TRIGGER:,} records of {PARTITIONS} partitions"
        yield _in_turn(bench, f"micro-batch of {what}, topic to topic", topic, is_parquet=False)
        yield _in_turn(bench, f"micro-batch of {what}, topic to Parquet", topic, is_parquet=True)


def _in_turn(bench: Bench, operation: str, topic: str, *, is_parquet: bool) -> Row:
    """The first round does not count."""
    measured: dict[str, list[float]] = {name: [] for name in FORMATS}
    for nth in range(bench.rounds + 1):
        for name in FORMATS:
            batch_ms = (_to_parquet if is_parquet else _to_topic)(bench, name, topic)
            if nth:
                measured[name].append(batch_ms)
    ours, peer = (statistics.median(measured[name]) for name in FORMATS)
    return Row(
        operation=operation, ours=ours, peer=peer, unit="ms", is_rate=False, note="", beside="Spark's own connector"
    )


def _to_topic(bench: Bench, name: str, source: str) -> float:
    target = f"spark-{new_topic_name()}"
    create_topic(bench.servers, target, PARTITIONS)
    writer = _rows(bench, name, source).select("key", "value").writeStream.format(name)
    batch_ms = _batch_ms(bench, writer.options(**bench.options()).option("topic", target), target)
    delete_topic(bench.servers, target)
    return batch_ms


def _to_parquet(bench: Bench, name: str, source: str) -> float:
    place = f"rows-{new_topic_name()}"
    writer = _rows(bench, name, source).writeStream.format("parquet").option("path", str(bench.directory / place))
    return _batch_ms(bench, writer, f"{place}-checkpoint")


def _rows(bench: Bench, name: str, source: str) -> DataFrame:
    reader = bench.spark.readStream.format(name).options(**bench.options()).option("subscribe", source)
    return reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", PER_TRIGGER).load()


def _batch_ms(bench: Bench, writer: DataStreamWriter, checkpoint: str) -> float:
    query = writer.option("checkpointLocation", str(bench.directory / checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    progress: list[Any] = [each for each in query.recentProgress if each["numInputRows"]]
    assert sum(each["numInputRows"] for each in progress) == _BATCHES * PER_TRIGGER
    return float(statistics.median(each["durationMs"]["triggerExecution"] for each in progress[_WARM_UP:]))
