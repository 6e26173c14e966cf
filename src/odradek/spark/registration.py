"""Registration of the data source, also if Spark would start Python processes with an interpreter without Odradek.

Spark looks for data sources in, and starts the processes of tasks with, the interpreter that `PYSPARK_PYTHON` names, or
else the first `python3` of PATH. If a script is started by the path of its interpreter, without activating the
environment, neither Odradek nor its dependencies are installed in that interpreter.
"""

import os
import sys
from typing import TYPE_CHECKING

from odradek.common.extras import require_extra
from odradek.common.failures import InputError
from odradek.spark.installed_spark import spark_directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INTERPRETER = "PYSPARK_PYTHON"


def register(session: "SparkSession", package: str | os.PathLike[str] | None = None) -> None:
    """Register `format("odradek")` with the session, before it is first used.

    In a local session, unless `PYSPARK_PYTHON` is set, Python processes are started with the interpreter of this
    process from now on. Workers of a cluster have their own interpreters, which `PYSPARK_PYTHON` must name.

    `package` is the path of the `odradek-spark.zip` that `odradek spark package` writes: it is sent to the executors,
    and to a Spark Connect server, for sessions that were started without it, such as those of a notebook.
    """
    if spark_directory() is not None:
        import odradek.spark.pyspark_features  # noqa: F401 - raises UnsupportedSpark
    require_extra("spark", "odradek.spark.register")
    from pyspark.sql import SparkSession

    from odradek.spark.source import OdradekDataSource

    # A session of Spark Connect is of another class: its server starts the processes.
    is_classic = isinstance(session, SparkSession)
    if is_classic and str(session.sparkContext.master).startswith("local"):
        session.sparkContext.pythonExec = os.environ.get(_INTERPRETER) or sys.executable
    if package is not None:
        path = os.path.abspath(package)
        if not os.path.isfile(path):
            raise InputError(f"{path} is not a file; `odradek spark package` writes it")
        if is_classic:
            session.sparkContext.addPyFile(path)
        else:
            session.addArtifacts(path, pyfile=True)
    session.dataSource.register(OdradekDataSource)
