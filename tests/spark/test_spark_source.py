"""The same jobs with our data source and with Spark's own connector, on a node of ours and on Apache Kafka: the same
rows, offsets, columns, tasks, micro-batches and checkpoints. Spark's connector on Apache Kafka says what is right."""

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from odradek.spark import register, start_stream
from odradek.spark.exactly_once.decisions import TOPIC as DECISIONS
from odradek.spark.source.offset_limits import offsets_from_json
from support.loads.data_load import bootstrap_of
from support.processes.nodes import Cluster, Kind, one_of_each_kind
from support.spark.reads import READS, REFUSED, WRONG, Read, frame, outcome
from support.spark.session import connector_jars, session
from support.spark.streams import Stream, StreamOutcome, run_available_now, start
from support.spark.topics import PLAIN_RECORDS, TIMEOUT_S, Topics
from support.waiting import Hopeless, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Way:
    """A connector on a cluster."""

    form: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.form}-on-{self.kind.value}"


TRUTH = Way("kafka", Kind.KAFKA)
OTHERS = (Way("odradek", Kind.ODRADEK), Way("odradek", Kind.KAFKA), Way("kafka", Kind.ODRADEK))


class World:
    def __init__(
        self, spark: SparkSession, topics: dict[Kind, Topics], directory: Path, pool: ThreadPoolExecutor
    ) -> None:
        self.spark = spark
        self.topics = topics
        self.directory = directory
        self._pool = pool

    def each_way(self, work: Callable[[Way], Found]) -> dict[Way, Found]:
        """At once: a job waits more for processes than for processors."""
        ways = (TRUTH, *OTHERS)
        return dict(zip(ways, self._pool.map(work, ways), strict=True))

    def bootstrap(self, way: Way) -> str:
        return self.topics[way.kind].bootstrap


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("spark-source")
    with ExitStack() as stack:
        clusters = stack.enter_context(one_of_each_kind(directory))
        spark = stack.enter_context(session(directory / "spark", jars=connector_jars()))
        topics = {kind: _filled(cluster) for kind, cluster in clusters.items()}
        pool = stack.enter_context(ThreadPoolExecutor(len(OTHERS) + 1))
        yield World(spark, topics, directory, pool)


def _filled(cluster: Cluster) -> Topics:
    topics = Topics(bootstrap_of(cluster))
    topics.create()
    topics.fill()
    return topics


def test_batch_reads_are_the_same(world: World, subtests: pytest.Subtests) -> None:
    for read in READS:
        with subtests.test(read.name):
            found = world.each_way(lambda way, read=read: outcome(world.spark, way.form, world.bootstrap(way), read))
            right = found[TRUTH]
            assert len(right.rows) == read.rows
            for way in OTHERS:
                assert found[way].schema == right.schema, way
                assert found[way].rows == right.rows, way
                assert found[way].tasks == right.tasks or not read.same_tasks, way


def test_streams_are_the_same(world: World) -> None:
    """By pattern, while partitions come, topics go, and records are deleted before they were read."""
    growing = Stream("growing", {"subscribePattern": "grow-.*", "maxOffsetsPerTrigger": 30})
    runs = Runs(world, growing)
    for topics in world.topics.values():
        topics.write("grow-a", range(45))
        topics.write("grow-b", range(30))
    first = runs.run(startingOffsets="earliest", includeHeaders=True)
    assert [sum(ends.values()) for ends in first.ends] == [30, 60, 75]

    for topics in world.topics.values():
        topics.grow("grow-b", 2)
        topics.write("grow-b", range(30, 50), partitions=2)
        topics.write("grow-a", range(45, 50))
    second = runs.run(includeHeaders=True)
    assert second.ends[-1] == {("grow-a", 0): 50, ("grow-b", 0): 40, ("grow-b", 1): 10}
    for kind in Kind:
        assert group_offsets(world.topics[kind].bootstrap) == second.ends[-1]

    for topics in world.topics.values():
        topics.delete("grow-a")
        topics.write("grow-b", range(50, 90), partitions=2)
        topics.trim("grow-b", 55)
    assert "failOnDataLoss" in runs.failure(includeHeaders=True)
    third = runs.run(includeHeaders=True, failOnDataLoss=False)
    assert third.ends[-1] == {("grow-b", 0): 60, ("grow-b", 1): 30}
    assert len(third.rows) == 100 + 5 + 20


class Runs:
    """A stream that is run again and again from its checkpoint, in each way."""

    def __init__(self, world: World, stream: Stream) -> None:
        self._world = world
        self._stream = stream

    def run(self, **options: object) -> StreamOutcome:
        found = self._world.each_way(lambda way: self._run(way, options))
        right = found[TRUTH]
        for way in OTHERS:
            assert found[way] == right, way
        return right

    def failure(self, **options: object) -> str:
        """What ours says; all must fail."""

        def failed(way: Way) -> str:
            with pytest.raises(PySparkException) as error:
                self._run(way, options)
            return str(error.value)

        return self._world.each_way(failed)[OTHERS[0]]

    def _run(self, way: Way, options: dict[str, object]) -> StreamOutcome:
        ours = {"lagGroup": "spark"} if way.form == "odradek" else {}
        place = self._world.directory / str(way) / self._stream.name
        stream = Stream(self._stream.name, {**self._stream.options, **options, **ours})
        return run_available_now(self._world.spark, way.form, self._world.bootstrap(way), stream, place)


def group_offsets(bootstrap: str) -> dict[tuple[str, int], int]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("spark")])
    found: list[TopicPartition] = asked["spark"].result(TIMEOUT_S).topic_partitions
    return {(each.topic, each.partition): each.offset for each in found}


def test_patterns_leave_out_what_is_internal(world: World) -> None:
    """The topic of decisions is internal for us alone."""
    for topics in world.topics.values():
        topics.commit("readers", "plain")
        topics.make(DECISIONS)
    found = world.each_way(lambda way: topics_of(world, way, subscribePattern=".*"))
    assert {"plain", DECISIONS} <= found[TRUTH]
    assert not {"__consumer_offsets", "__transaction_state"} & found[TRUTH]
    for way in OTHERS:
        assert found[way] == (found[TRUTH] - {DECISIONS} if way.form == "odradek" else found[TRUTH]), way
    assert topics_of(world, OTHERS[0], subscribe=DECISIONS) == {DECISIONS}


def topics_of(world: World, way: Way, **options: str) -> set[str]:
    rows = frame(world.spark, way.form, world.bootstrap(way), Read("topics", 0, options))
    return {row.topic for row in rows.select("topic").distinct().collect()}


def test_running_streams_wait_for_enough_records(world: World) -> None:
    options = {"subscribe": "late", "minOffsetsPerTrigger": 10, "maxTriggerDelay": "1h"}

    def began(way: Way) -> StreamingQuery:
        stream = Stream(f"late_{way.form}_{way.kind.value}", options)
        return start(world.spark, way.form, world.bootstrap(way), stream)

    queries = world.each_way(began)
    for numbers in (range(6), range(6, 12)):
        for topics in world.topics.values():
            topics.write("late", numbers)
    for way, query in queries.items():
        wait_until(lambda query=query: rows_in(query) == 12, f"{way} has read all")
        (batch,) = [progress for progress in query.recentProgress if progress.numInputRows]
        (source,) = batch.sources
        ends = [offsets_from_json(json.loads(text)) for text in (source.endOffset, source.latestOffset)]
        assert ends == [{("late", 0): 12}] * 2, way
        query.stop()


def test_a_stream_from_the_latest_fails_if_the_log_is_gone_before_it_has_read_anything(world: World) -> None:
    for topics in world.topics.values():
        topics.make("again", records=5)

    def began(way: Way) -> StreamingQuery:
        stream = Stream(f"again_{way.form}_{way.kind.value}", {"subscribePattern": "^again$"})
        return start(world.spark, way.form, world.bootstrap(way), stream)

    queries = world.each_way(began)
    for topics in world.topics.values():
        topics.delete("again")
        topics.make("again", records=2)
    for way, query in queries.items():
        wait_until(lambda query=query: query.exception() is not None, f"{way} has failed")
        assert "failOnDataLoss" in str(query.exception()), way


def test_a_topic_that_is_created_again_is_not_taken_for_the_one_before(world: World) -> None:
    """While the stream runs, and while it is stopped; the new topic is longer, so that its offsets would fit."""
    ways = [way for way in OTHERS if way.form == "odradek"]
    options = {"subscribe": "reborn", "startingOffsets": "earliest"}
    old, new = {}, {}
    for way in ways:
        world.topics[way.kind].make("reborn", records=30)
        old[way] = world.topics[way.kind].topic_id("reborn")
    running = {
        way: start(world.spark, way.form, world.bootstrap(way), Stream(f"reborn_{way.kind.value}", options))
        for way in ways
    }

    def stopped(way: Way, **more: object) -> StreamOutcome:
        stream = Stream("reborn", options | more)
        return run_available_now(
            world.spark, way.form, world.bootstrap(way), stream, world.directory / str(way) / "reborn"
        )

    for way in ways:
        wait_until(lambda way=way: rows_in(running[way]) == 30, f"{way} has read all")
        assert len(stopped(way).rows) == 30
    for way in ways:
        world.topics[way.kind].delete("reborn")
        world.topics[way.kind].make("reborn", records=40)
        new[way] = world.topics[way.kind].topic_id("reborn")
    for way in ways:
        wait_until(lambda way=way: running[way].exception() is not None, f"{way} has failed")
        with pytest.raises(PySparkException) as failed:
            stopped(way)
        for message in (str(running[way].exception()), str(failed.value)):
            assert "topic reborn was deleted and created again" in message
            assert f"of topic id {old[way]}, and it has topic id {new[way]} now" in message
            assert "set failOnDataLoss=false, or start with a new checkpoint" in message
        assert len(stopped(way, failOnDataLoss=False).rows) == 30 + 40
        assert len(stopped(way).rows) == 30 + 40


def test_a_stream_whose_python_process_is_slow_to_start_is_started_again(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark waits 10 seconds for it, and no setting changes that."""
    slow_once = tmp_path / "python"
    slow_once.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *python_streaming_source_runner*) mkdir "{tmp_path}/late" 2>&- && sleep 15;; esac\n'
        f'exec "{sys.executable}" "$@"\n'
    )
    slow_once.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(slow_once))
    register(world.spark)
    rows = frame_of_stream(world, OTHERS[0], subscribe="plain", startingOffsets="earliest")
    query = start_stream(rows.writeStream.format("memory").queryName("slow_start"))
    assert (tmp_path / "late").exists()
    wait_until(lambda: rows_in(query) == PLAIN_RECORDS, "all is read")
    query.stop()


def frame_of_stream(world: World, way: Way, **options: str) -> DataFrame:
    reader = world.spark.readStream.format(way.form).option("kafka.bootstrap.servers", world.bootstrap(way))
    return reader.options(**options).load()


def rows_in(query: StreamingQuery) -> int:
    failure = query.exception()
    if failure is not None:
        raise Hopeless(str(failure))
    return sum(progress.numInputRows for progress in query.recentProgress)


def test_what_one_refuses_the_other_refuses(world: World, subtests: pytest.Subtests) -> None:
    for read in REFUSED:

        def refused(way: Way, read: Read = read) -> str:
            with pytest.raises((PySparkException, Py4JJavaError)) as error:
                frame(world.spark, way.form, world.bootstrap(way), read).collect()
            return str(error.value)

        with subtests.test(read.name):
            said = world.each_way(refused)[OTHERS[0]]
            assert "Traceback" not in said


def test_what_is_wrong_is_said_in_a_line(world: World, subtests: pytest.Subtests) -> None:
    for read, line in WRONG:
        with subtests.test(read.name):
            with pytest.raises(PySparkException) as error:
                frame(world.spark, "odradek", world.bootstrap(OTHERS[0]), read).collect()
            assert line in str(error.value)
            assert "Traceback" not in str(error.value)


def test_what_is_wrong_with_a_stream_is_said_in_a_line(world: World) -> None:
    stream = Stream("wrong", {"subscribe": "plain", "endingOffsets": "latest"})
    with pytest.raises(PySparkException) as error:
        start(world.spark, "odradek", world.bootstrap(OTHERS[0]), stream).awaitTermination(TIMEOUT_S)
    assert "endingOffsets is for batch reads; a stream has no end" in str(error.value)
    assert "Traceback" not in str(error.value)
