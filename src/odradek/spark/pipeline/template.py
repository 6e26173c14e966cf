"""The project that `init` makes: a topic of JSON events, cleaned into a table, counted into another and into a topic.

It runs as it stands, and its comments teach what to change. Pure.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    topic: str
    bootstrap: str

    @property
    def counts_topic(self) -> str:
        return f"{self.topic}.counts"

    @property
    def dead_topic(self) -> str:
        return f"{self.topic}.dead"

    @property
    def topics(self) -> tuple[str, ...]:
        return self.topic, self.counts_topic, self.dead_topic

    def files(self) -> dict[str, str]:
        """Texts by path in the project."""
        words = {
            "NAME": self.name,
            "TOPIC": self.topic,
            "BOOTSTRAP": self.bootstrap,
            "COUNTS": self.counts_topic,
            "DEAD": self.dead_topic,
        }
        return {path: _filled(text, words) for path, text in _FILES.items()}


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


_SPEC = """\
# A project of Spark Declarative Pipelines. Check it, run it, look at it:
#   odradek pipeline check
#   odradek pipeline run                              all there is, once
#   odradek pipeline run --continuous --trigger 5s    until Ctrl-C
#   odradek pipeline status
name: @NAME@

# Checkpoints, tables (storage/warehouse, one directory of Parquet files each), Spark's log. A directory of this
# project, or a URI such as s3a://bucket/@NAME@.
storage: storage

# The definitions: Python and SQL, in any order; Spark finds out what depends on what.
libraries:
  - glob:
      include: transformations/**

# Settings of Spark; values are texts, in quotes.
configuration:
  spark.sql.session.timeZone: "UTC"
  # How many tasks a step that regroups rows has: some for each core. A flow that counts keeps the number it began with.
  spark.sql.shuffle.partitions: "2"
  # Tables as Delta instead of Parquet:
  #   spark.sql.sources.default: "delta"
  #   spark.jars.packages: "io.delta:delta-spark_4.2_2.13:4.4.0"
  #   spark.sql.extensions: "io.delta.sql.DeltaSparkSessionExtension"
  #   spark.sql.catalog.spark_catalog: "org.apache.spark.sql.delta.catalog.DeltaCatalog"
"""

_EVENTS = '''\
"""Topic @TOPIC@ → table events; what is no event → topic @DEAD@; table counts (counts.sql) → topic @COUNTS@."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark.dead_letters import accepted, rejected
from odradek.spark.formats import decode, json

spark = SparkSession.active()

BOOTSTRAP = "@BOOTSTRAP@"

# One event is a JSON object such as
#   {"id": "a1", "type": "click", "amount": 1.5, "time": "2026-01-31T12:00:00Z"}
# Change this to what yours are: NOT NULL makes a field required. There are also csv, avro and protobuf.
EVENT = json("id STRING NOT NULL, type STRING NOT NULL, amount DOUBLE, time TIMESTAMP NOT NULL")


# A view keeps nothing; each flow that reads it reads the topic.
@dp.temporary_view
def decoded() -> DataFrame:
    records = (
        spark.readStream.format("odradek")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .option("subscribe", "@TOPIC@")
        .option("startingOffsets", "earliest")  # of the first run; later ones go on where the last one ended
        .option("maxOffsetsPerTrigger", 100_000)  # records in a micro-batch
        .load()
    )
    # event.data is the event, or event.error says why the value is none.
    return records.withColumn("event", decode("value", EVENT))


# A table: Parquet files in storage/warehouse/events.
@dp.table
def events() -> DataFrame:
    rows = accepted(spark.readStream.table("decoded"), "event.error")
    return rows.select("event.data.*", "partition", "offset")


# Dead letters keep key, value and headers; headers of ours say where each came from and what was wrong with it:
#   odradek consume @DEAD@ --from earliest --until-end -f '%s %h\\n'
dp.create_sink("dead_letters", "odradek", {"kafka.bootstrap.servers": BOOTSTRAP, "topic": "@DEAD@"})


@dp.append_flow(target="dead_letters")
def dead_letters() -> DataFrame:
    return rejected(spark.readStream.table("decoded"), "event.error", step="decode")


# exactly-once: a crash neither loses nor repeats a row for consumers that read committed. sinkId is the name under
# which the sink is known after a restart; each sink has its own.
dp.create_sink(
    "counts_topic",
    "odradek",
    {
        "kafka.bootstrap.servers": BOOTSTRAP,
        "topic": "@COUNTS@",
        "delivery": "exactly-once",
        "sinkId": "@NAME@-counts",
    },
)


@dp.append_flow(target="counts_topic")
def send_counts() -> DataFrame:
    return spark.readStream.table("counts").select(F.col("type").alias("key"), F.to_json(F.struct("*")).alias("value"))
'''

_COUNTS = """\
-- Events of each type in each minute, in storage/warehouse/counts. A minute is written once, when events of one minute
-- after its end have come: so long late ones are waited for (the watermark). What is later still is not counted.
CREATE STREAMING TABLE counts AS
SELECT type, window.start AS minute, count(*) AS events, sum(amount) AS amount
FROM STREAM events WATERMARK time DELAY OF INTERVAL 1 MINUTE
GROUP BY window(time, '1 minute'), type;
"""

_IGNORED = "storage/\n__pycache__/\n"

_FILES = {
    "spark-pipeline.yml": _SPEC,
    "transformations/events.py": _EVENTS,
    "transformations/counts.sql": _COUNTS,
    ".gitignore": _IGNORED,
}
