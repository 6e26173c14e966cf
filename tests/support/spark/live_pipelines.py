"""A pipeline that runs live while what it runs on is killed: its definitions, its load, and its results.

Events are produced while the pipeline runs: topic → table → second table and a topic, exactly once, with a materialized
view over the tables. What is in the topic is counted by confluent-kafka, which reads what is committed, and what is in
the tables by pyarrow.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as dataset
from confluent_kafka import Producer

from support.loads.data_load import CLIENT
from support.peers.librdkafka_reader import read_by_librdkafka
from support.spark.pipelines import Running, is_drained
from support.waiting import Hopeless, wait_until

EVENTS, COPIES = "numbers", "copies"
PARTITIONS = 4

#: The longest that anything may take on a machine that is busy.
TIMEOUT_S = 600

_PAUSE_S = 0.05

PYTHON = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()
OPTIONS = {"kafka.bootstrap.servers": spark.conf.get("spark.live.bootstrap")}


@dp.table(format="parquet")
def numbers() -> DataFrame:
    rows = spark.readStream.format("odradek").options(**OPTIONS, subscribe="numbers", startingOffsets="earliest").load()
    return rows.select(F.expr("CAST(CAST(value AS STRING) AS INT)").alias("number"), "timestamp")


dp.create_sink("copies", "odradek", {**OPTIONS, "topic": "copies", "delivery": "exactly-once", "sinkId": "live"})


@dp.append_flow(target="copies")
def copied() -> DataFrame:
    rows = spark.readStream.table("numbers")
    return rows.select(F.col("number").cast("string").alias("key"), F.lit("x").alias("value"))
"""
SQL = """\
CREATE STREAMING TABLE odd USING PARQUET AS SELECT number FROM STREAM numbers WHERE number % 2 = 1;

CREATE MATERIALIZED VIEW totals USING PARQUET AS
SELECT count(*) AS numbers, sum(number) AS total FROM numbers;
"""
DEFINITIONS = {"numbers.py": PYTHON, "tables.sql": SQL}


def settings_of(bootstrap: str) -> dict[str, str]:
    return {"spark.live.bootstrap": bootstrap, "pipelines.trigger.interval": "1 second"}


class Load:
    """Produces the events, a share at a time, while a fault happens; it pauses after each fifty."""

    def __init__(self, bootstrap: str, pause_s: float = _PAUSE_S) -> None:
        self._pause_s = pause_s
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, **CLIENT})
        self.sent = 0

    @contextmanager
    def producing(self, until: int) -> Iterator[None]:
        """Produces up to this number, in a thread of its own; at the end of the block all are acknowledged."""
        thread = threading.Thread(target=self._run, args=(until,))
        thread.start()
        try:
            yield
        finally:
            thread.join()
        assert self._producer.flush(TIMEOUT_S) == 0

    def _run(self, until: int) -> None:
        for number in range(self.sent, until):
            self._producer.produce(EVENTS, b"%d" % number, key=b"%d" % number)
            self._producer.poll(0)
            if number % 50 == 0:
                time.sleep(self._pause_s)
        self.sent = until


def wait_until_live(run: Running, after: int = 0) -> None:
    """Until a driver runs all flows, of what was reported after so many events."""

    def is_running(event: dict[str, Any]) -> bool:
        return bool(event["event"] == "live" and event["state"] == "running")

    run.wait_for("all flows run", is_running, after)


def wait_until_drained(run: Running) -> None:
    """Until every flow was idle after the last batch that had rows."""

    def drained() -> bool:
        if run.process.poll() is not None:
            raise Hopeless(f"the run has ended: {run.events[-20:]}")
        return is_drained(list(run.events))

    wait_until(drained, "all events are processed", TIMEOUT_S, lambda: str(run.events[-20:]))


def wait_for_batch(run: Running, flow: str, after: int) -> None:
    """Until the flow has completed a batch with rows, of what was reported after so many events."""
    run.wait_for(
        f"a batch of {flow}",
        lambda event: bool(event["event"] == "progress" and event["flow"] == flow and event["rows_in"]),
        after,
    )


def committed_keys(bootstrap: str) -> Counter[bytes]:
    records = read_by_librdkafka(bootstrap, COPIES, PARTITIONS, isolation_level="read_committed")
    return Counter(record.key or b"" for record in records)


def stream_table(directory: Path, column: str = "number") -> Counter[Any]:
    """The rows of a streaming table: only files that Spark's log of the table names belong to it."""
    log = directory / "_spark_metadata"
    compacts = sorted((int(path.stem) for path in log.glob("*.compact")), reverse=True)[:1]
    names = [log / f"{compacts[0]}.compact"] if compacts else []
    names += [path for path in log.iterdir() if path.name.isdecimal() and int(path.name) > (compacts or [-1])[0]]
    entries = [json.loads(line) for path in names for line in path.read_text().splitlines()[1:]]
    files = [entry["path"].removeprefix("file://") for entry in entries]
    if not files:
        return Counter()
    return Counter(dataset.dataset(files, format="parquet").to_table([column])[column].to_pylist())


def view_rows(directory: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = dataset.dataset(str(directory), format="parquet").to_table().to_pylist()
    return rows


def check_contents(warehouse: Path, copies: Counter[bytes], count: int) -> None:
    """Each event once, in the tables and in the topic."""
    assert stream_table(warehouse / "numbers") == Counter(range(count))
    assert stream_table(warehouse / "odd") == Counter(range(1, count, 2))
    assert copies == Counter(b"%d" % number for number in range(count))
    assert view_rows(warehouse / "totals") == [{"numbers": count, "total": count * (count - 1) // 2}]
