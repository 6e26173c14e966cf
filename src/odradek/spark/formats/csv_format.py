"""CSV (RFC 4180) by Spark's own parser, made strict: one line in a value, quotes in pairs, as many fields as columns.

Spark's from_csv gives the text back where a field is of another type or there are too many or too few fields, but
mends broken quotes in its own way and overlooks all lines after the first. So the text's outline, the text with every
quoted part made one quote, is looked at first. Only what passes is parsed: too many fields would end the whole job.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from odradek.common.failures import InputError
from odradek.spark.formats.checks import as_nullable, bound, missing, once, outcome, reasons
from odradek.spark.formats.schemas import Schema, chosen_schema, struct_type

_CORRUPT = "_odradek_corrupt"

_STRICT = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _CORRUPT,
    "escape": '"',
    # An empty field is null, unless it is quoted.
    "nullValue": "\0",
}
#: Spark's own would cut microseconds off, and spaces.
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
    """`schema` is DDL or a StructType, or is in a file; NOT NULL fields must not be empty. `options` are Spark's for
    CSV, such as timestampFormat."""
    if len(separator) != 1 or separator in '"\r\n':
        raise InputError(f"separator: {separator!r} is not one character other than quotes and ends of lines")
    return CsvFormat(chosen_schema(schema, schema_file), separator, tuple((options or {}).items()))


@dataclass(frozen=True, slots=True)
class CsvFormat:
    given: Schema
    separator: str
    options: tuple[tuple[str, str], ...]

    def schema(self) -> StructType:
        return as_nullable(self._checked())

    def decoded(self, column: Column) -> Column:
        text = F.regexp_replace(column.cast("string"), r"\r?\n\z", "")
        judged = bound(text, lambda text: bound(self._misshapen(column, text), lambda wrong: self._parsed(text, wrong)))
        return once(judged)

    def encoded(self, column: Column) -> Column:
        return F.to_csv(column, {**_WRITING, "sep": self.separator, **dict(self.options)}).cast("binary")

    def _checked(self) -> StructType:
        schema = struct_type(self.given)
        for field in schema.fields:
            if isinstance(field.dataType, ArrayType | MapType | StructType):
                raise InputError(f"field {field.name}: CSV has no {field.dataType.typeName()}s")
        return schema

    def _misshapen(self, column: Column, text: Column) -> Column:
        """Why the text is no line of so many fields; null where it is one."""
        separator, wanted = re.escape(self.separator), len(self._checked().fields)
        quoted = rf'(?<=\A|{separator})"++(?=\z|{separator})'
        outline = F.regexp_replace(F.regexp_replace(text, '"[^"]*+"', '"'), quoted, "")
        odd_quotes = (F.length(text) - F.length(F.translate(text, '"', ""))) % 2 == 1

        def explained(outline: Column) -> Column:
            fields = F.length(outline) - F.length(F.translate(outline, self.separator, "")) + 1
            return F.coalesce(
                F.when(~F.is_valid_utf8(column), F.lit("no UTF-8")),
                F.when(odd_quotes | outline.contains('"'), F.lit("quotes that do not enclose a field")),
                F.when(outline.rlike("[\r\n]"), F.lit("more than one line")),
                F.when(fields != wanted, F.concat(fields.cast("string"), F.lit(f" fields, not {wanted}"))),
            )

        return bound(outline, explained)

    def _parsed(self, text: Column, misshapen: Column) -> Column:
        schema = self._checked()
        parsing = StructType([*as_nullable(schema).fields, StructField(_CORRUPT, StringType())])
        parsed = F.when(misshapen.isNull(), self._from_csv(text, parsing))
        return bound(parsed, lambda parsed: self._judged(text, parsed, misshapen, schema))

    def _judged(self, text: Column, parsed: Column, misshapen: Column, schema: StructType) -> Column:
        data = F.struct(*(parsed[field.name].alias(field.name) for field in schema.fields))
        found = [
            misshapen,
            F.when(parsed[_CORRUPT].isNotNull(), self._why_broken(text, parsed, schema)),
            *reasons(missing(data, schema)),
        ]
        return outcome(data, F.coalesce(*found))

    def _why_broken(self, text: Column, parsed: Column, schema: StructType) -> Column:
        """The first field that is null although the text has something there."""
        as_text = StructType([StructField(field.name, StringType()) for field in schema.fields])

        def explained(texts: Column) -> Column:
            checks = (
                (
                    parsed[field.name].isNull() & texts[field.name].isNotNull(),
                    f"field {field.name} is no {field.dataType.simpleString().upper()}",
                )
                for field in schema.fields
            )
            return F.coalesce(*reasons(checks), F.lit("a field is of another type than the schema's"))

        return bound(self._from_csv(text, as_text), explained)

    def _from_csv(self, text: Column, schema: StructType) -> Column:
        names = (f"`{field.name.replace('`', '``')}` {field.dataType.simpleString()}" for field in schema.fields)
        return F.from_csv(text, ", ".join(names), {**_STRICT, "sep": self.separator, **dict(self.options)})
