"""Template `cdc`: the changes of a database table, and the table as it is now. Pure.

Spark's AUTO CDC would do the second part, but it writes only to tables that support row-level operations through
Spark's catalog API (SupportsRowLevelOperations). No open table format that runs on Spark 4.2 or 4.3 has such tables:
Delta 4.4.0 implements MERGE in another way, and there is no Iceberg for these versions. So the template computes the
same in a materialized view, which works with every format, and shows AUTO CDC in a comment.
"""

from odradek.spark.pipeline.templates.shared import (
    DEAD_LETTERS,
    DECODED,
    IGNORED,
    IMPORTS_WITHOUT_FUNCTIONS,
    PARQUET_SPEC,
)
from odradek.spark.pipeline.templates.template import Template

_CHANGES = f'''\
"""Topic @TOPIC@, the changes of a database table → table changes → materialized view customers (customers.sql).

Malformed changes → topic @TOPIC@.dead.
"""

{IMPORTS_WITHOUT_FUNCTIONS}
# A change is a JSON object as Debezium writes it (without schemas): op is c, u, d or r (create, update, delete, read);
# before and after are the row; source.lsn, the position in the database's log, orders the changes of a row. Change this
# to the columns of your table. Fields that are not listed here are ignored.
ROW = "STRUCT<id: BIGINT, name: STRING, country: STRING>"
EVENT = json(f"op STRING NOT NULL, before {{ROW}}, after {{ROW}}, source STRUCT<lsn: BIGINT> NOT NULL")


{DECODED}

# The history of the table: Parquet files in storage/warehouse/changes.
@dp.table
def changes() -> DataFrame:
    rows = accepted(spark.readStream.table("decoded"), "event.error").select("event.data.*")
    return rows.selectExpr(
        "coalesce(after.id, before.id) AS id",  # a deleted row has no `after`
        "after.name",
        "after.country",
        "source.lsn",
        "op",
    )


# With a table format that supports row-level operations through Spark's catalog API, AUTO CDC keeps the current rows up
# to date without computing them anew. With Spark 4.2, neither Parquet nor Delta 4.4.0 is such a format. It would be,
# instead of customers.sql:
#
#   dp.create_streaming_table("customers")
#   dp.create_auto_cdc_flow(
#       target="customers",
#       source="changes",
#       keys=["id"],
#       sequence_by="lsn",
#       apply_as_deletes="op = 'd'",
#       except_column_list=["op", "lsn"],
#   )


{DEAD_LETTERS}'''

_CUSTOMERS = """\
-- The table as it is now: the newest version of each row by its position in the database's log, also when changes come
-- out of order or more than once, and without the rows that were deleted. Computed anew in each update.
CREATE MATERIALIZED VIEW customers AS
SELECT id, newest.name, newest.country
FROM (SELECT id, max_by(struct(op, name, country), lsn) AS newest FROM changes GROUP BY id)
WHERE newest.op <> 'd'
ORDER BY id;
"""

_SAMPLE = """\
{"op": "c", "before": null, "after": {"id": 1, "name": "Ada", "country": "GB"}, "source": {"lsn": 101}}
{"op": "c", "before": null, "after": {"id": 2, "name": "Kurt", "country": "AT"}, "source": {"lsn": 102}}
{"op": "u", "before": {"id": 3}, "after": {"id": 3, "name": "Emmy", "country": "US"}, "source": {"lsn": 105}}
{"op": "c", "before": null, "after": {"id": 3, "name": "Emmy", "country": "DE"}, "source": {"lsn": 103}}
{"op": "u", "before": {"id": 2}, "after": {"id": 2, "name": "Kurt", "country": "US"}, "source": {"lsn": 104}}
{"op": "d", "before": {"id": 1, "name": "Ada", "country": "GB"}, "after": null, "source": {"lsn": 106}}
"""

CDC = Template(
    name="cdc",
    summary="changes of a database table (Debezium): their history, and the table as it is now",
    default_topic="customers.changes",
    topics=("@TOPIC@", "@TOPIC@.dead"),
    files={
        "spark-pipeline.yml": PARQUET_SPEC,
        "transformations/changes.py": _CHANGES,
        "transformations/customers.sql": _CUSTOMERS,
        "changes.jsonl": _SAMPLE,
        ".gitignore": IGNORED,
    },
    samples={"changes.jsonl": "@TOPIC@"},
    result=(
        'python -c "import sys, pyarrow.parquet as pq; print(pq.read_table(sys.argv[1]).to_pylist())" '
        "@PROJECT@/storage/warehouse/customers"
    ),
)
