"""Requirements of Delta and Iceberg tables, by a project's settings and the version of Spark that is installed.

Each artifact of Delta is built for one minor version of Spark, which its name has. Delta is the format of all tables
that name none: a definition must not name it, because Spark sets the provider of a table anew at each update, which
Delta refuses. Up to 1.12.0 Iceberg has no build for Spark 4.2 or newer, and the JVM cannot load those for Spark 4.1 and
4.0 there.
"""

import re
from collections.abc import Iterable, Iterator

from odradek.spark.installed_spark import spark_directory, spark_release
from odradek.spark.pipeline.project import Project

_DEFAULT = "spark.sql.sources.default"
_JAR_SETTINGS = ("spark.jars.packages", "spark.jars", "spark.driver.extraClassPath")

#: The newest Delta that was tested, by the minor version of Spark that it is built for.
_DELTA = {"4.1": "io.delta:delta-spark_4.1_2.13:4.4.0", "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0"}
_DELTA_JAR = re.compile(r"delta-spark_(?:(?P<spark>\d+\.\d+)_)?2\.13[:-](?P<version>\d+\.\d+)")
_DELTA_EXTENSION = ("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
_DELTA_CATALOG = ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
#: An artifact without a version of Spark in its name is for one: by the version of Delta, the newest first.
_DELTA_UNNAMED = (((4, 4), "4.2"), ((4, 1), "4.1"), ((0, 0), "4.0"))

#: Tasks that read the log of a table, at each change of it. Delta's own 50 are for clusters: with them a small stream
#: from table to table took five times the processor time.
_DELTA_DEFAULTS = {"spark.databricks.delta.snapshotPartitions": "2"}

#: Formats whose tables are not SupportsRowLevelOperations. Delta has MERGE, but by rules of its own.
_WITHOUT_ROW_LEVEL_OPERATIONS = {"parquet", "delta", "orc", "csv", "json", "text", "avro"}

#: Minor versions of Spark for which there is an Iceberg.
_ICEBERG = ("4.1",)
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
    release = spark_release() or max(_DELTA)
    delta = _DELTA.get(release)
    if delta is None:
        extensions = " and ".join(_DELTA)
        yield f"tables in format delta: Delta had no build for Spark {release} up to 4.4.0, only for {extensions}"
        return
    missing = [] if "delta-spark" in jars else [("spark.jars.packages", delta)]
    needed = [_DELTA_EXTENSION]
    if project.catalog in (None, "spark_catalog"):
        needed.append(_DELTA_CATALOG)
    missing += [(name, value) for name, value in needed if value not in project.configuration.get(name, "")]
    if missing:
        settings = ", ".join(f'{name}: "{value}"' for name, value in missing)
        yield f"tables in format delta need in configuration: {settings}"
    jar = _DELTA_JAR.search(jars)
    if jar is not None and _built_for(jar) != release:
        yield f"{jar[0]} is not for Spark {release}; {delta} is"


def _built_for(jar: re.Match[str]) -> str:
    """Return the minor version of Spark that an artifact of Delta is built for."""
    if jar["spark"] is not None:
        return jar["spark"]
    version = tuple(map(int, jar["version"].split(".")))
    return next(release for least, release in _DELTA_UNNAMED if version >= least)


def _iceberg_problems(jars: str) -> Iterator[str]:
    release = spark_release() or max(_DELTA)
    jar = _ICEBERG_JAR.search(jars)
    if jar is None or jar["spark"] != release:
        runtimes = "" if jar is None else f"; {jar[0]} cannot be loaded by Spark {release}"
        none = "" if release in _ICEBERG else ", and Iceberg had none up to 1.12.0; parquet works"
        yield f"tables in format iceberg need a package iceberg-spark-runtime-{release}_2.13{runtimes}{none}"


def _jars(project: Project) -> str:
    """Return the jars that the project names, and those beside Spark's own."""
    jars = [project.configuration.get(name, "") for name in _JAR_SETTINGS]
    directory = spark_directory()
    if directory is not None:
        jars += [path.name for path in (directory / "jars").glob("*-spark*")]
    return " ".join(jars)
