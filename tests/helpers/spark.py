"""A Spark session for tests: local, small, quick to start, and gone at the end with its JVM.

One session for a module, many jobs on it: the start takes seconds. `connector_jars()` are those of Spark's own Kafka
connector, which the JVM must be started with: `session(directory, jars=connector_jars())`.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pyspark
from pyspark.core.context import SparkContext
from pyspark.sql import SparkSession

from helpers import peers

_STOP_TIMEOUT_S = 120

#: The cheap collector and the quick compiler: tests run for seconds.
_JVM_FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

_SMALL = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": _JVM_FLAGS,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stopTimeout": "60s",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def connector_jars() -> list[Path]:
    found: list[Path] = peers.spark_kafka_jars()
    return found


def environment() -> dict[str, str]:
    """Of a process that starts Spark: its workers run in the tests' environment."""
    return {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def spark_home(directory: Path) -> Path:
    """Spark as it is installed, but without the archive of PySpark, which workers would compile at every start: they
    take the installed one, and start three times as fast. A stream's must have started within ten seconds."""
    installed, home = Path(pyspark.__file__).parent, directory / "home"
    home.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars", "sbin"):
        if not (home / name).exists():
            (home / name).symlink_to(installed / name)
    return home


def settings_of(directory: Path, jars: Iterable[Path] = ()) -> dict[str, str]:
    """What makes a session small; its files go into the directory."""
    places = {"spark.local.dir": str(directory / "local"), "spark.sql.warehouse.dir": str(directory / "warehouse")}
    listed = ",".join(map(str, jars))
    return {**_SMALL, **places, **({"spark.jars": listed} if listed else {})}


@contextmanager
def session(
    directory: Path, *, cores: int = 2, jars: Iterable[Path] = (), settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """`settings` go over those that make it small."""
    assert SparkContext._gateway is None, "this process has a session already"
    with mock.patch.dict(os.environ, environment() | {"SPARK_HOME": str(spark_home(directory))}):
        builder = SparkSession.builder.master(f"local[{cores}]").appName("odradek-tests")
        for name, value in {**settings_of(directory, jars), **(settings or {})}.items():
            builder = builder.config(name, value)
        try:
            spark = builder.getOrCreate()
            yield spark
            spark.stop()
        finally:
            _end_jvm()


def _end_jvm() -> None:
    """PySpark keeps it for the next session, which would not have the settings that a JVM is started with."""
    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    if gateway is None:
        return
    gateway.shutdown()
    process: subprocess.Popen[bytes] = gateway.proc
    assert process.stdin is not None
    process.stdin.close()  # the JVM ends with whom it serves
    process.wait(_STOP_TIMEOUT_S)
