"""Template `delta`: a topic into a Delta table. Pure."""

from odradek.spark.pipeline.templates.shared import DEAD_LETTERS, DECODED, DELTA_SPEC, IGNORED, IMPORTS
from odradek.spark.pipeline.templates.template import Template

_EVENTS = f'''\
"""Topic @TOPIC@ → Delta table events; malformed events → topic @TOPIC@.dead."""

{IMPORTS}
# An event is a JSON object such as
#   {{"id": "a1", "type": "click", "amount": 1.5, "time": "2026-01-31T12:00:00Z"}}
# Change this to the fields of your events: NOT NULL makes a field required. There are also csv, avro and protobuf.
EVENT = json("id STRING NOT NULL, type STRING NOT NULL, amount DOUBLE, time TIMESTAMP NOT NULL")


{DECODED}

# A Delta table, by spark.sql.sources.default in the spec: storage/warehouse/events, one directory for each day. Readers
# see each micro-batch as a whole, and none twice. Do not write format="delta" here: see docs/pipeline.md.
@dp.table(partition_cols=["day"])
def events() -> DataFrame:
    rows = accepted(spark.readStream.table("decoded"), "event.error")
    return rows.select("event.data.*", "partition", "offset", F.to_date("event.data.time").alias("day"))


{DEAD_LETTERS}'''

_DAILY = """\
-- Computed anew in each update, in Parquet files that anything can read: storage/warehouse/daily.
CREATE MATERIALIZED VIEW daily USING PARQUET AS
SELECT day, type, count(*) AS events, sum(amount) AS amount FROM events GROUP BY day, type ORDER BY day, type;
"""

_SAMPLE = """\
{"id": "a1", "type": "book", "amount": 20.0, "time": "2026-01-31T12:00:10Z"}
{"id": "a2", "type": "book", "amount": 12.5, "time": "2026-01-31T23:59:59Z"}
{"id": "a3", "type": "pen", "amount": 2.5, "time": "2026-02-01T00:00:00Z"}
"""

DELTA = Template(
    name="delta",
    summary="JSON events of a topic into a Delta table, and a summary by day",
    default_topic="events",
    topics=("@TOPIC@", "@TOPIC@.dead"),
    files={
        "spark-pipeline.yml": DELTA_SPEC,
        "transformations/events.py": _EVENTS,
        "transformations/daily.sql": _DAILY,
        "events.jsonl": _SAMPLE,
        ".gitignore": IGNORED,
    },
    samples={"events.jsonl": "@TOPIC@"},
    result=(
        'python -c "import sys, pyarrow.parquet as pq; print(pq.read_table(sys.argv[1]).to_pylist())" '
        "@PROJECT@/storage/warehouse/daily"
    ),
)
