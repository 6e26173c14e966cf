"""Streams that are started on topics under load, and what they must have read: every record from where they began."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, OffsetSpec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from support.peers.librdkafka_reader import read_by_librdkafka
from support.spark.reads import option_texts
from support.spark.session import connector_jars
from support.waiting import Hopeless, wait_until

_TIMEOUT_S = 60
WAIT_S = 300

#: Of the load: so many records at once, so often.
_BURST_RECORDS = 10
_PAUSE_S = 0.05

#: Topic, partition and offset.
Position = tuple[str, int, int]
Partition = tuple[str, int]


def jars_for(form: str) -> list[Path]:
    return connector_jars() if form == "kafka" else []


class Load:
    """Writes numbered records into all partitions of its topics until it is stopped."""

    def __init__(self, bootstrap: str, partitions: Mapping[str, int]) -> None:
        self.bootstrap = bootstrap
        self.partitions = dict(partitions)
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._stopping = threading.Event()
        self._writing = threading.Thread(target=self._write)

    def grow(self, topic: str, partitions: int) -> None:
        """Add partitions, and write into them as soon as they are there."""
        self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(_TIMEOUT_S)
        wait_until(lambda: self._count(topic) == partitions, f"{topic} has {partitions} partitions")
        self.partitions[topic] = partitions

    def ends(self) -> dict[Partition, int]:
        """Log end offsets."""
        partitions = [(topic, number) for topic, count in dict(self.partitions).items() for number in range(count)]
        latest = self._admin.list_offsets({TopicPartition(*partition): OffsetSpec.latest() for partition in partitions})
        return {(each.topic, each.partition): offset.result(_TIMEOUT_S).offset for each, offset in latest.items()}

    def wait_for(self, records: int) -> None:
        """Until each partition has so many more."""
        before = self.ends()
        wait_until(
            lambda: all(self.ends()[each] >= end + records for each, end in before.items()), f"{records} more records"
        )

    def stop(self) -> None:
        self._stopping.set()
        self._writing.join()

    def start(self) -> None:
        self._writing.start()

    def records(self) -> dict[Position, tuple[int, bytes | None]]:
        """Timestamp and value of everything that was written; when it is stopped."""
        return {
            (topic, seen.partition, seen.offset): (seen.timestamp_ms, seen.value)
            for topic, count in self.partitions.items()
            for seen in read_by_librdkafka(self.bootstrap, topic, count)
        }

    def _count(self, topic: str) -> int:
        return len(self._admin.list_topics(topic, timeout=_TIMEOUT_S).topics[topic].partitions)

    def _write(self) -> None:
        number = 0
        while not self._stopping.is_set():
            # A producer of librdkafka learns of new partitions late.
            producer, partitions = (
                Producer({"bootstrap.servers": self.bootstrap, "log_level": 0}),
                dict(self.partitions),
            )
            while partitions == self.partitions and not self._stopping.wait(_PAUSE_S):
                for topic, count in partitions.items():
                    for _ in range(_BURST_RECORDS):
                        number += 1
                        producer.produce(topic, b"%d" % number, partition=number % count)
                producer.poll(0)
            assert producer.flush(_TIMEOUT_S) == 0


@contextmanager
def under_load(bootstrap: str, partitions: Mapping[str, int]) -> Iterator[Load]:
    load = Load(bootstrap, partitions)
    load.start()
    try:
        load.wait_for(1)
        yield load
    finally:
        load.stop()


@dataclass(frozen=True, slots=True)
class Start:
    """A way to start a stream."""

    name: str
    options: Mapping[str, Any]
    trigger: Mapping[str, Any] = field(default_factory=lambda: {"processingTime": "0 seconds"})


def frame(spark: SparkSession, form: str, bootstrap: str, options: Mapping[str, Any]) -> DataFrame:
    reader = spark.readStream.format(form).option("kafka.bootstrap.servers", bootstrap)
    return reader.options(**option_texts(options)).load().select("topic", "partition", "offset", "value")


class Run:
    """A query that keeps its rows by batch, so that a batch that Spark repeats counts once."""

    def __init__(self, spark: SparkSession, form: str, load: Load, start: Start, checkpoint: Path) -> None:
        self.start = start
        self._batches: dict[int, list[tuple[Position, bytes | None]]] = {}
        #: Log end offsets before the stream was started, and when its first batch was seen to be done.
        self.before = load.ends()
        self.after: dict[Partition, int] = {}
        writer = frame(spark, form, load.bootstrap, start.options).writeStream.foreachBatch(self._keep)
        self.query: StreamingQuery = (
            writer.option("checkpointLocation", str(checkpoint)).trigger(**start.trigger).start()
        )

    def _keep(self, rows: DataFrame, batch: int) -> None:
        self._batches[batch] = [((row[0], row[1], row[2]), bytes(row[3])) for row in rows.collect()]

    def wait_for_first_batch(self, load: Load) -> None:
        self._wait_until(lambda: bool(self._batches) and bool(self.query.recentProgress), "first batch")
        self.after = load.ends()

    def wait_for_rows(self, count: int) -> None:
        self._wait_until(lambda: len(self.rows()) >= count, f"{count} rows")

    def finish(self) -> None:
        """When all there is was read."""
        if "availableNow" in self.start.trigger:
            self._wait_until(lambda: not self.query.isActive, "the end")
        else:
            self.query.processAllAvailable()
            self.query.stop()

    def rows(self) -> list[tuple[Position, bytes | None]]:
        return sorted(row for rows in list(self._batches.values()) for row in rows)

    def begins(self) -> dict[Partition, int]:
        found: dict[Partition, int] = {}
        for (topic, partition, offset), _ in self.rows():
            found.setdefault((topic, partition), offset)
        return found

    def _wait_until(self, is_so: Any, what: str) -> None:
        def look() -> bool:
            failure = self.query.exception()
            if failure is not None:
                raise Hopeless(f"{self.start.name}: {failure}")
            return bool(is_so())

        wait_until(look, f"{self.start.name}: {what}", WAIT_S)
