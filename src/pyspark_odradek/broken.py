"""The data source of an incomplete installation: each use raises an error that names the missing package."""

import os
import sys
from typing import NoReturn

from pyspark.sql.datasource import DataSource

_HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"


def broken_source(reason: str) -> type[DataSource]:
    """Return a data source `odradek` that raises ImportError with the remedy in one sentence."""
    message = (
        f"odradek is installed in {sys.executable}, which Spark's driver uses, and cannot be imported there: {reason}; "
        f"run `{sys.executable} -m pip install 'odradek[spark]'`"
    )

    class BrokenDataSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "odradek"

        def __init__(self, options: dict[str, str]) -> None:
            self._raise()

        def _raise(self) -> NoReturn:
            os.environ[_HIDE_TRACEBACK] = "1"
            raise ImportError(message)

    return BrokenDataSource
