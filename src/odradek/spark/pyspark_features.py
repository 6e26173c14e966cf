"""Features of the installed PySpark, detected by inspection: the only module about differences of Spark versions.

Spark 4.1 is the oldest that is supported: the sink of a stream takes Arrow batches (`DataSourceStreamArrowWriter`),
formats are Arrow functions (`arrow_udf`) and pipelines are Declarative Pipelines, all of which 4.1 introduced.

Spark 4.1 calls `latestOffset()` without the beginning of the next micro-batch, and has no read limits for sources in
Python; 4.2 introduced both, with `pyspark.sql.streaming.datasource`. Where that module is missing the names below are
stand-ins, so that the rest of the package can use them, and `HAS_READ_LIMITS` is false.
"""

from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from odradek.common.failures import InputError
from odradek.spark.installed_spark import OLDEST_SPARK


class UnsupportedSpark(InputError, ImportError):
    """The installed PySpark lacks what the package needs. Also an ImportError, since modules that need it fail to
    import."""


try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:
    raise UnsupportedSpark(
        f"odradek.spark requires Spark {OLDEST_SPARK} or newer, and PySpark {pyspark.__version__} is installed: it has "
        f"no DataSourceStreamArrowWriter, with which streams are written: pip install 'pyspark>={OLDEST_SPARK},<5'"
    ) from None

#: Whether Spark passes the beginning and the limit of a micro-batch, and prepares a source for availableNow.
HAS_READ_LIMITS = find_spec("pyspark.sql.streaming.datasource") is not None

if TYPE_CHECKING or HAS_READ_LIMITS:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
else:
    from dataclasses import dataclass

    class ReadLimit:
        """Stand-in for Spark's class."""

    class ReadAllAvailable(ReadLimit):
        """Stand-in for Spark's class."""

    @dataclass
    class ReadMaxRows(ReadLimit):
        """Stand-in for Spark's class."""

        max_rows: int

    @dataclass
    class ReadMinRows(ReadLimit):
        """Stand-in for Spark's class."""

        min_rows: int

    class SupportsTriggerAvailableNow:
        """Stand-in for Spark's class."""


def utc_arrow_type(data_type: DataType) -> Any:
    """Return the Arrow type of a Spark type, with timestamps in UTC: an argument since Spark 4.2, and the only time
    zone in 4.1."""
    if "timezone" in signature(to_arrow_type).parameters:
        return to_arrow_type(data_type, timezone="UTC")
    return to_arrow_type(data_type)


__all__ = [
    "HAS_READ_LIMITS",
    "DataSourceStreamArrowWriter",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxRows",
    "ReadMinRows",
    "SupportsTriggerAvailableNow",
    "UnsupportedSpark",
    "utc_arrow_type",
]
