"""Pickling of classes that Spark sends to other Python processes, in which the package may not be on the path.

Spark pickles a data source, its readers and its writers, and pickle stores only the names of classes: the receiver
needs the package on its path, as it is where the package is installed. But a process that Spark starts for a data
source that it discovered itself, not through `register`, does not get the files of `--py-files` on its path, although
they are in its directory. And if the package is missing, `ModuleNotFoundError` with a traceback of Spark's code does
not help.

So classes of the type `Portable` are pickled as a call of `load_class`, and that function is pickled by value: it works
in every process of Spark, and needs only the standard library.
"""

import copyreg
import sys
from abc import ABCMeta
from typing import Any

from pyspark import cloudpickle


class Portable(ABCMeta):
    """Metaclass of classes that can be loaded where the package is only in a file of `--py-files`."""


def load_class(module: str, name: str) -> Any:
    """Return a class of the package. Raise ModuleNotFoundError, with the remedy in one sentence.

    The package may not be importable where this runs: all that it needs is imported or defined here."""
    import glob
    import importlib
    import os
    import socket
    import sys

    def refuse(reason: str) -> ModuleNotFoundError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # the traceback would only show Spark's code
        return ModuleNotFoundError(
            f"{reason}; start the job with one of the options that `odradek spark package` prints, or run "
            f"`pip install 'odradek[spark]'` with that Python on every machine of the cluster"
        )

    here = f"{sys.executable} on {socket.gethostname()}"
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "odradek":
            raise refuse(f"the Python of this process, {here}, cannot import odradek: {error}") from None
    except ImportError as error:
        raise refuse(f"the Python of this process, {here}, cannot import odradek: {error}") from None
    for directory in list(sys.path):
        for path in sorted(glob.glob(os.path.join(glob.escape(directory or "."), "odradek-spark*.zip"))):
            sys.path.insert(1, path)
            importlib.invalidate_caches()
            try:
                return getattr(importlib.import_module(module), name)
            except ImportError as error:
                raise refuse(
                    f"the Python of this process, {here}, cannot import odradek from {path}: {error}"
                ) from None
    raise refuse(f"odradek is not installed in the Python of this process, {here}")


def _reduce(cls: type) -> tuple[object, tuple[str, str]]:
    return load_class, (cls.__module__, cls.__qualname__)


copyreg.pickle(Portable, _reduce)  # type: ignore[arg-type]  # its stub knows instances of classes only
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
