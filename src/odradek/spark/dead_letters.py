"""Rows that a step of a pipeline rejects, as records for a dead-letter topic.

A step says in a column why it rejects a row, null where it does not: `decode` does, and `guarded` makes such a column
of any Python function. `accepted` and `rejected` part the rows by it. A dead letter has the key, the value and the
headers of the record that it was, so that it can be produced again, and headers of ours that say where it was and why
it was rejected; they are those of a service's dead letters (`odradek.common.dead_letter_headers`).
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
from odradek.spark.formats.arrow_results import why

_HEADERS_TYPE = "array<struct<key:string,value:binary>>"
#: However many bytes they take.
_TEXT_CHARACTERS_MAX = TEXT_BYTES_MAX // 4


def accepted(rows: DataFrame, error: Column | str) -> DataFrame:
    """The rows without an error, all columns as they are."""
    return rows.where(_column(error).isNull())


def rejected(
    rows: DataFrame,
    error: Column | str,
    *,
    step: str,
    reason: Reason = Reason.UNDECODABLE,
    with_headers: bool = False,
) -> DataFrame:
    """The rows with an error as records for the sink: key, value, headers.

    `rows` must have the columns of the source: key, value, topic, partition, offset, timestamp, and with
    `with_headers` also headers (of a source with includeHeaders). `step` names what rejected them, `reason` how.
    """
    ours = {
        TOPIC: F.col("topic"),
        PARTITION: F.col("partition").cast("string"),
        OFFSET: F.col("offset").cast("string"),
        TIMESTAMP_MS: F.unix_millis("timestamp").cast("string"),
        STEP: F.lit(step),
        REASON: F.lit(reason.value),
        MESSAGE: F.substring(_column(error), 1, _TEXT_CHARACTERS_MAX),
    }
    added = F.array(*(F.struct(F.lit(key), value.cast("binary")) for key, value in ours.items()))
    headers = added.cast(_HEADERS_TYPE)
    if with_headers:
        headers = F.concat(_theirs(), headers)
    return rows.where(_column(error).isNotNull()).select("key", "value", headers.alias("headers"))


def guarded(function: Callable[..., Any], returns: DataType | str) -> Callable[..., Column]:
    """A user-defined function whose exceptions are errors of the row and do not end the job.

    It takes what `function` takes, one row at a time, and gives `struct<data, error>` as `decode` does.
    """
    kind = DataType.fromDDL(returns) if isinstance(returns, str) else returns
    result = StructType([StructField("data", kind), StructField("error", StringType())])

    def attempt(*values: Any) -> tuple[Any, str | None]:
        try:
            return function(*values), None
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this row's
            return None, why(error)

    # Spark computes what is deterministic again for each filter over it that it moves.
    return F.udf(attempt, result, useArrow=True).asNondeterministic()


def _theirs() -> Column:
    """The headers that the record had. What was ours in an earlier place is replaced."""
    kept = F.filter("headers", lambda header: ~header["key"].startswith(PREFIX))
    return F.coalesce(kept, F.array()).cast(_HEADERS_TYPE)


def _column(column: Column | str) -> Column:
    return F.col(column) if isinstance(column, str) else column
