"""What tables of Delta and Iceberg need, by a project's settings.

Tried with Spark 4.2.0: Delta 4.4.0 works in its build for Spark 4.2, where it is the format of all tables that name
none. A definition must not name it: Spark sets the provider of a table anew at each update, which Delta refuses. Of
Iceberg there is no build for Spark 4.2 up to 1.12.0, and the JVM cannot load those for Spark 4.1 and 4.0.
"""

import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from odradek.spark.pipeline.project import Project

#: What they are built for has this in its name.
_SPARK = "4.2"

_DEFAULT = "spark.sql.sources.default"
_JAR_SETTINGS = ("spark.jars.packages", "spark.jars", "spark.driver.extraClassPath")

_DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"
_DELTA_JAR = re.compile(r"delta-spark_(?:(?P<spark>\d+\.\d+)_)?2\.13[:-](?P<version>\d+\.\d+)")
_DELTA_EXTENSION = ("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
_DELTA_CATALOG = ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
#: Until this one, jars without a version of Spark in their name were for Spark 4.1 or older.
_DELTA_MIN = (4, 4)

#: Tasks that read the log of a table, at each change of it. Delta's own 50 are for clusters: with them a small stream
#: from table to table took five times the processor time.
_DELTA_DEFAULTS = {"spark.databricks.delta.snapshotPartitions": "2"}

#: Formats whose tables are not SupportsRowLevelOperations. Delta has MERGE, but by rules of its own.
_WITHOUT_ROW_LEVEL_OPERATIONS = {"parquet", "delta", "orc", "csv", "json", "text", "avro"}

_ICEBERG_JAR = re.compile(r"iceberg-spark-runtime-(?P<spark>\d+\.\d+)_2\.13")


def default_format(project: Project) -> str:
    return project.configuration.get(_DEFAULT, "parquet").lower()


def format_defaults(project: Project) -> dict[str, str]:
    """Settings for a Spark on one machine, unless the project says others."""
    return _DELTA_DEFAULTS if default_format(project) == "delta" else {}


def format_problems(name: str, project: Project) -> Iterator[str]:
    """Why tables of the format cannot be written with what the project says."""
    if name == "delta":
        yield from _delta_problems(project, _jars(project))
    elif name == "iceberg":
        yield from _iceberg_problems(_jars(project))


def naming_problem(name: str) -> str | None:
    """Why a definition must not name the format."""
    if name != "delta":
        return None
    return (
        f"a table that names format delta itself cannot be updated twice (DELTA_CANNOT_CHANGE_PROVIDER): leave the "
        f"format out here, and say it for all tables in configuration: {_DEFAULT}: delta"
    )


def auto_cdc_problem(project: Project, named_formats: Iterable[str]) -> str | None:
    """Why AUTO CDC cannot write any table of the project; None where it might. `named_formats` are those that
    definitions name."""
    formats = {default_format(project), *named_formats}
    if project.catalog not in (None, "spark_catalog") or not formats <= _WITHOUT_ROW_LEVEL_OPERATIONS:
        return None
    return (
        f"AUTO CDC cannot write tables in format {default_format(project)} (AUTOCDC_TARGET_DOES_NOT_SUPPORT_MERGE): it "
        "needs tables that support row-level operations through Spark's catalog API, and those of Parquet and Delta "
        "4.4.0 do not; odradek pipeline init --template cdc makes a project that computes the same in a materialized "
        "view"
    )


def _delta_problems(project: Project, jars: str) -> Iterator[str]:
    missing = [] if "delta-spark" in jars else [("spark.jars.packages", _DELTA)]
    needed = [_DELTA_EXTENSION]
    if project.catalog in (None, "spark_catalog"):
        needed.append(_DELTA_CATALOG)
    missing += [(name, value) for name, value in needed if value not in project.configuration.get(name, "")]
    if missing:
        said = ", ".join(f'{name}: "{value}"' for name, value in missing)
        yield f"tables in format delta need in configuration: {said}"
    found = _DELTA_JAR.search(jars)
    if found is None:
        return
    is_old = found["spark"] is None and tuple(map(int, found["version"].split("."))) < _DELTA_MIN
    if is_old or found["spark"] not in (None, _SPARK):
        yield f"{found[0]} is not for Spark {_SPARK}; {_DELTA} is"


def _iceberg_problems(jars: str) -> Iterator[str]:
    found = _ICEBERG_JAR.search(jars)
    if found is None or found["spark"] != _SPARK:
        given = "" if found is None else f"{found[0]} cannot be loaded by Spark {_SPARK}; "
        yield (
            f"tables in format iceberg need a package iceberg-spark-runtime-{_SPARK}_2.13, and Iceberg had none up to "
            f"1.12.0; {given}parquet and delta work"
        )


def _jars(project: Project) -> str:
    """What the project names, and what was put beside Spark's own."""
    said = [project.configuration.get(name, "") for name in _JAR_SETTINGS]
    pyspark = find_spec("pyspark")
    if pyspark is not None and pyspark.origin is not None:
        said += [path.name for path in (Path(pyspark.origin).parent / "jars").glob("*-spark*")]
    return " ".join(said)
