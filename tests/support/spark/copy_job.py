"""A driver of Spark, as a process: one topic copied to another exactly once, and into a Parquet table, up to its end.

python -m support.spark.copy_job <bootstrap> <directory> <records a batch>
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from support.spark.session import settings_of

EVENTS, COPIES = "events", "copies"

_TOO_SLOW = "Python worker failed to connect back"

#: Where Spark is killed while it writes the first offsets of a query, it leaves a file that it refuses to start beside.
_UNFINISHED_FILES = {"spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false"}

#: Of what the job finds in its table at the end; there once it is done.
RESULT = "table.json"


def main(bootstrap: str, directory: Path, batch_records: str) -> None:
    # A task may fail three times before its query does.
    builder = SparkSession.builder.master("local[2,4]").appName("copies")
    for name, value in {**settings_of(directory), **_UNFINISHED_FILES}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    events = (
        spark.readStream.format("odradek")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", EVENTS)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", batch_records)
        .load()
    )
    starts = (lambda: _to_topic(events, bootstrap, directory), lambda: _to_table(events, directory))
    for query, start in [(start(), start) for start in starts]:
        _await(query, start)
    table = spark.read.parquet(str(directory / "table"))
    counts = {"records": table.count(), "distinct": table.select("key").distinct().count()}
    (directory / RESULT).write_text(json.dumps(counts))
    spark.stop()


def _await(query: StreamingQuery, start: Callable[[], StreamingQuery]) -> None:
    """Spark gives a Python process ten seconds to start, which a busy machine may take: then it is tried again."""
    while True:
        try:
            query.awaitTermination()
            return
        except StreamingQueryException as error:
            if _TOO_SLOW not in str(error):
                raise
        query = start()


def _to_topic(events: DataFrame, bootstrap: str, directory: Path) -> StreamingQuery:
    return (
        events.select("key", "value")
        .writeStream.format("odradek")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", COPIES)
        .option("delivery", "exactly-once")
        .option("checkpointLocation", str(directory / "checkpoint-topic"))
        .trigger(availableNow=True)
        .start()
    )


def _to_table(events: DataFrame, directory: Path) -> StreamingQuery:
    return (
        events.selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value")
        .writeStream.format("parquet")
        .option("path", str(directory / "table"))
        .option("checkpointLocation", str(directory / "checkpoint-table"))
        .trigger(availableNow=True)
        .start()
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
