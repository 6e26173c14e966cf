"""Batch reads as Spark's Kafka connector lets people say them, each with the number of rows that it must find."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import spark_partition_id

from support.spark.topics import (
    CODEC_RECORDS,
    CODECS,
    FIRST_MS,
    PLAIN_RECORDS,
    TRANSACTION_RECORDS,
    TRANSACTIONS,
    TRIMMED_BEFORE,
    TRIMMED_RECORDS,
)

CODEC_ROWS = len(CODECS) * CODEC_RECORDS
LATE_MS = FIRST_MS + PLAIN_RECORDS * 1000


@dataclass(frozen=True, slots=True)
class Read:
    name: str
    rows: int
    options: Mapping[str, Any]
    #: Columns that cannot be the same in two clusters.
    without: tuple[str, ...] = ()
    #: Whether the connector cuts such a read into the same tasks.
    same_tasks: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    schema: str
    rows: list[tuple[Any, ...]] = field(repr=False)
    #: The offsets of each task: topic, partition, first, last.
    tasks: list[tuple[str, int, int, int]]


READS = (
    Read("headers", PLAIN_RECORDS, {"subscribe": "plain", "includeHeaders": True}),
    Read("two topics", PLAIN_RECORDS + CODEC_ROWS, {"subscribe": "codecs, plain"}),
    Read("pattern", PLAIN_RECORDS + CODEC_ROWS, {"subscribePattern": "lain$|^cod|mpt"}),
    Read("pattern of nothing", 0, {"subscribePattern": "nothing-.*"}),
    Read("assign", PLAIN_RECORDS * 2 // 3, {"assign": {"plain": [0, 2]}}),
    Read("empty", 0, {"subscribe": "empty", "includeHeaders": True}),
    Read(
        "offsets",
        20 + 10 + 5,
        {
            "subscribe": "plain",
            "startingOffsets": {"plain": {"0": 10, "1": -2, "2": 25}},
            "endingOffsets": {"plain": {"0": -1, "1": 10, "2": 30}},
        },
    ),
    Read(
        "one timestamp",
        20,
        {"subscribe": "plain", "startingTimestamp": FIRST_MS + 40_000, "endingTimestamp": FIRST_MS + 60_000},
    ),
    Read(
        "timestamps",
        10 + 29 + 20,
        {
            "subscribe": "plain",
            "startingOffsetsByTimestamp": {"plain": {"0": FIRST_MS + 58_500, "1": FIRST_MS + 3_000, "2": FIRST_MS}},
            "endingOffsetsByTimestamp": {"plain": {"0": LATE_MS, "1": LATE_MS, "2": FIRST_MS + 59_001}},
        },
    ),
    Read(
        "a late timestamp",
        0,
        {
            "subscribe": "plain",
            "startingTimestamp": LATE_MS,
            "startingOffsetsByTimestampStrategy": "latest",
        },
    ),
    Read("codecs", CODEC_ROWS, {"subscribe": "codecs", "includeHeaders": True}),
    Read(
        "committed",
        (TRANSACTIONS + 1) // 2 * TRANSACTION_RECORDS,
        {"subscribe": "committed", "kafka.isolation.level": "read_committed"},
    ),
    Read("uncommitted", (TRANSACTIONS + 1) * TRANSACTION_RECORDS, {"subscribe": "committed"}),
    Read("split", PLAIN_RECORDS + CODEC_ROWS, {"subscribe": "plain,codecs", "minPartitions": 11}),
    Read("bounded", PLAIN_RECORDS, {"subscribe": "plain", "maxRecordsPerPartition": 8}, same_tasks=False),
    Read("trimmed", TRIMMED_RECORDS - TRIMMED_BEFORE, {"subscribe": "trimmed"}),
    Read(
        "lost and skipped",
        TRIMMED_RECORDS - TRIMMED_BEFORE,
        {"subscribe": "trimmed", "startingOffsets": {"trimmed": {"0": 3}}, "failOnDataLoss": False},
    ),
    Read("stamped", 10, {"subscribe": "stamped"}, without=("timestamp",)),
)

#: Refused by both, whatever they say.
REFUSED = (
    Read("lost", 0, {"subscribe": "trimmed", "startingOffsets": {"trimmed": {"0": 3}}}),
    Read("too late", 0, {"subscribe": "plain", "startingTimestamp": LATE_MS, "fetchOffset.retryIntervalMs": 1}),
    Read("no such topic", 0, {"subscribe": "nothing", "fetchOffset.retryIntervalMs": 1}),
    Read("partitions missing", 0, {"subscribe": "plain", "startingOffsets": {"plain": {"0": 1}}}),
    Read("latest", 0, {"subscribe": "plain", "startingOffsets": "latest"}),
    Read("both", 0, {"subscribe": "plain", "subscribePattern": "p.*"}),
)

#: What ours says of options that are wrong.
WRONG = (
    (Read("unknown", 0, {"subscribd": "plain"}), "unknown option subscribd. Did you mean subscribe?"),
    (
        Read("nothing", 0, {}),
        "no topics are named: set exactly one of subscribe, subscribePattern, assign",
    ),
    (Read("no number", 0, {"subscribe": "plain", "minPartitions": "many"}), "minPartitions: 'many' is not an integer"),
    (Read("no setting", 0, {"subscribe": "plain", "kafka.fetch.min.byte": 1}), "fetch.min.byte"),
    (Read("no such topic", 0, {"subscribe": "nothing", "fetchOffset.numRetries": 1}), "there is no topic nothing"),
    (
        Read("missing partitions", 0, {"subscribe": "plain", "startingOffsets": {"plain": {"0": 1}}}),
        "startingOffsets has no entry for plain-1, plain-2; -2 stands for the earliest, -1 for the latest",
    ),
    (
        Read("lost", 0, {"subscribe": "trimmed", "startingOffsets": {"trimmed": {"0": 3}}}),
        "trimmed-0: offset 3 is gone; the log begins at 12",
    ),
)


def option_texts(options: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}


def frame(spark: SparkSession, form: str, bootstrap: str, read: Read) -> DataFrame:
    reader = spark.read.format(form).option("kafka.bootstrap.servers", bootstrap)
    return reader.options(**option_texts(read.options)).load()


def outcome(spark: SparkSession, form: str, bootstrap: str, read: Read) -> Outcome:
    rows = frame(spark, form, bootstrap, read)
    found = rows.drop(*read.without).withColumn("task", spark_partition_id()).collect()
    places: dict[tuple[str, int, int], list[int]] = {}
    for row in found:
        places.setdefault((row.topic, row.partition, row.task), []).append(row.offset)
    for offsets in places.values():
        assert offsets == sorted(offsets), "a task gives its rows in the order of the log"
    tasks = [(topic, partition, offsets[0], offsets[-1]) for (topic, partition, _), offsets in places.items()]
    found.sort(key=lambda row: (row.topic, row.partition, row.offset))
    return Outcome(rows.schema.json(), [tuple(row)[:-1] for row in found], sorted(tasks))
