"""Facts about the installed PySpark that its files tell, without importing it: an import takes a second."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

#: The oldest release with Declarative Pipelines, and with the classes that `pyspark_features` names.
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
    found = _VERSION.search((directory / "version.py").read_text())
    return None if found is None else found[1]


def spark_release() -> str | None:
    """Return the major and minor version, such as 4.2: packages for Spark have it in their names."""
    version = spark_version()
    return None if version is None else ".".join(version.split(".")[:2])


def pipelines_problem() -> str | None:
    """Return why the installed Spark cannot run pipelines, or None. One that is not installed is no problem here."""
    directory = spark_directory()
    if directory is None or (directory / "pipelines").is_dir():
        return None
    return (
        f"Spark {spark_version()} has no Declarative Pipelines; "
        f"odradek pipeline requires {OLDEST_SPARK} or newer: pip install 'pyspark[pipelines]>={OLDEST_SPARK},<5'"
    )
