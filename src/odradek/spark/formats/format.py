"""The protocol of formats, and the functions that apply one to a column."""

from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import StructType

NO_VALUE = "there is no value"


class Format(Protocol):
    """A format, created by `json`, `csv`, `avro` or `protobuf`."""

    def schema(self) -> StructType:
        """Return the schema of the data. A session must be active if it was set as text."""

    def decoded(self, column: Column) -> Column:
        """Return `struct<data, error>` for a binary column without nulls, which `decode` handles."""

    def encoded(self, column: Column) -> Column:
        """Return a column of structs as binary."""


def decode(column: Column | str, format: Format, *, tombstones: bool = False) -> Column:
    """Return `struct<data, error>`, one of which is null in each row.

    With `tombstones`, a null value becomes null data without an error; otherwise it is an error.
    """
    value = _column(column).cast("binary")
    reason = F.lit(None if tombstones else NO_VALUE).cast("string")
    absent = F.struct(F.lit(None).cast(format.schema()).alias("data"), reason.alias("error"))
    return F.when(value.isNull(), absent).otherwise(format.decoded(value))


def encode(column: Column | str, format: Format) -> Column:
    """Return a column of structs as binary; null structs stay null."""
    struct = _column(column)
    return F.when(struct.isNotNull(), format.encoded(struct))


def _column(column: Column | str) -> Column:
    return F.col(column) if isinstance(column, str) else column
