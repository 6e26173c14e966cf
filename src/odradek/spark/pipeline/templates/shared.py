"""Parts that several templates have in common: the spec, what Git ignores, the dead letters of JSON events. Pure."""

_SPEC = """\
# A project of Spark Declarative Pipelines. Check it, run it, look at it:
#   odradek pipeline check
#   odradek pipeline run                              all records that there are, once
#   odradek pipeline run --continuous --trigger 5s    until Ctrl-C
#   odradek pipeline status
name: @NAME@

# Checkpoints, tables (storage/warehouse, one directory for each), Spark's log. A directory of this project, or a URI
# such as s3a://bucket/@NAME@.
storage: storage

# The definitions: Python and SQL files, in any order; Spark finds out what depends on what.
libraries:
  - glob:
      include: transformations/**

# Settings of Spark; values are strings, in quotes.
configuration:
  spark.sql.session.timeZone: "UTC"
  # Number of tasks of a step that regroups rows: some for each core. A flow with state keeps the number it began with.
  spark.sql.shuffle.partitions: "2"
"""

_DELTA_SETTINGS = (
    ("spark.sql.sources.default", "delta"),
    ("spark.jars.packages", "io.delta:delta-spark_4.2_2.13:4.4.0"),
    ("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension"),
    ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"),
)

_DELTA_LINES = "".join(f'  {name}: "{value}"\n' for name, value in _DELTA_SETTINGS)

PARQUET_SPEC = f"""{_SPEC}\
  # Tables as Delta instead of Parquet:
{_DELTA_LINES.replace("  spark", "  #   spark")}"""

DELTA_SPEC = f"""{_SPEC}\
  # Tables that name no format are Delta tables. Spark downloads the package when it first starts; without a network,
  # set spark.jars to the paths of delta-spark_4.2_2.13-4.4.0.jar and delta-storage-4.4.0.jar instead.
{_DELTA_LINES}"""

IGNORED = "storage/\n__pycache__/\n"

#: The beginning of a file with Python definitions.
IMPORTS = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from odradek.spark.dead_letters import accepted, rejected
from odradek.spark.formats import decode, json

spark = SparkSession.active()

BOOTSTRAP = "@BOOTSTRAP@"
"""

IMPORTS_WITHOUT_FUNCTIONS = IMPORTS.replace("from pyspark.sql import functions as F\n", "")

#: The body of a function that returns the decoded records of @TOPIC@; EVENT is the format of their values.
DECODED_RECORDS = """\
    records = (
        spark.readStream.format("odradek")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .option("kafka.isolation.level", "read_committed")  # without records of aborted transactions
        .option("subscribe", "@TOPIC@")
        .option("startingOffsets", "earliest")  # of the first run; later runs continue where the last one ended
        .option("maxOffsetsPerTrigger", 100_000)  # records in a micro-batch
        .option("includeHeaders", "true")  # dead letters keep them
        .load()
    )
    # event.data is the event; where a value cannot be decoded, it is null and event.error says why.
    return records.withColumn("event", decode("value", EVENT))
"""

#: A view `decoded` of the records of @TOPIC@.
DECODED = f"""\
# A view stores nothing; each flow that reads it reads the topic.
@dp.temporary_view
def decoded() -> DataFrame:
{DECODED_RECORDS}"""

#: A sink for dead letters, and the flow that writes them.
DEAD_LETTERS = """\
# Dead letters keep key, value and headers of the record; more headers say where it came from and what was wrong:
#   odradek pipeline dead-letters list
#   odradek pipeline dead-letters show
#   odradek pipeline dead-letters replay --fix 'value.replace(b"x", b"y")'
dp.create_sink("dead_letters", "odradek", {"kafka.bootstrap.servers": BOOTSTRAP, "topic": "@TOPIC@.dead"})


@dp.append_flow(target="dead_letters")
def dead_letters() -> DataFrame:
    return rejected(spark.readStream.table("decoded"), "event.error", step="decode", with_headers=True)
"""

#: What is said of a sink that writes exactly once.
EXACTLY_ONCE = """\
# exactly-once: a crash neither loses nor repeats a row for consumers that read with isolation.level=read_committed.
# sinkId identifies the sink after a restart; each sink needs its own.
"""
