"""The data source `odradek` for PySpark. Only here is PySpark imported."""

from odradek.spark.registration import register

__all__ = ["register"]
