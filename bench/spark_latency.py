"""How long a record takes from topic to topic through a stream of Spark: with the data source `odradek`, with Spark's
own connector, and with the connector in real-time mode.

The streams are long-running, with the default trigger (a micro-batch after the other) or `trigger(realTime=…)`, in one
session with two task slots; topics have as many partitions. A load of a steady rate goes through each of them, and
its records are timed from the producer's call to the consumer's (`spark_load`). The streams of a line take turns, with
each its own topics; a line is the median of the rounds. Before the first line each stream has run for a while, and its
load has a warm-up of its own: a JVM that has just started takes several times as long.

Spark's connector has no delivery of exactly once. Beside ours stands its at-least-once delivery.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from beside import Effort, running, servers_of
from flows import new_topic_name
from loads import create_topic, delete_topic
from quorums import bytecode
from rows import Row
from spark_connectors import Bench, spark_session
from support.processes.nodes import Kind

RATES = (1_000, 10_000)
PARTITIONS = 2
WARM_UP_S, SECONDS = 15.0, 30.0

#: The shortest that Spark allows: at its end a batch is committed; records do not wait for it.
_REAL_TIME = "5 seconds"
_LOAD = Path(__file__).with_name("spark_load.py")
_LOAD_TIMEOUT_S = 900


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream from topic to topic."""

    form: str
    sink_options: Mapping[str, str]
    is_real_time: bool = False
    isolation_level: str = "read_uncommitted"


OURS = Stream("odradek", {})
OURS_ONCE = Stream("odradek", {"delivery": "exactly-once"}, isolation_level="read_committed")
CONNECTOR = Stream("kafka", {})
CONNECTOR_REAL_TIME = Stream("kafka", {}, is_real_time=True)


@dataclass(frozen=True, slots=True)
class Line:
    """What is compared: a stream of ours, and the one beside it with the heading of its column."""

    delivery: str
    ours: Stream
    peer: Stream
    beside: str


LINES = (
    Line("at least once", OURS, CONNECTOR, "Spark's own connector"),
    Line("exactly once", OURS_ONCE, CONNECTOR, "Spark's own connector"),
)
REAL_TIME_LINES = (Line("at least once", OURS, CONNECTOR_REAL_TIME, "the connector in real-time mode"),)


def run(effort: Effort) -> Iterator[Row]:
    yield from _lines(effort, LINES)


def real_time(effort: Effort) -> Iterator[Row]:
    yield from _lines(effort, REAL_TIME_LINES)


def _lines(effort: Effort, lines: Sequence[Line]) -> Iterator[Row]:
    with bytecode(), spark_session() as (spark, directory):
        for kind, where in ((Kind.ODRADEK, ""), (Kind.KAFKA, ", on Apache Kafka's broker")):
            with running(kind) as cluster:
                bench = Bench(spark, servers_of(cluster), directory, effort.rounds, where)
                for stream in _streams(lines):
                    measure(bench, stream, RATES[0], effort)
                for rate in RATES:
                    yield from _at_rate(bench, rate, effort, lines)


def _at_rate(bench: Bench, rate: int, effort: Effort, lines: Sequence[Line]) -> Iterator[Row]:
    streams = _streams(lines)
    rounds = [[measure(bench, stream, rate, effort) for stream in streams] for _ in range(bench.rounds)]
    for line in lines:
        for percentile in ("p50", "p99"):
            values = [
                statistics.median(found[streams.index(stream)][percentile] for found in rounds)
                for stream in (line.ours, line.peer)
            ]
            yield Row(
                operation=f"topic to topic at {rate:,} records/s, {line.delivery}, {percentile}{bench.where}",
                ours=values[0],
                peer=values[1],
                unit="ms",
                is_rate=False,
                note="",
                beside=line.beside,
            )


def _streams(lines: Sequence[Line]) -> list[Stream]:
    """Return the streams of the lines, each once."""
    found: list[Stream] = []
    for line in lines:
        found += [stream for stream in (line.ours, line.peer) if stream not in found]
    return found


def measure(bench: Bench, stream: Stream, rate: int, effort: Effort) -> dict[str, float]:
    """Return the percentiles of one stream under one load, in milliseconds."""
    source, target = f"latency-{new_topic_name()}", f"latency-{new_topic_name()}"
    for topic in (source, target):
        create_topic(bench.servers, topic, PARTITIONS)
    seconds = [str(WARM_UP_S * max(effort.share, 0.5)), str(SECONDS * effort.share)]
    with started(bench, stream, source, target) as query:
        load = [sys.executable, str(_LOAD), bench.servers, source, target, str(PARTITIONS), str(rate), *seconds]
        done = subprocess.run(
            [*load, stream.isolation_level], capture_output=True, text=True, timeout=_LOAD_TIMEOUT_S, check=False
        )
        failure = query.exception()
        assert failure is None, f"{stream}: {failure}"
        assert done.returncode == 0, f"{stream}: {done.stderr}"
    for topic in (source, target):
        delete_topic(bench.servers, topic)
    found: dict[str, float] = json.loads(done.stdout)
    assert not found["duplicates"], f"{stream}: {found}"
    return found


@contextmanager
def started(bench: Bench, stream: Stream, source: str, target: str) -> Iterator[StreamingQuery]:
    reader = bench.spark.readStream.format(stream.form).options(**bench.options())
    rows = reader.option("subscribe", source).option("startingOffsets", "earliest").load().select("key", "value")
    writer = rows.writeStream.format(stream.form).options(**bench.options(), **stream.sink_options)
    writer = writer.option("topic", target).option("checkpointLocation", str(bench.directory / target))
    if stream.is_real_time:
        writer = writer.outputMode("update").trigger(realTime=_REAL_TIME)  # type: ignore[call-overload]
    query = writer.start()
    try:
        yield query
    finally:
        query.stop()
