"""Entry point for Spark, which imports every module named `pyspark_…` and registers its `DefaultSource`, so that
`format("odradek")` is available once the package is installed.

If a module cannot be imported, Spark finds no data source at all, and logs a warning that nobody sees. So there is a
replacement that reports what is missing.
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
