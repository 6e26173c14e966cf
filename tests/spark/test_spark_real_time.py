"""Real-time mode: Spark refuses sources and sinks in Python, in words that are told in docs/spark.md; Spark's own
connector takes part, from topic to topic on nodes of ours."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter

from odradek.client.blocking.producer import Producer
from odradek.testing import Cluster
from support.peers.librdkafka_reader import read_by_librdkafka
from support.spark.session import connector_jars, session
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

#: The shortest that Spark allows. Records do not wait for the end of a batch.
BATCH = "5 seconds"
#: A task of real-time mode runs for the whole batch: there must be a slot for each partition.
PARTITIONS = 2
WAIT_S = 300


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        made.create_topic("source", partitions=PARTITIONS)
        made.create_topic("target", partitions=PARTITIONS)
        yield made


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with session(tmp_path_factory.mktemp("spark-real-time"), cores=PARTITIONS, jars=connector_jars()) as made:
        yield made


def read(spark: SparkSession, cluster: Cluster, form: str) -> DataFrame:
    reader = spark.readStream.format(form).option("kafka.bootstrap.servers", cluster.bootstrap)
    return reader.option("subscribe", "source").option("startingOffsets", "earliest").load().select("key", "value")


def write(rows: DataFrame, cluster: Cluster, form: str, checkpoint: Path) -> DataStreamWriter:
    writer = rows.writeStream.format(form).option("kafka.bootstrap.servers", cluster.bootstrap)
    writer = writer.option("topic", "target").option("checkpointLocation", str(checkpoint))
    return writer.outputMode("update").trigger(realTime=BATCH)


def test_a_source_in_python_is_refused(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    query = write(read(spark, cluster, "odradek"), cluster, "kafka", tmp_path / "source").start()
    with pytest.raises(StreamingQueryException, match=r"STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED"):
        query.awaitTermination(WAIT_S)


def test_a_sink_in_python_is_refused(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(IllegalArgumentException, match=r"OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.*python.PythonTable"):
        write(read(spark, cluster, "kafka"), cluster, "odradek", tmp_path / "sink").start()


def test_sparks_own_connector_from_topic_to_topic(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    query = write(read(spark, cluster, "kafka"), cluster, "kafka", tmp_path / "connector").start()
    try:
        with Producer({"bootstrap.servers": cluster.bootstrap}) as producer:
            for number in range(100):
                producer.send("source", b"value", key=b"%d" % number)
            producer.flush()
        expected = {b"%d" % number for number in range(100)}

        def copied() -> bool:
            failure = query.exception()
            assert failure is None, failure
            return {record.key for record in read_by_librdkafka(cluster.bootstrap, "target", PARTITIONS)} == expected

        wait_until(copied, "all records are in the target topic", WAIT_S)
    finally:
        query.stop()
