"""Spark imports every module named `pyspark_…`, and registers its `DefaultSource`: `format("odradek")` is there by
itself once the package is installed."""

from odradek.spark.source import OdradekDataSource as DefaultSource

__all__ = ["DefaultSource"]
