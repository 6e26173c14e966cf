"""What a query reads, by the plan that Spark prints."""

from odradek.spark.pipeline.live.inputs import Inputs, inputs_of

TABLES = ("spark_catalog.default.clicks", "spark_catalog.default.orders", "spark_catalog.default.payments")

#: As Spark 4.2 prints a materialized view over two tables of a pipeline and a temporary view of a CSV file.
EXPLAINED = """\
== Parsed Logical Plan ==
'Aggregate ['category], ['category, 'count_if('is_click) AS clicks#1]
+- 'Join UsingJoin(Inner, [product])
   :- 'SubqueryAlias __auto_generated_subquery_name
   :  +- 'UnresolvedRelation [payments], [], false

== Analyzed Logical Plan ==
category: string, clicks: bigint, orders: bigint
Aggregate [category#31], [category#31, count_if(is_click#2) AS clicks#3L]
+- Project [product#7, is_click#2, category#31]
   +- Join Inner, (product#7 = product#30)
      :- SubqueryAlias __auto_generated_subquery_name
      :  +- Union false, false
      :     :- Project [product#7, true AS is_click#2]
      :     :  +- SubqueryAlias spark_catalog.default.clicks
      :     :     +- Relation spark_catalog.default.clicks[id#5,customer#6,product#7] parquet
      :     +- Project [product#14, false AS false#4]
      :        +- SubqueryAlias spark_catalog.default.orders
      :           +- Relation spark_catalog.default.orders[id#12,product#14] parquet
      +- SubqueryAlias products
         +- View (`products`, [product#30, category#31])
            +- Relation [product#30,category#31,name#32,price_cents#33L] csv

== Optimized Logical Plan ==
Aggregate [category#31], [category#31]
"""


def test_tables_behind_subqueries_and_views_and_files() -> None:
    tables = frozenset({"spark_catalog.default.clicks", "spark_catalog.default.orders"})
    assert inputs_of(EXPLAINED, TABLES) == Inputs(tables, reads_files=True, is_opaque=False)


def test_a_source_that_is_neither_a_table_nor_files_is_opaque() -> None:
    explained = (
        "== Analyzed Logical Plan ==\nkey: binary\nRelationV2[key#1, value#2] odradek\n\n== Optimized Logical Plan =="
    )
    assert inputs_of(explained, TABLES) == Inputs(frozenset(), reads_files=False, is_opaque=True)
