"""A Spark session for tests: local, small, quick to start, and gone at the end with its JVM.

One session for a module, many jobs on it: the start takes seconds. `connector_jars()` are those of Spark's own Kafka
connector, which the JVM must be started with: `session(directory, jars=connector_jars())`.

Two things make starts quick. An archive of Spark's classes is made once and kept in the peers' cache, as
`support.peers.jvm` does for Kafka's: 8 seconds of processor time to the end of the first jobs, and not 13. And workers
take PySpark as it is installed, and not from the archive inside Spark, which each of them would compile anew: 0.4 s and
not 1.3 s.
"""

import functools
import hashlib
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

from support.peers import downloads as peers
from support.peers import jvm

#: With an archive of classes to be written; otherwise a second.
_STOP_TIMEOUT_S = 300

_INSTALLED = Path(pyspark.__file__).parent

#: The cheap collector and the quick compiler: tests run for seconds.
_JVM_FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

_FLAGS = "spark.driver.extraJavaOptions"

_SMALL = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
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


def quick_environment() -> dict[str, str]:
    """The same, of a process that starts quickly with `settings_of`."""
    return environment() | {"SPARK_HOME": str(_spark_home())}


def foreign_environment(directory: Path) -> dict[str, str]:
    """Variables of a process that is started by the path of its interpreter, as by cron: `PYSPARK_PYTHON` is not set,
    and the `python3` of PATH is of no use."""
    directory.mkdir(parents=True, exist_ok=True)
    useless = directory / "python3"
    useless.write_text("#!/bin/sh\necho 'this is another interpreter' >&2\nexit 1\n")
    useless.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name not in environment()}
    home = {"SPARK_HOME": str(_spark_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    return kept | home | {"PATH": f"{directory}{os.pathsep}{os.environ['PATH']}"}


def settings_of(directory: Path, jars: Iterable[Path] = ()) -> dict[str, str]:
    """What makes a session small; its files go into the directory."""
    # What the JVM thinks of the archive is of no interest: it does not take one of other jars, and starts as always.
    quick = {_FLAGS: f"{_JVM_FLAGS} -Xshare:auto -XX:SharedArchiveFile={_class_archive()} -Xlog:disable"}
    return _small(directory) | quick | _jars(jars)


@contextmanager
def session(
    directory: Path, *, cores: int = 2, jars: Iterable[Path] = (), settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """`settings` go over those that make it small."""
    with _session(settings_of(directory, jars) | dict(settings or {}), cores) as spark:
        yield spark


@contextmanager
def _session(settings: Mapping[str, str], cores: int) -> Iterator[SparkSession]:
    assert SparkContext._gateway is None, "this process has a session already"
    with mock.patch.dict(os.environ, quick_environment()):
        builder = SparkSession.builder.master(f"local[{cores}]").appName("odradek-tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        try:
            spark = builder.getOrCreate()
            yield spark
            spark.stop()
        finally:
            _end_jvm()


def _small(directory: Path) -> dict[str, str]:
    places = {"spark.local.dir": str(directory / "local"), "spark.sql.warehouse.dir": str(directory / "warehouse")}
    return _SMALL | places


def _jars(jars: Iterable[Path]) -> dict[str, str]:
    listed = ",".join(map(str, jars))
    return {"spark.jars": listed} if listed else {}


@functools.cache
def _identity() -> str:
    """Another one for another JVM and for another Spark."""
    places = (jvm.java_home(), _INSTALLED, _INSTALLED / "jars")
    known = [(str(place), os.stat(place).st_mtime_ns) for place in places]
    return hashlib.sha256(repr(known).encode()).hexdigest()[:16]


@functools.cache
def _spark_home() -> Path:
    """Spark as it is installed, but for the archive of PySpark. At one place for all: an archive of classes knows where
    their jars lay."""
    return jvm.made_once(f"spark-home-{_identity()}", _link)


def _link(home: Path) -> None:
    home.mkdir()
    for name in ("bin", "jars", "sbin"):
        (home / name).symlink_to(_INSTALLED / name)


@functools.cache
def _class_archive() -> Path:
    return jvm.made_once(f"spark-classes-{_identity()}.jsa", _dump)


def _dump(path: Path) -> None:
    """The classes that a session has loaded by its end."""
    flags = {_FLAGS: f"{_JVM_FLAGS} -XX:ArchiveClassesAtExit={path} -Xlog:disable"}
    with _session(_small(path.parent) | flags, 2) as spark:
        numbers = spark.range(9).selectExpr("id", "id % 3 AS third", "ENCODE(CAST(id AS STRING), 'utf-8') AS value")
        numbers.groupBy("third").count().orderBy("third").collect()
        numbers.write.parquet(str(path.parent / "numbers"))
        stream = spark.readStream.schema(numbers.schema).parquet(str(path.parent / "numbers"))
        writer = stream.writeStream.format("parquet").option("path", str(path.parent / "copies"))
        writer = writer.option("checkpointLocation", str(path.parent / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()


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
