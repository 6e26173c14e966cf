"""Template `cdc`: the changes of a database table, applied to a Delta table by AUTO CDC. Pure."""

from odradek.spark.pipeline.templates.shared import (
    DEAD_LETTERS,
    DECODED,
    DELTA_SPEC,
    IGNORED,
    IMPORTS_WITHOUT_FUNCTIONS,
)
from odradek.spark.pipeline.templates.template import Template

_CHANGES = f'''\
"""Topic @TOPIC@, the changes of a database table → Delta table customers, as the database table is now.

Malformed changes → topic @TOPIC@.dead.
"""

{IMPORTS_WITHOUT_FUNCTIONS}
# A change is a JSON object as Debezium writes it (without schemas): op is c, u, d or r for create, update, delete, read;
# before and after are the row; source.lsn, the position in the database's log, orders the changes of a row. Change this
# to the columns of your table. Fields that are not listed here are ignored.
ROW = "STRUCT<id: BIGINT, name: STRING, country: STRING>"
EVENT = json(f"op STRING NOT NULL, before {{ROW}}, after {{ROW}}, source STRUCT<lsn: BIGINT> NOT NULL")


{DECODED}

@dp.temporary_view
def changes() -> DataFrame:
    rows = accepted(spark.readStream.table("decoded"), "event.error").select("event.data.*")
    return rows.selectExpr(
        "coalesce(after.id, before.id) AS id",  # a deleted row has no `after`
        "after.name",
        "after.country",
        "source.lsn",
        "op",
    )


# The table has the newest version of each row, also when changes arrive out of order or more than once. AUTO CDC needs
# a table format in which rows can be updated and deleted, such as Delta; Parquet is not one.
dp.create_streaming_table("customers")

dp.create_auto_cdc_flow(
    target="customers",
    source="changes",
    keys=["id"],
    sequence_by="lsn",
    apply_as_deletes="op = 'd'",
    except_column_list=["op", "lsn"],
)


{DEAD_LETTERS}'''

_BY_COUNTRY = """\
-- Computed anew in each update, in Parquet files that anything can read: storage/warehouse/customers_by_country.
CREATE MATERIALIZED VIEW customers_by_country USING PARQUET AS
SELECT country, count(*) AS customers, array_join(sort_array(collect_list(name)), ', ') AS names
FROM customers GROUP BY country;
"""

_SAMPLE = """\
{"op": "c", "before": null, "after": {"id": 1, "name": "Ada", "country": "GB"}, "source": {"lsn": 101}}
{"op": "c", "before": null, "after": {"id": 2, "name": "Kurt", "country": "AT"}, "source": {"lsn": 102}}
{"op": "c", "before": null, "after": {"id": 3, "name": "Emmy", "country": "DE"}, "source": {"lsn": 103}}
{"op": "u", "before": {"id": 2, "name": "Kurt", "country": "AT"}, "after": {"id": 2, "name": "Kurt", "country": "US"}, "source": {"lsn": 105}}
{"op": "u", "before": {"id": 3, "name": "Emmy", "country": "DE"}, "after": {"id": 3, "name": "Emmy", "country": "US"}, "source": {"lsn": 104}}
{"op": "d", "before": {"id": 1, "name": "Ada", "country": "GB"}, "after": null, "source": {"lsn": 106}}
"""  # noqa: E501 - a record is one line

CDC = Template(
    name="cdc",
    summary="changes of a database table (Debezium) into a Delta table with its current rows, by AUTO CDC",
    default_topic="customers.changes",
    topics=("@TOPIC@", "@TOPIC@.dead"),
    files={
        "spark-pipeline.yml": DELTA_SPEC,
        "transformations/changes.py": _CHANGES,
        "transformations/customers_by_country.sql": _BY_COUNTRY,
        "changes.jsonl": _SAMPLE,
        ".gitignore": IGNORED,
    },
    samples={"changes.jsonl": "@TOPIC@"},
    result=(
        'python -c "import sys, pyarrow.parquet as pq; print(pq.read_table(sys.argv[1]).to_pylist())" '
        "@PROJECT@/storage/warehouse/customers_by_country"
    ),
)
