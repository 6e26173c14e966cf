"""Streams of Spark, run until they have read all there is, or until they are stopped; and what they left behind."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from support.spark.reads import option_texts
from support.waiting import wait_until

_TIMEOUT_S = 300
_ATTEMPTS = 5
_TOO_SLOW = "Python worker failed to connect back"

Offsets = dict[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class Stream:
    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StreamOutcome:
    #: Everything that has been read since the checkpoint was made.
    rows: list[tuple[Any, ...]] = field(repr=False)
    #: Where each micro-batch ended, as the checkpoint has it.
    ends: list[Offsets]


def run_available_now(spark: SparkSession, form: str, bootstrap: str, stream: Stream, directory: Path) -> StreamOutcome:
    """From its checkpoint in the directory, if there is one, to the end. Raises what the stream failed with."""
    rows, checkpoint = directory / "rows", directory / "checkpoint"
    writer = _frame(spark, form, bootstrap, stream).writeStream.format("parquet").option("path", str(rows))
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    _retried(lambda: _to_the_end(writer))
    found = spark.read.parquet(str(rows)).orderBy("topic", "partition", "offset").collect()
    return StreamOutcome([tuple(row) for row in found], _ends(checkpoint))


def start(spark: SparkSession, form: str, bootstrap: str, stream: Stream) -> StreamingQuery:
    """Into a table in memory that has the stream's name; when its first batch is done."""
    writer = _frame(spark, form, bootstrap, stream).writeStream.format("memory").queryName(stream.name)
    return _retried(lambda: _begun(writer))


def _to_the_end(writer: DataStreamWriter) -> StreamingQuery:
    query = writer.start()
    assert query.awaitTermination(_TIMEOUT_S), f"a stream did not end in {_TIMEOUT_S} s"
    return query


def _begun(writer: DataStreamWriter) -> StreamingQuery:
    query = writer.start()
    wait_until(lambda: query.recentProgress or query.exception(), "the first batch is done", _TIMEOUT_S)
    failure = query.exception()
    if failure is not None:
        raise failure
    return query


def _retried(run: Callable[[], StreamingQuery]) -> StreamingQuery:
    """Spark gives the process of a stream ten seconds to start, which a busy machine may need longer for."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return run()
        except StreamingQueryException as error:
            if _TOO_SLOW not in str(error):
                raise
    return run()


def _frame(spark: SparkSession, form: str, bootstrap: str, stream: Stream) -> DataFrame:
    reader = spark.readStream.format(form).option("kafka.bootstrap.servers", bootstrap)
    return reader.options(**option_texts(stream.options)).load()


def _ends(checkpoint: Path) -> list[Offsets]:
    batches = sorted((path for path in (checkpoint / "offsets").iterdir() if path.name.isdecimal()), key=_batch_id)
    return [_offsets(path.read_text().splitlines()[-1]) for path in batches]


def _batch_id(path: Path) -> int:
    return int(path.name)


def _offsets(line: str) -> Offsets:
    """The last line of a file of offsets is that of the one source."""
    topics: dict[str, dict[str, int]] = json.loads(line)
    return {(topic, int(number)): offset for topic, found in topics.items() for number, offset in found.items()}
