"""Names and statements of live mode's tables."""

from pathlib import Path

from odradek.spark.pipeline.live.graph import Namespace, Table
from odradek.spark.pipeline.live.names import checkpoint_directory, quoted
from odradek.spark.pipeline.live.tables import create_statement
from odradek.spark.pipeline.live.views import exchange, local_directory

PLAIN = Table("spark_catalog.default.orders", True, None, None, (), (), {}, None)


def test_names_are_qualified_by_what_they_lack() -> None:
    namespace = Namespace("spark_catalog", "shop")
    assert namespace.qualify("orders") == "spark_catalog.shop.orders"
    assert namespace.qualify("other.orders") == "spark_catalog.other.orders"
    assert namespace.qualify("a.b.orders") == "a.b.orders"


def test_checkpoints_lie_where_updates_have_them() -> None:
    table = checkpoint_directory("spark_catalog.default.orders", "spark_catalog.default.orders_flow")
    assert table == "spark_catalog/default/orders/orders_flow"
    assert checkpoint_directory("sales", "sales_flow") == "sales/sales_flow"


def test_a_table_is_created_with_all_that_its_definition_says() -> None:
    assert create_statement(PLAIN, "id STRING") == "CREATE TABLE `spark_catalog`.`default`.`orders` (id STRING)"
    table = Table("c.d.t", True, "parquet", None, ("day",), (), {"owner": "o'hara"}, "What\nwas sold")
    assert create_statement(table, "id STRING, day DATE") == (
        "CREATE TABLE `c`.`d`.`t` (id STRING, day DATE) USING parquet PARTITIONED BY (`day`) "
        "COMMENT 'What\nwas sold' TBLPROPERTIES ('owner' = 'o\\'hara')"
    )


def test_a_backquote_in_a_name_is_doubled() -> None:
    assert quoted("a.b`c") == "`a`.`b``c`"


def test_directories_change_places(tmp_path: Path) -> None:
    for name in ("table", "next"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    exchange(tmp_path / "next", tmp_path / "table")
    assert [path.name for path in (tmp_path / "table").iterdir()] == ["next"]
    assert [path.name for path in (tmp_path / "next").iterdir()] == ["table"]


def test_only_directories_of_this_machine_are_local() -> None:
    assert local_directory("file:/data/a%20b") == Path("/data/a b")
    assert local_directory("s3a://bucket/data") is None
