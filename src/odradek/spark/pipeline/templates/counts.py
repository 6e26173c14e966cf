"""Template `counts`: events of each type in each minute, into a table and a topic. Pure."""

from odradek.spark.pipeline.templates.shared import DEAD_LETTERS, DECODED, EXACTLY_ONCE, IGNORED, IMPORTS, PARQUET_SPEC
from odradek.spark.pipeline.templates.template import Template

_EVENTS = f'''\
"""Topic @TOPIC@ → table events; table counts (counts.sql) → topic @TOPIC@.counts.

Malformed events → topic @TOPIC@.dead.
"""

{IMPORTS}
# An event is a JSON object such as
#   {{"id": "a1", "type": "click", "amount": 1.5, "time": "2026-01-31T12:00:00Z"}}
# Change this to the fields of your events: NOT NULL makes a field required. There are also csv, avro and protobuf.
EVENT = json("id STRING NOT NULL, type STRING NOT NULL, amount DOUBLE, time TIMESTAMP NOT NULL")


{DECODED}

# A table: Parquet files in storage/warehouse/events.
@dp.table
def events() -> DataFrame:
    rows = accepted(spark.readStream.table("decoded"), "event.error")
    return rows.select("event.data.*", "partition", "offset")


{DEAD_LETTERS}

{EXACTLY_ONCE}\
dp.create_sink(
    "counts_topic",
    "odradek",
    {{
        "kafka.bootstrap.servers": BOOTSTRAP,
        "topic": "@TOPIC@.counts",
        "delivery": "exactly-once",
        "sinkId": "@NAME@-counts",
    }},
)


@dp.append_flow(target="counts_topic")
def send_counts() -> DataFrame:
    return spark.readStream.table("counts").select(F.col("type").alias("key"), F.to_json(F.struct("*")).alias("value"))
'''

_COUNTS = """\
-- Number of events of each type in each minute, in storage/warehouse/counts. A minute is written once, as soon as there
-- are events from one minute after its end: that long the query waits for late events (the watermark). Events that come
-- even later are not counted.
CREATE STREAMING TABLE counts AS
SELECT type, window.start AS minute, count(*) AS events, sum(amount) AS amount
FROM STREAM events WATERMARK time DELAY OF INTERVAL 1 MINUTE
GROUP BY window(time, '1 minute'), type;
"""

_SAMPLE = """\
{"id": "a1", "type": "book", "amount": 20.0, "time": "2026-01-31T12:00:10Z"}
{"id": "a2", "type": "book", "amount": 12.5, "time": "2026-01-31T12:00:40Z"}
{"id": "a3", "type": "pen", "amount": 2.5, "time": "2026-01-31T12:01:00Z"}
{"id": "a4", "type": "pen", "amount": "3,50", "time": "2026-01-31T12:04:30Z"}
{"id": "a5", "type": "pen", "amount": 3.0, "time": "2026-01-31T12:05:00Z"}
"""

COUNTS = Template(
    name="counts",
    summary="JSON events of a topic into a table, counted by minute into another topic, exactly once",
    default_topic="events",
    topics=("@TOPIC@", "@TOPIC@.counts", "@TOPIC@.dead"),
    files={
        "spark-pipeline.yml": PARQUET_SPEC,
        "transformations/events.py": _EVENTS,
        "transformations/counts.sql": _COUNTS,
        "events.jsonl": _SAMPLE,
        ".gitignore": IGNORED,
    },
    samples={"events.jsonl": "@TOPIC@"},
    result="odradek consume @TOPIC@.counts --from earliest --until-end",
)
