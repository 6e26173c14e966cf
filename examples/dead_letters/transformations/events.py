"""Events of three partners, each in a format of its own, as rows of one kind, each event once.

A record that is no event, and an event that a step cannot handle, keep the reason in the column `error`.
"""

from functools import reduce
from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark import accepted, formats, guarded

spark = SparkSession.active()

PROJECT = Path(__file__).parents[1]
BOOTSTRAP = spark.conf.get("spark.dead_letters.bootstrap")

EVENT = "id STRING NOT NULL, coupon STRING, cents BIGINT NOT NULL, at TIMESTAMP NOT NULL"
FORMATS = {
    "events-json": formats.json(EVENT, unknown_fields=False),
    "events-csv": formats.csv(EVENT, separator=";"),
    "events-protobuf": formats.protobuf("shop.Event", descriptor_file=PROJECT / "shop.desc", unknown_fields=False),
}


def percent_of(coupon: str | None) -> int:
    """Coupons are such as SAVE-15."""
    if not coupon:
        return 0
    percent = int(coupon.removeprefix("SAVE-"))
    if not 0 <= percent <= 50:
        raise ValueError(f"{coupon} is no coupon of ours")
    return percent


PERCENT = guarded(percent_of, "INT")


def decoded(topic: str, format: formats.Format) -> DataFrame:
    records = (
        spark.readStream.format("odradek")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .load()
    )
    return records.withColumn("event", formats.decode("value", format))


def all_decoded() -> DataFrame:
    each = (decoded(topic, format) for topic, format in FORMATS.items())
    return reduce(DataFrame.unionByName, each)


def priced() -> DataFrame:
    return accepted(all_decoded(), "event.error").withColumn("percent", PERCENT("event.data.coupon"))


@dp.temporary_view
def decoded_events() -> DataFrame:
    return all_decoded()


@dp.temporary_view
def priced_events() -> DataFrame:
    return priced()


# The first of those with one id that come within an hour, by the events' own time. Spark remembers the ids as long.
# For that it wants to know the columns at once, and those of a view that is read by its name it does not know yet.
@dp.temporary_view
def unique_events() -> DataFrame:
    events = accepted(priced(), "percent.error")
    cents = (F.col("event.data.cents") * (100 - F.col("percent.data")) / 100).cast("bigint")
    rows = events.select("event.data.id", "event.data.at", cents.alias("cents"), F.col("topic").alias("partner"))
    return rows.withWatermark("at", "1 hour").dropDuplicatesWithinWatermark(["id"])
