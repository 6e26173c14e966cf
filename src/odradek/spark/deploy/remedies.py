"""Remedies for failures of Spark because a machine lacks something. Pure."""

import re

_NOT_FOUND = re.compile(r"DATA_SOURCE_NOT_FOUND\].*?data source: `?odradek`?", re.DOTALL)
_NO_INTERPRETER = re.compile(r'Cannot run program "([^"]+)"')
_VERSIONS = re.compile(r"PYTHON_VERSION_MISMATCH\].*?in worker\D*(\d+\.\d+)\D*in driver\D*(\d+\.\d+)", re.DOTALL)
_NO_MODULE = re.compile(r"No module named '(odradek|pyspark)[.']")
_UNKNOWN_FILES = re.compile(r"LOCATION_ALREADY_EXISTS\].*?table as (\S+?),.*?location '([^']+)'", re.DOTALL)
_NO_ARROW = re.compile(r"PACKAGE_NOT_INSTALLED\] PyArrow")

PACKAGE = "start the job with one of the options that `odradek spark package` prints"


def remedy_for(text: str) -> str | None:
    """Return one sentence with the cause and the remedy for the text of a known error, or None.

    Errors whose text contains their remedy are not included."""
    if _NOT_FOUND.search(text):
        return (
            "Spark does not find the data source odradek in the Python that it starts on the driver, or on the Spark "
            "Connect server; set PYSPARK_PYTHON there to an interpreter with odradek[spark] before Spark starts, or "
            "call odradek.spark.register(spark)"
        )
    interpreter = _NO_INTERPRETER.search(text)
    if interpreter is not None:
        return (
            f"an executor has no Python at {interpreter[1]}: name one that every machine has with "
            f"--conf spark.sql.execution.pyspark.python=…, or {PACKAGE}"
        )
    versions = _VERSIONS.search(text)
    if versions is not None:
        return (
            f"an executor has Python {versions[1]} and the driver {versions[2]}: name one of the same version with "
            f"--conf spark.sql.execution.pyspark.python=…, or {PACKAGE}"
        )
    missing = _NO_MODULE.search(text)
    if missing is not None:
        return f"{missing[1]} is not installed in the Python of an executor: {PACKAGE}"
    unknown = _UNKNOWN_FILES.search(text)
    if unknown is not None:
        return (
            f"there are files of table {unknown[1]} in {unknown[2]}, and Spark's catalog does not know the table: "
            "a Spark Connect server that was started again needs a catalog that it keeps, such as "
            "spark.sql.catalogImplementation=hive with a database of its own"
        )
    if _NO_ARROW.search(text):
        return (
            "PyArrow is not installed in the Python of an executor, and Spark's data sources in Python need it: "
            "pip install pyarrow numpy pandas there, or use the archive that `odradek spark package` writes"
        )
    return None
