"""Rows that a step of a pipeline rejects, as records for a dead-letter topic.

A step has a column with the reason why it rejects a row, or null: `decode` returns one, and `guarded` creates one for
any Python function. `accepted` and `rejected` select rows by that column. A dead letter has the key, the value and the
headers of the original record, so that it can be produced again, and additional headers with the position of the record
and the reason of the rejection; they are those of a service's dead letters (`odradek.common.dead_letter_headers`).
"""

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import DataType, StringType, StructField, StructType

from odradek.common.dead_letter_headers import (
    MESSAGE,
    OFFSET,
    PARTITION,
    PREFIX,
    REASON,
    STEP,
    TEXT_BYTES_MAX,
    TIMESTAMP_MS,
    TOPIC,
    Reason,
)
from odradek.spark.formats.arrow_results import error_text

_HEADERS_TYPE = "array<struct<key:string,value:binary>>"
#: A character has at most four bytes in UTF-8.
_TEXT_CHARACTERS_MAX = TEXT_BYTES_MAX // 4


def accepted(rows: DataFrame, error: Column | str) -> DataFrame:
    """Return the rows without an error, with all columns."""
    return rows.where(_column(error).isNull())


def rejected(
    rows: DataFrame,
    error: Column | str,
    *,
    step: str,
    reason: Reason = Reason.UNDECODABLE,
    with_headers: bool = False,
) -> DataFrame:
    """Return the rows with an error as records for the sink: key, value, headers.

    `rows` must have the columns of the source: key, value, topic, partition, offset, timestamp, and with
    `with_headers` also headers (of a source with includeHeaders). `step` is the name of the step that rejected them,
    `reason` the type of the error.
    """
    origin_headers = {
        TOPIC: F.col("topic"),
        PARTITION: F.col("partition").cast("string"),
        OFFSET: F.col("offset").cast("string"),
        TIMESTAMP_MS: F.unix_millis("timestamp").cast("string"),
        STEP: F.lit(step),
        REASON: F.lit(reason.value),
        MESSAGE: F.substring(_column(error), 1, _TEXT_CHARACTERS_MAX),
    }
    added = F.array(*(F.struct(F.lit(key), value.cast("binary")) for key, value in origin_headers.items()))
    headers = added.cast(_HEADERS_TYPE)
    if with_headers:
        headers = F.concat(_original_headers(), headers)
    return rows.where(_column(error).isNotNull()).select("key", "value", headers.alias("headers"))


def guarded(function: Callable[..., Any], returns: DataType | str) -> Callable[..., Column]:
    """Return a user-defined function whose exceptions become errors of the row and do not fail the job.

    It takes the arguments of `function`, one row at a time, and returns `struct<data, error>`, as `decode` does.
    """
    data_type = DataType.fromDDL(returns) if isinstance(returns, str) else returns
    result = StructType([StructField("data", data_type), StructField("error", StringType())])

    def attempt(*values: Any) -> tuple[Any, str | None]:
        try:
            return function(*values), None
        except Exception as error:  # noqa: BLE001 - any exception is an error of this row
            return None, error_text(error)

    # Spark evaluates deterministic expressions again for each filter that it pushes below them.
    return F.udf(attempt, result, useArrow=True).asNondeterministic()


def _original_headers() -> Column:
    """Return the headers of the original record, without those of an earlier rejection."""
    headers = F.filter("headers", lambda header: ~header["key"].startswith(PREFIX))
    return F.coalesce(headers, F.array()).cast(_HEADERS_TYPE)


def _column(column: Column | str) -> Column:
    return F.col(column) if isinstance(column, str) else column
