"""Orders and payments in Avro with a schema registry's prefix; paid orders back into a topic in the same way."""

from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark import formats

spark = SparkSession.active()

PROJECT = Path(__file__).parents[1]
BOOTSTRAP = spark.conf.get("spark.joins.bootstrap")
REGISTRY = spark.conf.get("spark.joins.registry")

# Values name the schema that they were written with; it is resolved against the newest of the subject.
ORDER = formats.avro(registry=REGISTRY, subject="orders-value")
PAYMENT = formats.avro(registry=REGISTRY, subject="payments-value")
PAID_ORDER = formats.avro(registry=REGISTRY, subject="paid-orders-value")


def decoded(topic: str, format: formats.Format) -> DataFrame:
    records = (
        spark.readStream.format("odradek")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    rows = records.select(formats.decode("value", format).alias("decoded"))
    return rows.where("decoded.error IS NULL").select("decoded.data.*")


@dp.temporary_view
def sent_orders() -> DataFrame:
    return decoded("orders", ORDER)


@dp.temporary_view
def sent_payments() -> DataFrame:
    return decoded("payments", PAYMENT)


# A table that is not a stream: read anew in each update.
@dp.temporary_view
def customers() -> DataFrame:
    return spark.read.parquet(str(PROJECT / spark.conf.get("spark.joins.customers")))


dp.create_sink(
    "paid_orders_topic",
    "odradek",
    {
        "kafka.bootstrap.servers": BOOTSTRAP,
        "topic": "paid-orders",
        "delivery": "exactly-once",
        "sinkId": "joins-paid-orders",
    },
)


@dp.append_flow(target="paid_orders_topic")
def paid_orders_flow() -> DataFrame:
    value = formats.encode(F.struct("id", "country", "amount", "method", "waited_s"), PAID_ORDER)
    return spark.readStream.table("paid_orders").select(F.col("id").alias("key"), value.alias("value"))
