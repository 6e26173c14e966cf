"""Reads topics as rows: the data source, its readers of batches and streams, their options, offsets and ranges.

`OdradekDataSource` is found here by name, by `pyspark_odradek` and by the files of `odradek spark package`. It is
imported when it is first used: the modules for options and offsets do not need PySpark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.spark.source.data_source import OdradekDataSource

__all__ = ["OdradekDataSource"]

if not TYPE_CHECKING:  # or a misspelt name would be accepted as Any

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("odradek.spark.source.data_source"), name)
