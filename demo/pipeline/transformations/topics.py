"""What goes back into topics, exactly once: the sales of each window, and the dead letters."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark import rejected

spark = SparkSession.active()


def create_topic_sink(name: str, topic: str) -> None:
    options = {
        "kafka.bootstrap.servers": spark.conf.get("spark.shop.bootstrap"),
        "topic": topic,
        "delivery": "exactly-once",
        "sinkId": f"shop-{topic}",
    }
    dp.create_sink(name, "odradek", options)


create_topic_sink("sales", "sales")
create_topic_sink("dead_letters", "dead-letters")


@dp.append_flow(target="sales")
def sales_flow() -> DataFrame:
    sale = F.to_json(F.struct("start_ms", "category", "orders", "units", "cents"))
    return spark.readStream.table("sales_by_window").select(F.col("category").alias("key"), sale.alias("value"))


@dp.append_flow(target="dead_letters")
def dead_letters_flow() -> DataFrame:
    return rejected(spark.readStream.table("events"), "error", step="events", with_headers=False)
