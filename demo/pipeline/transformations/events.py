"""From the topics into tables: decoded strictly, cleaned, each event once. What is rejected goes to the dead letters.

Events are told from their duplicates by their id for half a minute after the first of them was produced. That is by the
time at which a record was produced, not by the time that the event itself gives: events come late, records do not.
"""

from pyspark import pipelines as dp
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark import formats
from odradek.spark.dead_letters import accepted, rejected

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
#: What a decoded event must be, beyond its types.
RULES = {
    "orders": ("customer > 0", "quantity > 0", "cents >= 0"),
    "payments": ("cents >= 0",),
    "clicks": ("customer > 0",),
}
#: An event that is older when it is produced is a dead letter: the windows it belongs to are over.
TOO_LATE_MS = 120_000
#: A duplicate may be produced so long after the first, a broker's outage included.
AGAIN_WITHIN = "30 seconds"


def read(topics: str, group: str) -> DataFrame:
    options = {
        "kafka.bootstrap.servers": spark.conf.get("spark.shop.bootstrap"),
        "subscribe": topics,
        "startingOffsets": "earliest",
        "lagGroup": group,
    }
    return spark.readStream.format("odradek").options(**options).load()


def error_of(topic: str, decoded: str) -> Column:
    """Why an event is rejected; null where it is not. `decoded` is the column that `formats.decode` made."""
    broken = [F.when(~F.expr(f"{decoded}.data.{rule}"), F.lit(f"not so: {rule}")) for rule in RULES[topic]]
    age_ms = F.unix_millis("timestamp") - F.col(f"{decoded}.data.at_ms")
    too_late = F.when(age_ms > TOO_LATE_MS, F.concat(F.lit("too late by "), age_ms - TOO_LATE_MS, F.lit(" ms")))
    return F.coalesce(f"{decoded}.error", *broken, too_late)


def define_table(topic: str) -> None:
    @dp.table(name=topic, format="parquet", comment=f"The {topic}, cleaned, each once")
    def table() -> DataFrame:
        rows = read(topic, f"shop-{topic}").withColumn("decoded", DECODED[topic])
        good = accepted(rows.withColumn("error", error_of(topic, "decoded")), "error")
        watched = good.withWatermark("timestamp", AGAIN_WITHIN)
        once = watched.select("decoded.data.*", F.col("timestamp").alias("produced_at"))
        return once.dropDuplicatesWithinWatermark(["id"])


for topic in FORMATS:
    define_table(topic)

dp.create_sink(
    "dead_letters",
    "odradek",
    {
        "kafka.bootstrap.servers": spark.conf.get("spark.shop.bootstrap"),
        "topic": "dead-letters",
        "delivery": "exactly-once",
        "sinkId": "shop-dead-letters",
    },
)


@dp.append_flow(target="dead_letters")
def dead_letters_flow() -> DataFrame:
    """All topics in one pass: a row is decoded as what its topic holds."""
    rows = read(",".join(FORMATS), "shop-dead-letters")
    for topic, decoded in DECODED.items():
        rows = rows.withColumn(topic, F.when(F.col("topic") == topic, decoded))
    errors = [F.when(F.col("topic") == topic, error_of(topic, topic)) for topic in FORMATS]
    return rejected(rows.withColumn("error", F.coalesce(*errors)), "error", step="clean")
