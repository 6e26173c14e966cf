"""All records of the shop's topics, decoded strictly, each event once, with the reason why it is rejected if it is.

Events are told from their duplicates by their id for a minute after the first of them was produced. That is by the
time at which a record was produced, not by the time that the event itself gives: events come late, records do not.
"""

from pyspark import pipelines as dp
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark import formats

spark = SparkSession.active()

FORMATS = {
    "orders": formats.json(
        "id STRING NOT NULL, customer INT NOT NULL, product STRING NOT NULL, quantity INT NOT NULL, "
        "cents BIGINT NOT NULL, at_ms BIGINT NOT NULL"
    ),
    "payments": formats.json(
        "id STRING NOT NULL, order STRING NOT NULL, cents BIGINT NOT NULL, method STRING NOT NULL, "
        "at_ms BIGINT NOT NULL"
    ),
    "clicks": formats.json(
        "id STRING NOT NULL, customer INT NOT NULL, product STRING NOT NULL, page STRING NOT NULL, "
        "at_ms BIGINT NOT NULL"
    ),
}
#: Made here, since the functions of a pipeline must not ask Spark anything, such as what a schema means.
DECODED = {topic: formats.decode("value", format) for topic, format in FORMATS.items()}
#: What an event must be, beyond its types.
RULES = {
    "orders": ("customer > 0", "quantity > 0", "cents >= 0"),
    "payments": ("cents >= 0",),
    "clicks": ("customer > 0",),
}
#: What happened longer ago when it is produced is rejected: the windows it belongs to are over.
TOO_LATE_MS = 120_000
#: A duplicate may be produced so long after the first, a broker's outage included.
AGAIN_WITHIN = "60 seconds"

OPTIONS = {
    "kafka.bootstrap.servers": spark.conf.get("spark.shop.bootstrap"),
    "subscribe": ",".join(FORMATS),
    "startingOffsets": "earliest",
    "lagGroup": "shop",
}


def error_of(topic: str) -> Column:
    """Why an event is rejected; null where it is not, or is none of this topic."""
    broken = [F.when(~F.expr(f"{topic}.data.{rule}"), F.lit(f"not so: {rule}")) for rule in RULES[topic]]
    age_ms = F.unix_millis("timestamp") - F.col(f"{topic}.data.at_ms")
    too_late = F.when(age_ms > TOO_LATE_MS, F.concat(F.lit("too late by "), age_ms - TOO_LATE_MS, F.lit(" ms")))
    return F.coalesce(f"{topic}.error", *broken, too_late)


def id_of(topic: str) -> Column:
    """Null where an event is rejected: it has none that could be relied on."""
    return F.when(F.col("error").isNull(), F.concat(F.lit(f"{topic}/"), f"{topic}.data.id"))


def place() -> Column:
    return F.concat_ws("/", "topic", "partition", "offset")


#: It changes nothing here when an id is forgotten: an update ends without a batch of its own for that.
NO_EMPTY_BATCHES = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}


@dp.table(
    format="parquet", spark_conf=NO_EMPTY_BATCHES, comment="Everything, each event once, decoded or with an error"
)
def events() -> DataFrame:
    rows = spark.readStream.format("odradek").options(**OPTIONS).load()
    for topic, decoded in DECODED.items():
        rows = rows.withColumn(topic, F.when(F.col("topic") == topic, decoded))
    judged = rows.withColumn("error", F.coalesce(*(error_of(topic) for topic in FORMATS)))
    unique = judged.withColumn("unique", F.coalesce(*(id_of(topic) for topic in FORMATS), place()))
    once = unique.withWatermark("timestamp", AGAIN_WITHIN).dropDuplicatesWithinWatermark(["unique"])
    data = (F.col(f"{topic}.data").alias(topic) for topic in FORMATS)
    return once.select("key", "value", "topic", "partition", "offset", "timestamp", "error", *data)
