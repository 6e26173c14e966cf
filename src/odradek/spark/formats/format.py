"""What all formats have in common."""

from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import StructType

NO_VALUE = "there is no value"


class Format(Protocol):
    """Made by `json`, `csv`, `avro` or `protobuf`."""

    def schema(self) -> StructType:
        """Of the data. A session must be active where the schema was given as text."""

    def decoded(self, column: Column) -> Column:
        """`struct<data, error>` of a binary column without nulls: they are seen to elsewhere."""

    def encoded(self, column: Column) -> Column:
        """Binary of a column of structs."""


def decode(column: Column | str, format: Format, *, tombstones: bool = False) -> Column:
    """`struct<data, error>`: one of them is null in each row.

    With `tombstones`, a null is let through as null data without an error; otherwise it is an error.
    """
    value = _column(column).cast("binary")
    reason = F.lit(None if tombstones else NO_VALUE).cast("string")
    absent = F.struct(F.lit(None).cast(format.schema()).alias("data"), reason.alias("error"))
    return F.when(value.isNull(), absent).otherwise(format.decoded(value))


def encode(column: Column | str, format: Format) -> Column:
    """Binary of a column of structs; null where it is null."""
    struct = _column(column)
    return F.when(struct.isNotNull(), format.encoded(struct))


def _column(column: Column | str) -> Column:
    return F.col(column) if isinstance(column, str) else column
