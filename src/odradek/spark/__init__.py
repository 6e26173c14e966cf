"""The data source `odradek` for PySpark. Only here is PySpark imported."""

from odradek.spark.registration import register
from odradek.spark.starting import start_stream

__all__ = ["register", "start_stream"]
