"""JSON by Spark's own parser, made strict.

Spark's from_json gives the text back where it is no JSON or a field is of another type, but overlooks what follows the
first value, takes any value for a string, and knows no required fields. So:

* The text is parsed as the first of an array's two elements. The second is an object of ours with a hash of the text:
  whatever follows the first value makes it three elements, or bad JSON, or hides the hash.
* A string field whose quoted value stands in the text as it was parsed was a string there. Only where that cannot be
  seen are the strings parsed again as variants, which remember what they were.
* What must not be null is looked at afterwards, at any depth.

Reasons are looked for only where something is wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from odradek.spark.formats.checks import as_nullable, bound, missing, once, outcome, reasons
from odradek.spark.formats.json_checks import unknown, why_broken, wrong_strings
from odradek.spark.formats.schemas import Schema, chosen_schema, struct_type

_END, _CORRUPT = "_odradek_end", "_odradek_corrupt"

#: Over Spark's defaults, which take more than JSON for JSON.
_STRICT = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _CORRUPT,
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}

#: Spark's own would cut microseconds off.
_WRITING = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


def json(
    schema: Schema | None = None,
    *,
    schema_file: str | Path | None = None,
    unknown_fields: bool = True,
    options: Mapping[str, str] | None = None,
) -> "JsonFormat":
    """`schema` is DDL or a StructType, or is in a file; NOT NULL fields must be there. `unknown_fields=False` refuses
    what the schema does not name. `options` are Spark's for JSON, such as timestampFormat."""
    return JsonFormat(chosen_schema(schema, schema_file), unknown_fields, tuple((options or {}).items()))


@dataclass(frozen=True, slots=True)
class JsonFormat:
    given: Schema
    unknown_fields: bool
    options: tuple[tuple[str, str], ...]

    def schema(self) -> StructType:
        return as_nullable(struct_type(self.given))

    def decoded(self, column: Column) -> Column:
        schema = struct_type(self.given)
        text = column.cast("string")
        wrapped = F.concat(F.lit('{"d":['), text, F.lit(f',{{"{_END}":'), F.xxhash64(text), F.lit("}]}"))
        parsed = F.from_json(wrapped, _parsing_schema(schema), self._reading)
        return once(bound(parsed, lambda parsed: self._judged(column, text, parsed, schema)))

    @property
    def _reading(self) -> dict[str, str]:
        return {**_STRICT, **dict(self.options)}

    def encoded(self, column: Column) -> Column:
        return F.to_json(column, {**_WRITING, **dict(self.options)}).cast("binary")

    def _judged(self, column: Column, text: Column, parsed: Column, schema: StructType) -> Column:
        raw, end = F.get(parsed["d"], F.lit(0)), F.get(parsed["d"], F.lit(1))
        data = F.struct(*(raw[field.name].alias(field.name) for field in schema.fields))
        is_alone = F.coalesce((F.size(parsed["d"]) == 2) & (end[_END] == F.xxhash64(text)), F.lit(False))
        is_broken = parsed[_CORRUPT].isNotNull() | ~is_alone
        errors = [
            F.when(~F.is_valid_utf8(column), F.lit("no UTF-8")),
            F.when(is_broken, why_broken(text, raw, is_alone, schema)),
            F.when(raw.isNull(), F.lit("no JSON object: null")),
            *wrong_strings(text, raw, schema, self._reading),
            *reasons(missing(raw, schema)),
        ]
        if not self.unknown_fields:
            errors += unknown(text, schema)
        return outcome(data, F.coalesce(*errors))


def _parsing_schema(schema: StructType) -> StructType:
    fields = as_nullable(schema).fields
    element = StructType([*fields, StructField(_END, LongType())])
    return StructType([StructField("d", ArrayType(element)), StructField(_CORRUPT, StringType())])
