"""Probe of a Python process of Spark: its packages and reachable brokers. Runs on every executor and on the driver.

The function is pickled by value (see `odradek.spark.portable`): it must work without the package, and without PyArrow.
"""

import sys

from pyspark import cloudpickle

from odradek.spark.portable import load_class


def probe(request: str) -> str:
    """Take JSON with `addresses` (pairs of host and port) and `connect_timeout_s`; return JSON with the results.

    `pause_s` keeps the process busy, so that Spark schedules the next task on another executor."""
    import importlib
    import json
    import os
    import platform
    import socket
    import sys
    import sysconfig
    import time

    parameters = json.loads(request)

    def version_of(package: str) -> str | None:
        try:
            return str(getattr(importlib.import_module(package), "__version__", "unknown"))
        except Exception:  # noqa: BLE001 - a package may fail to import in any way
            return None

    def parent_of(pid: int) -> int:
        """Return the parent process: the JVM starts a daemon, which starts the workers.

        Without /proc return the daemon."""
        try:
            with open(f"/proc/{pid}/stat") as stream:
                return int(stream.read().rpartition(")")[2].split()[1])
        except OSError:
            return pid

    def reach(host: str, port: int) -> str | None:
        try:
            socket.create_connection((host, port), parameters["connect_timeout_s"]).close()
        except OSError as error:
            return str(error.strerror or error)
        return None

    result = {
        "host": socket.gethostname(),
        "directory": os.getcwd(),
        "jvm": parent_of(os.getppid()),
        "python": sys.executable,
        "version": platform.python_version(),
        "abi": str(sysconfig.get_config_var("SOABI")),
        "packages": {name: version_of(name) for name in ("pyspark", "pyarrow", "numpy", "pandas")},
        "odradek": None,
        "odradek_path": None,
        "plain_modules": [],
        "error": None,
        "brokers": {f"{host}:{port}": reach(host, port) for host, port in parameters["addresses"]},
    }
    try:
        load_class("odradek.spark.source", "OdradekDataSource")
        package = importlib.import_module("odradek")
        result["odradek"] = package.__version__
        result["odradek_path"] = os.path.dirname(str(package.__file__))
        result["plain_modules"] = importlib.import_module("odradek.common.hot_modules").plain_modules()
    except Exception as error:  # noqa: BLE001 - any exception is the result
        result["error"] = str(error)
    os.environ.pop("SPARK_HIDE_TRACEBACK", None)  # the process continues with other tasks
    time.sleep(parameters.get("pause_s", 0))
    return json.dumps(result)


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
