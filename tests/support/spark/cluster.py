"""A Spark cluster whose machines do not have Odradek: a standalone one with two workers, and a Spark Connect server.

Master, workers and server are processes of the installed PySpark, started with an environment of their own and in
directories of their own. The `python3` of their PATH is that of a machine on which somebody has prepared PySpark: it
has numpy, pandas and pyarrow, and nothing else of what the tests' environment has. PySpark itself comes from Spark's
own archive, as on every cluster.

    with standalone_cluster(directory) as cluster:
        run(["spark-submit", "--master", cluster.url, …], env=driver_environment(directory))
        cluster.kill_executor()
"""

import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path

import pyspark

from support.peers import jvm
from support.processes.ports import free_rows
from support.processes.process_tree import children, command_of, kill_tree
from support.spark import session as spark
from support.waiting import wait_until

#: JVMs start slowly on a loaded machine.
WAIT_S = 300.0

SPARK_HOME = Path(pyspark.__file__).parent

HOST = "127.0.0.1"

#: What PySpark needs for Arrow, and what that needs.
_MACHINE_PACKAGES = ("numpy", "pandas", "pyarrow", "python-dateutil", "pytz", "tzdata", "six")

_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"

#: Small, with the cheap collector and the quick compiler.
_JVM_FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


def machine_python(directory: Path, packages: tuple[str, ...] = _MACHINE_PACKAGES) -> Path:
    """Make the environment of a machine without Odradek in `directory`, and return its interpreter."""
    venv.create(directory, with_pip=False, symlinks=True)
    (site_packages,) = directory.glob("lib/python*/site-packages")
    for name in packages:
        files = distribution(name).files or ()
        top_level = {Path(file.parts[0]) for file in files if ".." not in file.parts and file.parts[0] != "__pycache__"}
        for entry in sorted(top_level):
            source = Path(str(distribution(name).locate_file(entry)))
            (site_packages / entry.name).symlink_to(source)
    return directory / "bin" / "python3"


def machine_environment(python: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a process on such a machine: nothing of the tests' own environment is in it."""
    return {
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "HOME": str(python.parents[1]),
        "JAVA_HOME": str(jvm.java_home()),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_DAEMON_JAVA_OPTS": _JVM_FLAGS,
        "LC_ALL": "C.UTF-8",
        **(more or {}),
    }


def driver_settings() -> dict[str, str]:
    """Settings of an application that has one small executor on each of the two workers before its first job."""
    return {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": spark.settings_of(Path())["spark.driver.extraJavaOptions"],
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.executor.extraJavaOptions": _JVM_FLAGS,
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{WAIT_S:.0f}s",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }


def conf_options(settings: Mapping[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]


@dataclass
class SparkProcess:
    """A JVM that Spark's scripts started, and its log."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def kill(self) -> None:
        """kill -9, with all that it has started."""
        kill_tree(self.process.pid)
        self.process.wait(WAIT_S)


@dataclass
class StandaloneCluster:
    url: str
    #: The interpreter that the machines have.
    python: Path
    master: SparkProcess
    workers: list[SparkProcess] = field(default_factory=list)
    #: Where each worker has the directories of its applications.
    work_directories: list[Path] = field(default_factory=list)

    def executor_pids(self) -> list[int]:
        """The executors that run now, over all applications."""
        pids = (pid for worker in self.workers for pid in children(worker.process.pid))
        return [pid for pid in pids if _EXECUTOR in command_of(pid)]

    def wait_for_executors(self) -> None:
        """Until both workers have one, as they have again some time after a kill."""
        wait_until(lambda: len(self.executor_pids()) == 2, "two executors run", WAIT_S, self.executor_logs)

    def kill_executor(self, index: int = 0) -> int:
        """kill -9 of one executor and its Python workers. Spark starts another one in its place."""
        pid = self.executor_pids()[index]
        kill_tree(pid)
        return pid

    def executor_logs(self) -> str:
        logs = (path for directory in self.work_directories for path in sorted(directory.glob("app-*/*/stderr")))
        return "\n".join(f"{path}:\n{path.read_text(errors='replace')[-4_000:]}" for path in logs)


@dataclass
class ConnectServer:
    url: str
    server: SparkProcess

    def kill(self) -> None:
        self.server.kill()


@contextmanager
def spark_process(directory: Path, environment: Mapping[str, str], *words: str) -> Iterator[SparkProcess]:
    """A process of one of Spark's own scripts, working in `directory`, where its log is."""
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "process.log"
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [str(SPARK_HOME / "bin" / words[0]), *words[1:]],
            cwd=directory,
            env=dict(environment),
            stdout=stream,
            stderr=stream,
        )
    started = SparkProcess(process, log)
    try:
        yield started
    finally:
        started.kill()


def master_process(directory: Path, url: str, python: Path) -> AbstractContextManager[SparkProcess]:
    """A Master at this address, which knows of no workers and applications yet."""
    words = ("--host", HOST, "--port", url.rpartition(":")[2], "--webui-port", "0")
    name = "org.apache.spark.deploy.master.Master"
    return spark_process(directory, machine_environment(python), "spark-class", name, *words)


@contextmanager
def standalone_cluster(directory: Path, python: Path | None = None) -> Iterator[StandaloneCluster]:
    """A Master and two Workers of one core each, once both are registered."""
    python = python or machine_python(directory / "machine")
    environment = machine_environment(python)
    (port,) = free_rows(1, 1)
    url = f"spark://{HOST}:{port}"
    worker = ("org.apache.spark.deploy.worker.Worker", "--host", HOST, "--cores", "1", "--memory", "1g")
    with ExitStack() as stack:
        started = stack.enter_context(master_process(directory / "master", url, python))
        cluster = StandaloneCluster(url, python, started)
        for name in ("worker-1", "worker-2"):
            work = directory / name / "work"
            words = ("spark-class", *worker, "--work-dir", str(work), "--webui-port", "0", url)
            cluster.workers.append(stack.enter_context(spark_process(directory / name, environment, *words)))
            cluster.work_directories.append(work)
        wait_until(
            lambda: started.log.read_text().count("Registering worker") == 2,
            "two workers are registered",
            WAIT_S,
            started.log.read_text,
        )
        yield cluster


@contextmanager
def connect_server(
    directory: Path,
    python: Path,
    *,
    master: str = "local[2]",
    settings: Mapping[str, str] | None = None,
    options: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    port: int | None = None,
) -> Iterator[ConnectServer]:
    """A Spark Connect server on such a machine, once it listens. With the same `port` it can be started again."""
    port = port or free_rows(1, 1)[0]
    given = {
        **driver_settings(),
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.log.level": "INFO",
        **(settings or {}),
    }
    words = ("spark-submit", "--class", _CONNECT_SERVER, "--master", master, *conf_options(given), *options)
    with spark_process(directory, machine_environment(python, environment), *words, "spark-internal") as started:
        wait_until(
            lambda: "Spark Connect server started at" in started.log.read_text(),
            "the Spark Connect server listens",
            WAIT_S,
            started.log.read_text,
        )
        yield ConnectServer(f"sc://{HOST}:{port}", started)


class RestartedServer:
    """A Spark Connect server that has Odradek and can be killed and started again, with its tables, at one address."""

    def __init__(self, directory: Path, stack: ExitStack, master: str = "local[2]") -> None:
        self._directory = directory
        self._stack = stack
        self._master = master
        self._port = free_rows(1, 1)[0]
        self._starts = 0
        self.warehouse = directory / "warehouse"
        self.url = f"sc://{HOST}:{self._port}"
        self._server = self._start()

    def kill_and_start(self) -> None:
        self._server.kill()
        self._server = self._start()

    def _start(self) -> ConnectServer:
        self._starts += 1
        catalog = f"jdbc:derby:;databaseName={self._directory}/catalog;create=true"
        settings = {
            "spark.sql.warehouse.dir": str(self.warehouse),
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.javax.jdo.option.ConnectionURL": catalog,
        }
        server = connect_server(
            self._directory / f"start-{self._starts}",
            Path(sys.executable),
            master=self._master,
            settings=settings,
            environment=spark.quick_environment(),
            port=self._port,
        )
        return self._stack.enter_context(server)


def driver_environment(python: str = sys.executable) -> dict[str, str]:
    """The variables of a driver in the tests' environment, as after activating it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "SPARK_LOCAL_IP": HOST, "SPARK_HOME": str(SPARK_HOME)}
