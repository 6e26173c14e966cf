"""Facts about the installed PySpark, read from its files without an import, which takes a second."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

#: The oldest release with Declarative Pipelines, and with the classes that `pyspark_features` requires.
OLDEST_SPARK = "4.1"

_VERSION = re.compile(r"^__version__(?::\s*str)?\s*=\s*[\"']([^\"']+)", re.MULTILINE)


@cache
def spark_directory() -> Path | None:
    """Return the directory of the package `pyspark`, or None if it is not installed."""
    spec = find_spec("pyspark")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


@cache
def spark_version() -> str | None:
    directory = spark_directory()
    if directory is None:
        return None
    match = _VERSION.search((directory / "version.py").read_text())
    return None if match is None else match[1]


def spark_release() -> str | None:
    """Return the major and minor version, such as 4.2, which is part of the names of packages for Spark."""
    version = spark_version()
    return None if version is None else ".".join(version.split(".")[:2])


def pipelines_problem() -> str | None:
    """Return why the installed Spark cannot run pipelines, or None, also if Spark is not installed."""
    directory = spark_directory()
    if directory is None or (directory / "pipelines").is_dir():
        return None
    return (
        f"Spark {spark_version()} has no Declarative Pipelines; "
        f"odradek pipeline requires {OLDEST_SPARK} or newer: pip install 'pyspark[pipelines]>={OLDEST_SPARK},<5'"
    )
