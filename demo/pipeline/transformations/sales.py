"""Paid orders into a topic, and from there the sales of each ten seconds into another; both exactly once.

A window is written once, when no event of it can come any more: 40 seconds after its end, by the time that payments
give. Payments come 10 seconds late at the most; the rest is for a broker that is down and for orders that wait for it.
What would come even later would be missing in the window, not in the tables.
"""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark import formats

spark = SparkSession.active()

BOOTSTRAP = spark.conf.get("spark.shop.bootstrap")
PAID = formats.json(
    "order STRING NOT NULL, payment STRING NOT NULL, category STRING NOT NULL, quantity INT NOT NULL, "
    "cents BIGINT NOT NULL, at_ms BIGINT NOT NULL"
)
DECODED = formats.decode("value", PAID)
SALE = formats.json("start_ms BIGINT, category STRING, orders BIGINT, units BIGINT, cents BIGINT")
WINDOW, LATE_AT_MOST = "10 seconds", "40 seconds"


def create_topic_sink(name: str, topic: str) -> None:
    options = {
        "kafka.bootstrap.servers": BOOTSTRAP,
        "topic": topic,
        "delivery": "exactly-once",
        "sinkId": f"shop-{topic}",
    }
    dp.create_sink(name, "odradek", options)


create_topic_sink("paid_orders", "paid-orders")
create_topic_sink("sales", "sales")


@dp.append_flow(target="paid_orders")
def paid_orders_flow() -> DataFrame:
    value = formats.encode(F.struct("order", "payment", "category", "quantity", "cents", "at_ms"), PAID)
    return spark.readStream.table("paid").select(F.col("order").cast("binary").alias("key"), value.alias("value"))


@dp.append_flow(target="sales")
def sales_flow() -> DataFrame:
    options = {
        "kafka.bootstrap.servers": BOOTSTRAP,
        "subscribe": "paid-orders",
        "startingOffsets": "earliest",
        "kafka.isolation.level": "read_committed",
        "lagGroup": "shop-sales",
    }
    rows = spark.readStream.format("odradek").options(**options).load()
    paid = rows.select(DECODED.alias("decoded")).select("decoded.data.*")
    timed = paid.withColumn("at", F.timestamp_millis("at_ms")).withWatermark("at", LATE_AT_MOST)
    totals = timed.groupBy(F.window("at", WINDOW).alias("window"), "category").agg(
        F.count("*").alias("orders"), F.sum("quantity").alias("units"), F.sum("cents").alias("cents")
    )
    sale = F.struct(F.unix_millis("window.start").alias("start_ms"), "category", "orders", "units", "cents")
    return totals.select(F.col("category").cast("binary").alias("key"), formats.encode(sale, SALE).alias("value"))
