"""Classes that Spark sends to other Python processes, and that these find however the package reached their machine.

Spark pickles a data source, its readers and its writers, and pickle only writes down their names: whoever loads them
must have the package on its path. Where it is installed, it has. A process that Spark starts for a data source that it
has found by itself, and not through `register`, does not get the files of `--py-files` on its path, although they lie
in its directory. And where the package is missing, `ModuleNotFoundError` and a traceback of Spark's own code say
nothing about what to do.

So classes of the type `Portable` are pickled as a call of `load_class`, and that function is pickled by value: it
arrives wherever Spark does, and needs nothing but the standard library.
"""

import copyreg
import sys
from abc import ABCMeta
from typing import Any

from pyspark import cloudpickle


class Portable(ABCMeta):
    """The type of a class that can be loaded where the package is only in a file of `--py-files`."""


def load_class(module: str, name: str) -> Any:
    """Return a class of the package. Raise ModuleNotFoundError, with the remedy in one sentence.

    Runs where nothing of the package may be importable: everything it needs is imported or defined here."""
    import glob
    import importlib
    import os
    import socket
    import sys

    def refuse(reason: str) -> ModuleNotFoundError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # it would show Spark's code, and nothing of ours
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
