"""Where readings come from, and where the averages go."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark import formats

spark = SparkSession.active()

BOOTSTRAP = spark.conf.get("spark.windows.bootstrap")

READING = formats.json("sensor STRING NOT NULL, at TIMESTAMP NOT NULL, celsius DOUBLE NOT NULL")
AVERAGE = formats.json("sensor STRING, minute TIMESTAMP, celsius DOUBLE, readings BIGINT")


# A view for SQL: it has the columns of READING. What is no reading is left out here; examples/dead_letters keeps it.
@dp.temporary_view
def sent_readings() -> DataFrame:
    records = (
        spark.readStream.format("odradek")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .option("subscribe", "readings")
        .option("startingOffsets", "earliest")
        .load()
    )
    decoded = records.select(formats.decode("value", READING).alias("reading"))
    return decoded.where("reading.error IS NULL").select("reading.data.*")


dp.create_sink(
    "averages_topic",
    "odradek",
    {
        "kafka.bootstrap.servers": BOOTSTRAP,
        "topic": "averages",
        "delivery": "exactly-once",
        "sinkId": "windows-averages",
    },
)


@dp.append_flow(target="averages_topic")
def averages_flow() -> DataFrame:
    value = formats.encode(F.struct("sensor", "minute", "celsius", "readings"), AVERAGE)
    return spark.readStream.table("averages").select(F.col("sensor").alias("key"), value.alias("value"))
