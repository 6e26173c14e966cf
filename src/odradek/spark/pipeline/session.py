"""The Spark session that a pipeline runs in: a JVM of our own with a Spark Connect server in it, or somebody else's.

Declarative Pipelines speak Spark Connect. Without `remote` a JVM is started whose server only this process can reach;
it lives in a session of its own, so that Ctrl-C in a terminal does not reach it, and it ends when our end of its
standard input closes, however that comes about.

Tables are known to a catalog that outlives the session (Hive's, in a file of the project's own), since Spark refuses to
make a table where files lie of which its catalog knows nothing.
"""

import importlib
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from odradek.common.failures import InputError
from odradek.spark.pipeline.project import Project
from odradek.spark.pipeline.table_formats import format_defaults

#: A session is given this long to end by itself.
_END_TIMEOUT_S = 60

_CONNECT = "org.apache.spark.sql.connect"

#: Of a server that says no other.
_CONNECT_PORT = 15002
_CONNECT_TIMEOUT_S = 10

_MASTER = re.compile(r"local(-cluster)?(\[.+\])?|spark://.+|k8s://.+|yarn")

#: Settings of processes, not of sessions.
_CORE = (
    "spark.driver.",
    "spark.executor.",
    "spark.jars",
    "spark.master",
    "spark.plugins",
    "spark.ui.",
    "spark.hadoop.",
)

#: Of checkpoints: the usual one starts a process for each file that it renames on a local disk. Two that write one
#: checkpoint it would not notice, but there is a lock against that.
_RENAMING = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"

_FLOW_DEFAULTS = {
    # A query that is triggered as soon as there is data looks for it so often. A look at a table's files costs a few
    # milliseconds: by Spark's default of 10 ms, idle flows would keep a core busy.
    "spark.sql.streaming.pollingDelay": "200ms",
    # A flow that failed is tried again by whoever asked for the update, who knows which failures pass.
    "spark.sql.pipelines.maxFlowRetryAttempts": "0",
    # Spark that is killed while it writes a flow's first offsets leaves an unfinished file, beside which it would never
    # start again.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
}

_LOG4J = """\
rootLogger.level = {level}
rootLogger.appenderRef.all.ref = all
appender.all.type = Console
appender.all.name = all
appender.all.target = SYSTEM_ERR
appender.all.layout.type = PatternLayout
appender.all.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
logger.hive.name = org.apache.hadoop
logger.hive.level = error
logger.listeners.name = org.apache.spark.sql.connect.utils.ErrorUtils
logger.listeners.level = off
"""


@dataclass(frozen=True, slots=True)
class SparkTarget:
    """Target of a session: a master (by default local[*]), or a Spark Connect server."""

    master: str | None = None
    remote: str | None = None
    verbose: bool = False
    #: A file that a JVM of ours keeps open: whoever wants to know whether all of us are gone, looks at its lock.
    kept_fd: int | None = None
    #: Not while another JVM has the catalog open, which only one may.
    opens_catalog: bool = True


class SparkConnection:
    """A session, the URL of its Spark Connect server, and the JVM if it is ours."""

    def __init__(self, session: Any, url: str, jvm: "_Jvm | None") -> None:
        self.session = session
        self.url = url
        self._jvm = jvm
        self._parser_gateway: Any = None

    @property
    def jvm(self) -> "subprocess.Popen[bytes] | None":
        return None if self._jvm is None else self._jvm.process

    def java(self) -> Any:
        """Return py4j's view of a JVM with Spark's classes: the session's, or, when that is behind a Spark Connect
        server, one of our own, which ends with this process."""
        if self._jvm is not None:
            return self._jvm.view
        if self._parser_gateway is None:
            from pyspark import SparkConf
            from pyspark.java_gateway import launch_gateway

            self._parser_gateway = launch_gateway(SparkConf(loadDefaults=False))  # type: ignore[no-untyped-call]
        return self._parser_gateway.jvm

    def executors(self) -> int | None:
        """Return how many executors a cluster has given to a JVM of ours; None where their number says nothing."""
        return None if self._jvm is None else self._jvm.executors()

    def close(self) -> None:
        """Whatever still runs in it is stopped."""
        try:
            self.session.stop()
        finally:
            if self._jvm is not None:
                self._jvm.close()
            if self._parser_gateway is not None:
                self._parser_gateway.shutdown()


def open_session(project: Project, target: SparkTarget) -> SparkConnection:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # A JVM that is started while gRPC is busy would not come up: what gRPC does at a fork spoils the new process.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    if target.remote is not None:
        _check_answers(target.remote)
        return SparkConnection(_connect(target.remote), target.remote, None)
    # Meanwhile the JVM starts: the client's imports take a second of Python, and the JVM takes seconds.
    threading.Thread(target=_import_client, daemon=True).start()
    jvm = _Jvm(project, target)
    try:
        return SparkConnection(_connect(jvm.url), jvm.url, jvm)
    except BaseException:
        jvm.close()
        raise


def check_target(master: str | None, remote: str | None) -> None:
    """Raise InputError for a master or the URL of a server that Spark does not know."""
    if master is not None and not _MASTER.fullmatch(master):
        raise InputError(
            f"--master: {master!r} is not a master, such as local[2], spark://HOST:7077, yarn or k8s://URL"
        )
    if remote is not None:
        _parse_remote(remote)


def _check_answers(url: str) -> None:
    """Spark's client would try for minutes, without a word. Raises InputError or ConnectionError."""
    parts = _parse_remote(url)
    try:
        socket.create_connection((parts.hostname, parts.port or _CONNECT_PORT), _CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise ConnectionError(f"{url} does not answer: {error.strerror or error}") from None


def _parse_remote(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme != "sc" or not parts.hostname:
        raise InputError(f"--remote: {url!r} is not the URL of a Spark Connect server, such as sc://localhost:15002")
    return parts


def is_reachable(url: str) -> bool:
    """Return whether a Spark Connect server accepts connections."""
    try:
        _check_answers(url)
    except ConnectionError:
        return False
    return True


def runtime_settings(session: Any, project: Project) -> dict[str, str]:
    """Set and return the settings of the project that may change while Spark runs; flows take no others."""
    from pyspark.errors import PySparkException

    accepted = {}
    for name, value in {**_FLOW_DEFAULTS, **project.configuration}.items():
        if name.startswith(_CORE):
            continue  # the JVM was started with it
        with suppress(PySparkException):  # so are some of these
            session.conf.set(name, value)
            accepted[name] = value
    return accepted


def _import_client() -> None:
    importlib.import_module("pyspark.sql.connect.session")


def _connect(url: str) -> Any:
    from pyspark.sql.connect.session import SparkSession

    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # what SparkSession.active() of a definition goes by
    builder = SparkSession.builder.remote(url)
    builder.config("spark.sql.connect.serverStacktrace.enabled", "false")
    return builder.getOrCreate()


class _Jvm:
    def __init__(self, project: Project, target: SparkTarget) -> None:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway

        os.environ.setdefault("SPARK_HOME", str(_spark_home(project)))
        token = secrets.token_hex(16)
        os.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"] = token
        conf = SparkConf(loadDefaults=False)
        for name, value in jvm_settings(project, target).items():
            conf.set(name, value)
        inherited = () if target.kept_fd is None else (target.kept_fd,)
        process = {"start_new_session": True, "pass_fds": inherited}
        self._gateway = launch_gateway(conf, process)  # type: ignore[no-untyped-call]
        self.process: subprocess.Popen[bytes] = self._gateway.proc
        try:
            self._context = SparkContext(gateway=self._gateway, conf=conf)
            service = getattr(self._gateway.jvm, f"{_CONNECT}.service.SparkConnectService$")
            port = getattr(service, "MODULE$").localPort()
        except BaseException:
            self._end()
            raise
        if target.opens_catalog:
            threading.Thread(target=self._open_catalog, daemon=True).start()
        self.url = f"sc://localhost:{port}/;token={token}"

    def _open_catalog(self) -> None:
        """Open the catalog of tables, which takes Spark seconds, while the client connects and loads definitions.

        It is shared by all sessions of the JVM. If this fails, so will the first statement, and say why.
        """
        with suppress(Exception):
            builder = self._gateway.jvm.org.apache.spark.sql.classic.SparkSession.builder()
            builder.getOrCreate().sharedState().externalCatalog().databaseExists("default")

    @property
    def view(self) -> Any:
        return self._gateway.jvm

    def executors(self) -> int | None:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        try:
            conf = self._context.getConf()
            is_local = conf.get("spark.master", "").startswith("local")
            if is_local or conf.get("spark.dynamicAllocation.enabled") == "true":
                return None
            return len(self._context._jsc.sc().statusTracker().getExecutorInfos()) - 1  # one of them is the driver
        except Py4JError:  # the JVM is about to end
            return None

    def close(self) -> None:
        try:
            self._context.stop()
        finally:
            self._end()

    def _end(self) -> None:
        self._gateway.shutdown()
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _spark_home(project: Project) -> Path:
    """Link Spark as PySpark brought it, without its archive of PySpark: Python processes would import from that instead
    of what is installed, and compile it each time, for seconds."""
    import pyspark

    home = project.ours / "spark"
    home.mkdir(exist_ok=True)
    for name in ("bin", "jars"):
        link, target = home / name, Path(pyspark.__file__).parent / name
        if link.is_symlink() and link.readlink() == target:
            continue  # a JVM that runs may read from it
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    return home


def jvm_settings(project: Project, target: SparkTarget) -> dict[str, str]:
    """Return the settings of our own JVM: defaults, those of the project, and those that make it reachable."""
    configured = {name: value for name, value in project.configuration.items() if name.startswith("spark.")}
    master = target.master or configured.get("spark.master") or "local[*]"
    settings = {**_defaults(project, is_local=master.startswith("local")), **configured}
    java = f"-Dlog4j2.configurationFile={_log4j_file(project, verbose=target.verbose).as_uri()}"
    java += f' "-Dderby.stream.error.file={project.ours / "derby.log"}"'
    return {
        **settings,
        "spark.master": master,
        "spark.driver.extraJavaOptions": f"{java} {settings.get('spark.driver.extraJavaOptions', '')}".strip(),
        "spark.plugins": ",".join(filter(None, (f"{_CONNECT}.SparkConnectPlugin", configured.get("spark.plugins")))),
        "spark.sql.artifact.isolation.enabled": "true",
        "spark.sql.artifact.isolation.alwaysApplyClassloader": "true",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }


def _defaults(project: Project, *, is_local: bool) -> dict[str, str]:
    here = {}
    if is_local:
        here = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", **format_defaults(project)}
    renaming = {} if project.local_storage is None else {"spark.sql.streaming.checkpointFileManagerClass": _RENAMING}
    return {
        **here,
        **renaming,
        "spark.app.name": project.name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": f"{project.storage.rstrip('/')}/warehouse",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={project.ours}/catalog;create=true",
        **_FLOW_DEFAULTS,
    }


def _log4j_file(project: Project, *, verbose: bool) -> Path:
    path = project.ours / "log4j2.properties"
    path.write_text(_LOG4J.format(level="info" if verbose else "warn"))
    return path
