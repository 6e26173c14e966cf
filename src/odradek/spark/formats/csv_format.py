"""CSV (RFC 4180) with Spark's own parser, made strict: one line in a value, paired quotes, as many fields as columns.

Spark's from_csv reports a field of a wrong type and a wrong number of fields, but repairs unpaired quotes in its own
way and ignores all lines after the first. So the outline of the text, in which each quoted part is replaced by one
quote, is checked first. Only valid text is parsed: too many fields would fail the job.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from odradek.common.failures import InputError
from odradek.spark.formats.checks import as_nullable, bound, data_or_error, missing, once, reasons
from odradek.spark.formats.schemas import Schema, load_schema, struct_type

_CORRUPT = "_odradek_corrupt"

_STRICT = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _CORRUPT,
    "escape": '"',
    # An empty field is null, unless it is quoted.
    "nullValue": "\0",
}
#: Spark's defaults would truncate microseconds and trim spaces.
_WRITING = {
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
}


def csv(
    schema: Schema | None = None,
    *,
    schema_file: str | Path | None = None,
    separator: str = ",",
    options: Mapping[str, str] | None = None,
) -> "CsvFormat":
    """Return the CSV format of a schema: DDL or a StructType, or a file. NOT NULL fields must not be empty.

    `options` are Spark's options for CSV, such as timestampFormat."""
    if len(separator) != 1 or separator in '"\r\n':
        raise InputError(f"separator: {separator!r} is not a single character other than a quote or a line break")
    return CsvFormat(load_schema(schema, schema_file), separator, tuple((options or {}).items()))


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """CSV with one schema."""

    source_schema: Schema
    separator: str
    options: tuple[tuple[str, str], ...]

    def schema(self) -> StructType:
        return as_nullable(self._checked())

    def decoded(self, column: Column) -> Column:
        text = F.regexp_replace(column.cast("string"), r"\r?\n\z", "")
        result = bound(
            text, lambda text: bound(self._outline_error(column, text), lambda problem: self._parsed(text, problem))
        )
        return once(result)

    def encoded(self, column: Column) -> Column:
        return F.to_csv(column, {**_WRITING, "sep": self.separator, **dict(self.options)}).cast("binary")

    def _checked(self) -> StructType:
        schema = struct_type(self.source_schema)
        for field in schema.fields:
            if isinstance(field.dataType, ArrayType | MapType | StructType):
                raise InputError(f"field {field.name}: CSV does not support type {field.dataType.typeName()}")
        return schema

    def _outline_error(self, column: Column, text: Column) -> Column:
        """Return why the text is not a line with the expected number of fields, or null if it is."""
        separator, expected = re.escape(self.separator), len(self._checked().fields)
        quoted = rf'(?<=\A|{separator})"++(?=\z|{separator})'
        outline = F.regexp_replace(F.regexp_replace(text, '"[^"]*+"', '"'), quoted, "")
        odd_quotes = (F.length(text) - F.length(F.translate(text, '"', ""))) % 2 == 1

        def explain(outline: Column) -> Column:
            fields = F.length(outline) - F.length(F.translate(outline, self.separator, "")) + 1
            return F.coalesce(
                F.when(~F.is_valid_utf8(column), F.lit("not valid UTF-8")),
                F.when(odd_quotes | outline.contains('"'), F.lit("quotes that do not enclose a field")),
                F.when(outline.rlike("[\r\n]"), F.lit("more than one line")),
                F.when(fields != expected, F.concat(fields.cast("string"), F.lit(f" fields, expected {expected}"))),
            )

        return bound(outline, explain)

    def _parsed(self, text: Column, outline_error: Column) -> Column:
        schema = self._checked()
        parsing = StructType([*as_nullable(schema).fields, StructField(_CORRUPT, StringType())])
        parsed = F.when(outline_error.isNull(), self._from_csv(text, parsing))
        return bound(parsed, lambda parsed: self._validated(text, parsed, outline_error, schema))

    def _validated(self, text: Column, parsed: Column, outline_error: Column, schema: StructType) -> Column:
        data = F.struct(*(parsed[field.name].alias(field.name) for field in schema.fields))
        errors = [
            outline_error,
            F.when(parsed[_CORRUPT].isNotNull(), self._field_error(text, parsed, schema)),
            *reasons(missing(data, schema)),
        ]
        return data_or_error(data, F.coalesce(*errors))

    def _field_error(self, text: Column, parsed: Column, schema: StructType) -> Column:
        """Return an error for the first field that is null although the text has a value for it."""
        as_text = StructType([StructField(field.name, StringType()) for field in schema.fields])

        def explain(texts: Column) -> Column:
            checks = (
                (
                    parsed[field.name].isNull() & texts[field.name].isNotNull(),
                    f"field {field.name} is not of type {field.dataType.simpleString().upper()}",
                )
                for field in schema.fields
            )
            return F.coalesce(*reasons(checks), F.lit("a field does not have the type of the schema"))

        return bound(self._from_csv(text, as_text), explain)

    def _from_csv(self, text: Column, schema: StructType) -> Column:
        names = (f"`{field.name.replace('`', '``')}` {field.dataType.simpleString()}" for field in schema.fields)
        return F.from_csv(text, ", ".join(names), {**_STRICT, "sep": self.separator, **dict(self.options)})
