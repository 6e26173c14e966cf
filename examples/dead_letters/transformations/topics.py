"""The events go to one topic, exactly once; what was rejected goes to another."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark import Reason, formats, rejected

spark = SparkSession.active()

BOOTSTRAP = spark.conf.get("spark.dead_letters.bootstrap")

EVENT = formats.json("id STRING, at TIMESTAMP, cents BIGINT, partner STRING")

dp.create_sink(
    "events_topic",
    "odradek",
    {
        "kafka.bootstrap.servers": BOOTSTRAP,
        "topic": "events",
        "delivery": "exactly-once",
        "sinkId": "dead_letters-events",
    },
)
dp.create_sink(
    "rejected_topic",
    "odradek",
    {
        "kafka.bootstrap.servers": BOOTSTRAP,
        "topic": "events.dead",
        "delivery": "exactly-once",
        "sinkId": "dead_letters-rejected",
    },
)


@dp.append_flow(target="events_topic")
def events_flow() -> DataFrame:
    value = formats.encode(F.struct("id", "at", "cents", "partner"), EVENT)
    return spark.readStream.table("events").select(F.col("id").alias("key"), value.alias("value"))


@dp.append_flow(target="rejected_topic")
def rejected_flow() -> DataFrame:
    undecodable = rejected(spark.readStream.table("decoded_events"), "event.error", step="decode", with_headers=True)
    failed = rejected(
        spark.readStream.table("priced_events"),
        "percent.error",
        step="price",
        reason=Reason.FAILED,
        with_headers=True,
    )
    return undecodable.unionByName(failed)
