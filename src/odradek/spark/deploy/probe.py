"""What a Python process of Spark has and can reach: sent to every executor, and run on the driver.

The function is pickled by value (see `odradek.spark.portable`): it has to work where the package is missing, and where
PyArrow is.
"""

import sys

from pyspark import cloudpickle

from odradek.spark.portable import load_class


def probe(request: str) -> str:
    """Take JSON with `addresses` (pairs of host and port) and `connect_timeout_s`; return JSON with what was found.

    `pause_s` keeps the process busy, so that Spark gives the next task to another executor."""
    import importlib
    import json
    import os
    import platform
    import socket
    import sys
    import sysconfig
    import time

    asked = json.loads(request)

    def version_of(package: str) -> str | None:
        try:
            return str(getattr(importlib.import_module(package), "__version__", "unknown"))
        except Exception:  # noqa: BLE001 - a package may fail to import in any way
            return None

    def parent_of(pid: int) -> int:
        """The JVM starts a daemon that starts the workers. Without /proc the daemon has to do."""
        try:
            with open(f"/proc/{pid}/stat") as stream:
                return int(stream.read().rpartition(")")[2].split()[1])
        except OSError:
            return pid

    def reach(host: str, port: int) -> str | None:
        try:
            socket.create_connection((host, port), asked["connect_timeout_s"]).close()
        except OSError as error:
            return str(error.strerror or error)
        return None

    found = {
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
        "brokers": {f"{host}:{port}": reach(host, port) for host, port in asked["addresses"]},
    }
    try:
        load_class("odradek.spark.source", "OdradekDataSource")
        package = importlib.import_module("odradek")
        found["odradek"] = package.__version__
        found["odradek_path"] = os.path.dirname(str(package.__file__))
        found["plain_modules"] = importlib.import_module("odradek.common.hot_modules").plain_modules()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        found["error"] = str(error)
    os.environ.pop("SPARK_HIDE_TRACEBACK", None)  # the process goes on with other tasks
    time.sleep(asked.get("pause_s", 0))
    return json.dumps(found)


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
