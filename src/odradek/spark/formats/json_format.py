"""JSON with Spark's own parser, made strict.

Spark's from_json reports malformed JSON and fields of a wrong type, but ignores data after the first value, accepts any
value for a string, and does not enforce required fields. So:

* The text is parsed as the first of two elements of an array. The second is an additional object with a hash of the
  text: data after the first value makes three elements, or malformed JSON, or hides the hash.
* If the parsed value of a string field occurs in quotes in the text, it was a string there. Only if that is undecided
  are the strings parsed again as variants, which retain their type.
* Required fields are checked for nulls afterwards, at any depth.

The reason of an error is determined only for invalid values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from odradek.spark.formats.checks import as_nullable, bound, data_or_error, missing, once, reasons
from odradek.spark.formats.json_checks import explain_invalid, mistyped_strings, unknown_fields
from odradek.spark.formats.schemas import Schema, load_schema, struct_type

_END, _CORRUPT = "_odradek_end", "_odradek_corrupt"

#: Instead of Spark's defaults, which accept more than JSON.
_STRICT = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _CORRUPT,
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}

#: Spark's default would truncate microseconds.
_WRITING = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


def json(
    schema: Schema | None = None,
    *,
    schema_file: str | Path | None = None,
    unknown_fields: bool = True,
    options: Mapping[str, str] | None = None,
) -> "JsonFormat":
    """Return the JSON format of a schema: DDL or a StructType, or a file. NOT NULL fields are required.

    `unknown_fields=False` rejects fields that are not in the schema. `options` are Spark's options for JSON, such as
    timestampFormat."""
    return JsonFormat(load_schema(schema, schema_file), unknown_fields, tuple((options or {}).items()))


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """JSON with one schema."""

    source_schema: Schema
    unknown_fields: bool
    options: tuple[tuple[str, str], ...]

    def schema(self) -> StructType:
        return as_nullable(struct_type(self.source_schema))

    def decoded(self, column: Column) -> Column:
        schema = struct_type(self.source_schema)
        text = column.cast("string")
        wrapped = F.concat(F.lit('{"d":['), text, F.lit(f',{{"{_END}":'), F.xxhash64(text), F.lit("}]}"))
        parsed = F.from_json(wrapped, _parsing_schema(schema), self._reading)
        return once(bound(parsed, lambda parsed: self._validated(column, text, parsed, schema)))

    @property
    def _reading(self) -> dict[str, str]:
        return {**_STRICT, **dict(self.options)}

    def encoded(self, column: Column) -> Column:
        return F.to_json(column, {**_WRITING, **dict(self.options)}).cast("binary")

    def _validated(self, column: Column, text: Column, parsed: Column, schema: StructType) -> Column:
        raw, end = F.get(parsed["d"], F.lit(0)), F.get(parsed["d"], F.lit(1))
        data = F.struct(*(raw[field.name].alias(field.name) for field in schema.fields))
        is_alone = F.coalesce((F.size(parsed["d"]) == 2) & (end[_END] == F.xxhash64(text)), F.lit(False))
        is_invalid = parsed[_CORRUPT].isNotNull() | ~is_alone
        errors = [
            F.when(~F.is_valid_utf8(column), F.lit("not valid UTF-8")),
            F.when(is_invalid, explain_invalid(text, raw, is_alone, schema)),
            F.when(raw.isNull(), F.lit("not a JSON object: null")),
            *mistyped_strings(text, raw, schema, self._reading),
            *reasons(missing(raw, schema)),
        ]
        if not self.unknown_fields:
            errors += unknown_fields(text, schema)
        return data_or_error(data, F.coalesce(*errors))


def _parsing_schema(schema: StructType) -> StructType:
    fields = as_nullable(schema).fields
    element = StructType([*fields, StructField(_END, LongType())])
    return StructType([StructField("d", ArrayType(element)), StructField(_CORRUPT, StringType())])
