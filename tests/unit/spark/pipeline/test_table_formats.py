"""What tables of Delta and Iceberg need, and how it is said."""

from pathlib import Path

import pytest

from odradek.spark.pipeline.check import check_project

DELTA = {
    "spark.sql.sources.default": "delta",
    "spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.0",
    "spark.sql.extensions": "a.OfAnother,io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-{}_2.13:1.12.0"


def problems(
    directory: Path, settings: dict[str, str], *, python: str = "", sql: str = "", more: str = ""
) -> list[str]:
    (directory / "transformations").mkdir()
    (directory / "transformations" / "a.py").write_text(python)
    (directory / "transformations" / "b.sql").write_text(sql)
    configuration = "".join(f'  {name}: "{value}"\n' for name, value in settings.items())
    (directory / "spark-pipeline.yml").write_text(
        f"name: shop\nstorage: storage\nlibraries: [{{glob: {{include: transformations/**}}}}]\n{more}"
        f"configuration:\n{configuration}"
    )
    return [str(each) for each in check_project(str(directory), asks_cluster=False, needs_java=False).problems]


@pytest.mark.parametrize(
    "jars",
    [
        {},
        {"spark.jars.packages": "io.delta:delta-spark_2.13:4.4.0"},
        {"spark.jars.packages": "", "spark.jars": "/opt/delta-spark_4.2_2.13-4.4.1.jar,/opt/delta-storage-4.4.1.jar"},
        {"spark.jars.packages": "", "spark.driver.extraClassPath": "/opt/delta-spark/*"},
    ],
)
def test_delta(tmp_path: Path, jars: dict[str, str]) -> None:
    assert problems(tmp_path, {**DELTA, **jars}, python='@dp.table(format="parquet")\ndef a(): ...') == []


def test_delta_of_which_all_is_missing(tmp_path: Path) -> None:
    assert problems(tmp_path, {"spark.sql.sources.default": "delta"}) == [
        "spark-pipeline.yml: tables in format delta need in configuration: "
        'spark.jars.packages: "io.delta:delta-spark_4.2_2.13:4.4.0", '
        'spark.sql.extensions: "io.delta.sql.DeltaSparkSessionExtension", '
        'spark.sql.catalog.spark_catalog: "org.apache.spark.sql.delta.catalog.DeltaCatalog"'
    ]


def test_delta_in_a_catalog_of_its_own(tmp_path: Path) -> None:
    settings = {name: value for name, value in DELTA.items() if "catalog" not in name}
    assert problems(tmp_path, settings, more="catalog: lake\n") == []


@pytest.mark.parametrize(
    "package",
    ["io.delta:delta-spark_4.1_2.13:4.4.0", "io.delta:delta-spark_2.13:4.3.1", "io.delta:delta-spark_2.13:4.0.0"],
)
def test_delta_for_another_spark(tmp_path: Path, package: str) -> None:
    (problem,) = problems(tmp_path, {**DELTA, "spark.jars.packages": package})
    assert "is not for Spark 4.2; io.delta:delta-spark_4.2_2.13:4.4.0 is" in problem


def test_delta_that_a_definition_names(tmp_path: Path) -> None:
    python, sql = '\n@dp.table(format="delta")\ndef a(): ...', "CREATE MATERIALIZED VIEW b USING delta AS SELECT 1;"
    in_python, in_sql = problems(tmp_path, DELTA, python=python, sql=sql)
    assert in_python.startswith(
        "transformations/a.py:2: a table that names format delta itself cannot be updated twice"
    )
    assert in_sql.startswith("transformations/b.sql:1: ") and "spark.sql.sources.default: delta" in in_sql


def test_what_a_format_needs_is_said_once(tmp_path: Path) -> None:
    python, sql = '@dp.table(format="iceberg")\ndef a(): ...', "CREATE MATERIALIZED VIEW b\nUSING iceberg AS SELECT 1;"
    (problem,) = problems(tmp_path, {"spark.jars.packages": ICEBERG.format("4.1")}, python=python, sql=sql)
    assert problem.startswith("transformations/a.py:1: tables in format iceberg need a package")
    assert "iceberg-spark-runtime-4.1_2.13 cannot be loaded by Spark 4.2" in problem


def test_iceberg_for_this_spark_is_not_refused(tmp_path: Path) -> None:
    """Once there is one."""
    settings = {"spark.jars.packages": ICEBERG.format("4.2")}
    assert problems(tmp_path, settings, sql="CREATE STREAMING TABLE a USING iceberg AS SELECT 1;") == []
