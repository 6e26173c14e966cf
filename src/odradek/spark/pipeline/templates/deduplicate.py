"""Template `deduplicate`: each event once, however often it was sent. Pure."""

from odradek.spark.pipeline.templates.shared import (
    DEAD_LETTERS,
    DECODED_RECORDS,
    EXACTLY_ONCE,
    IGNORED,
    IMPORTS,
    PARQUET_SPEC,
)
from odradek.spark.pipeline.templates.template import Template

_EVENTS = f'''\
"""Topic @TOPIC@ → table unique_events, each id once → topic @TOPIC@.unique; malformed events → topic @TOPIC@.dead."""

{IMPORTS}
# An event is a JSON object such as
#   {{"id": "a1", "type": "click", "amount": 1.5, "time": "2026-01-31T12:00:00Z"}}
# Change this to the fields of your events: NOT NULL makes a field required. There are also csv, avro and protobuf.
EVENT = json("id STRING NOT NULL, type STRING NOT NULL, amount DOUBLE, time TIMESTAMP NOT NULL")


def decoded_records() -> DataFrame:
{DECODED_RECORDS}

@dp.temporary_view
def decoded() -> DataFrame:
    return decoded_records()


# The first event with each id; another one with the same id is dropped if it comes within an hour, by the time of the
# events. That long Spark remembers the ids. De-duplication needs to know the columns when it is defined, so that it
# calls the function: a view or a table that is read by its name has no columns yet.
@dp.table
def unique_events() -> DataFrame:
    events = accepted(decoded_records(), "event.error").select("event.data.*")
    return events.withWatermark("time", "1 hour").dropDuplicatesWithinWatermark(["id"])


{DEAD_LETTERS}

{EXACTLY_ONCE}\
dp.create_sink(
    "unique_topic",
    "odradek",
    {{
        "kafka.bootstrap.servers": BOOTSTRAP,
        "topic": "@TOPIC@.unique",
        "delivery": "exactly-once",
        "sinkId": "@NAME@-unique",
    }},
)


@dp.append_flow(target="unique_topic")
def send_unique() -> DataFrame:
    rows = spark.readStream.table("unique_events")
    return rows.select(F.col("id").alias("key"), F.to_json(F.struct("*")).alias("value"))
'''

_SAMPLE = """\
{"id": "a1", "type": "book", "amount": 20.0, "time": "2026-01-31T12:00:10Z"}
{"id": "a2", "type": "book", "amount": 12.5, "time": "2026-01-31T12:00:40Z"}
{"id": "a1", "type": "book", "amount": 20.0, "time": "2026-01-31T12:00:10Z"}
{"id": "a3", "type": "pen", "amount": 2.5, "time": "2026-01-31T12:01:00Z"}
{"id": "a2", "type": "book", "amount": 12.5, "time": "2026-01-31T12:00:40Z"}
"""

DEDUPLICATE = Template(
    name="deduplicate",
    summary="events that were sent more than once, each id once, into another topic, exactly once",
    default_topic="events",
    topics=("@TOPIC@", "@TOPIC@.unique", "@TOPIC@.dead"),
    files={
        "spark-pipeline.yml": PARQUET_SPEC,
        "transformations/events.py": _EVENTS,
        "events.jsonl": _SAMPLE,
        ".gitignore": IGNORED,
    },
    samples={"events.jsonl": "@TOPIC@"},
    result="odradek consume @TOPIC@.unique --from earliest --until-end",
)
