"""Spark imports every module named `pyspark_…`, and registers its `DefaultSource`: `format("odradek")` is there by
itself once the package is installed.

A module that cannot be imported makes Spark find no data source at all, and log a warning that nobody sees. So a data
source takes its place that says what is missing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.spark.source import OdradekDataSource as DefaultSource
else:
    try:
        from odradek.spark.source import OdradekDataSource as DefaultSource
    except ImportError as error:
        from pyspark_odradek.broken import broken_source

        DefaultSource = broken_source(str(error))

__all__ = ["DefaultSource"]
