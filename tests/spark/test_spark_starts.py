"""Every way to start a stream on topics that are being written to: it reads each record once from where it begins.

Where that is must lie between the log end offsets before it was started and after its first batch (`latest`), or is
known exactly. What is right comes from the topics themselves, read by confluent-kafka when the load has stopped.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from odradek.testing import Cluster
from support.processes.process_tree import kill_tree
from support.spark.reads import option_texts
from support.spark.session import quick_environment, session
from support.spark.starts import WAIT_S, Load, Partition, Position, Run, Start, jars_for, under_load
from support.waiting import Hopeless, wait_until

pytestmark = pytest.mark.slow

#: Set to `kafka`, the tests run with Spark's own connector, and so show that what they expect is its behaviour.
FORM = os.environ.get("ODRADEK_TEST_FORM", "odradek")
A0, A1, B0 = ("load-a", 0), ("load-a", 1), ("load-b", 0)
FUTURE_MS = 2**42

Records = dict[Position, tuple[int, bytes | None]]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with session(tmp_path_factory.mktemp("spark-starts"), jars=jars_for(FORM)) as made:
        yield made


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        made.create_topic("load-a", partitions=2)
        made.create_topic("load-b")
        yield made


def starts(now_ms: int) -> list[Start]:
    now = {"availableNow": True}
    return [
        Start("latest", {"subscribe": "load-a"}),
        Start("latest-pattern", {"subscribePattern": "load-.*", "maxOffsetsPerTrigger": 3_000}, every_second()),
        Start("latest-assign", {"assign": {"load-a": [0, 1], "load-b": [0]}, "minPartitions": 5}, every_second()),
        Start("earliest", {"subscribe": "load-a,load-b", "startingOffsets": "earliest"}, every_second()),
        Start("ends", {"subscribe": "load-a", "startingOffsets": {"load-a": {"0": -1, "1": -2}}}, every_second()),
        Start("numbers", {"subscribePattern": "-a", "startingOffsets": {"load-a": {"0": 5, "1": 3}}}, every_second()),
        Start("time", {"subscribe": "load-a", "startingTimestamp": now_ms}, every_second()),
        Start("times", {"assign": {"load-a": [0, 1]}, **times(now_ms)}, every_second()),
        Start("now-latest", {"subscribe": "load-a"}, now),
        Start("now-earliest", {"subscribe": "load-a", "startingOffsets": "earliest", "maxOffsetsPerTrigger": 500}, now),
        Start("now-ends", {"subscribe": "load-a", "startingOffsets": {"load-a": {"0": -1, "1": 4}}}, now),
    ]


def every_second() -> dict[str, str]:
    return {"processingTime": "1 second"}


def times(now_ms: int) -> dict[str, Any]:
    by_time = {"load-a": {"0": now_ms, "1": FUTURE_MS}}
    return {"startingOffsetsByTimestamp": by_time, "startingOffsetsByTimestampStrategy": "latest"}


def begins_of(start: Start, records: Records, now_ms: int) -> dict[Partition, int | None]:
    """Where a stream must begin, of the partitions that were there; None stands for the latest offset."""
    first = min(offset for (*place, offset), (ms, _) in records.items() if tuple(place) == A0 and ms >= now_ms)
    second = min(offset for (*place, offset), (ms, _) in records.items() if tuple(place) == A1 and ms >= now_ms)
    return {
        "latest": {A0: None, A1: None},
        "latest-pattern": {A0: None, A1: None, B0: None},
        "latest-assign": {A0: None, A1: None, B0: None},
        "earliest": {A0: 0, A1: 0, B0: 0},
        "ends": {A0: None, A1: 0},
        "numbers": {A0: 5, A1: 3},
        "time": {A0: first, A1: second},
        "times": {A0: first, A1: None},
        "now-latest": {A0: None, A1: None},
        "now-earliest": {A0: 0, A1: 0},
        "now-ends": {A0: None, A1: 4},
    }[start.name]


def check_rows(run: Run, records: Records, begins: dict[Partition, int | None], new: set[Partition]) -> None:
    """Each record once, from where the stream must have begun; those of new partitions all."""
    found = run.begins()
    ends = dict.fromkeys(found, 0)
    for (topic, partition, offset), _ in run.rows():
        ends[topic, partition] = offset + 1
    if "availableNow" not in run.start.trigger:
        for topic, partition, offset in records:
            if (topic, partition) in ends:
                ends[topic, partition] = max(ends[topic, partition], offset + 1)
    wanted = [
        ((topic, partition, offset), records[topic, partition, offset][1])
        for (topic, partition), begin in found.items()
        for offset in range(begin, ends[topic, partition])
    ]
    assert run.rows() == sorted(wanted), run.start.name
    for partition, begin in begins.items():
        if begin is not None:
            assert found[partition] == begin, (run.start.name, partition)
        elif partition in found:
            low, high = run.before[partition], run.after[partition]
            assert low <= found[partition] <= high, (run.start.name, partition, low, found[partition], high)
    assert {partition: found.get(partition) for partition in new} == dict.fromkeys(new, 0), run.start.name


def test_every_start_reads_each_record_once(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    with under_load(cluster.bootstrap, {"load-a": 2, "load-b": 1}) as load:
        load.wait_for(20)
        now_ms = time.time_ns() // 1_000_000
        load.wait_for(20)
        runs = [Run(spark, FORM, load, start, tmp_path / start.name) for start in starts(now_ms)]
        for run in runs:
            run.wait_for_first_batch(load)
        check_batch_reads(spark, load)
        load.grow("load-a", 3)
        cluster.create_topic("load-new")
        load.partitions["load-new"] = 1
        load.wait_for(20)
    for run in runs:
        run.finish()
    records = load.records()
    for run in runs:
        grows = "availableNow" not in run.start.trigger and "assign" not in run.start.options
        new = {("load-a", 2)} if grows else set()
        if run.start.name == "latest-pattern":
            new.add(("load-new", 0))
        check_rows(run, records, begins_of(run.start, records, now_ms), new)


def check_batch_reads(spark: SparkSession, load: Load) -> None:
    """Up to the latest offset: what was there when the read was planned."""
    for ending in ("latest", {"load-a": {"0": -1, "1": -1}}):
        before = load.ends()
        options = {"kafka.bootstrap.servers": load.bootstrap, "subscribe": "load-a", "endingOffsets": ending}
        rows = spark.read.format(FORM).options(**option_texts(options)).load().select("partition", "offset").collect()
        after = load.ends()
        for number in range(2):
            offsets = sorted(row.offset for row in rows if row.partition == number)
            assert offsets == list(range(len(offsets)))
            assert before["load-a", number] <= len(offsets) <= after["load-a", number]


def test_streams_killed_in_their_first_batch_begin_where_they_began(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    """kill -9 of the driver: when the end of the first batch is in the checkpoint, and, of one stream, before."""
    with under_load(cluster.bootstrap, {"load-a": 2, "load-b": 1}) as load, silent_broker() as silent:
        load.wait_for(20)
        now_ms = time.time_ns() // 1_000_000
        load.wait_for(20)
        names = ("latest", "latest-pattern", "earliest", "ends", "numbers", "time", "times")
        killed = [start for start in starts(now_ms) if start.name in names]
        before = load.ends()
        kill_in_first_batch(load, killed, silent, tmp_path)
        after = load.ends()
        load.grow("load-a", 3)
        load.wait_for(20)
        runs = [Run(spark, FORM, load, start, tmp_path / start.name) for start in killed]
        for run in runs:
            run.before, run.after = before, after
        unstarted = Run(spark, FORM, load, Start("unstarted", {"subscribe": "load-b"}), tmp_path / "unstarted")
        unstarted.wait_for_first_batch(load)
        for run in runs:
            run.wait_for_rows(20)
    for run in (*runs, unstarted):
        run.finish()
    records = load.records()
    for run in runs:
        new = {("load-a", 2)} if "assign" not in run.start.options else set()
        check_rows(run, records, begins_of(run.start, records, now_ms), new)
    check_rows(unstarted, records, {B0: None}, set())


def kill_in_first_batch(load: Load, killed: list[Start], silent: str, directory: Path) -> None:
    options = {start.name: {**start.options, "kafka.bootstrap.servers": load.bootstrap} for start in killed}
    options["unstarted"] = {"subscribe": "load-b", "kafka.bootstrap.servers": silent}
    texts = {name: option_texts(given) for name, given in options.items()}
    (directory / "starts.json").write_text(json.dumps(texts))
    log = directory / "job.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "support.spark.first_batch_job", str(directory), FORM],
            env={**os.environ, **quick_environment(), "PYTHONPATH": str(Path(__file__).parents[1])},
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def have_begun() -> bool:
        if process.poll() is not None:
            raise Hopeless(log.read_text())
        is_waiting = (directory / "unstarted" / "metadata").exists()
        return is_waiting and all((directory / f"{start.name}.begun").exists() for start in killed)

    try:
        wait_until(have_begun, "first batches", WAIT_S, log.read_text)
    finally:
        kill_tree(process.pid)
        process.wait()
    for start in killed:
        assert (directory / start.name / "offsets" / "0").exists()
        assert not (directory / start.name / "commits" / "0").exists()
    assert not (directory / "unstarted" / "offsets" / "0").exists()


class silent_broker:  # noqa: N801 - a context manager
    """Address of one that takes connections and answers nothing: a stream waits there for its initial offset."""

    def __enter__(self) -> str:
        self._listener = socket.create_server(("127.0.0.1", 0))
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._listener.close()
