"""Errors of JSON values, as expressions over the text and over the result of Spark's parser."""

import json
from collections.abc import Iterator, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType, VariantType

from odradek.spark.formats.checks import Check, all_of, any_of, as_nullable, bound, joined, reasons

_TRAILING_DATA = "data after the JSON object"


def mistyped_strings(text: Column, raw: Column, schema: StructType, options: Mapping[str, str]) -> list[Column]:
    """Return errors, or null, for fields that must be strings and have another type in the text.

    Spark's parser accepts any value for a string. Parsing strings as variants would detect that, but triples the cost
    of parsing, so it is done only if the text itself does not prove that they are strings."""
    if not _has_text(schema):
        return []

    def explain(variants: Column) -> Column:
        return F.coalesce(*reasons(not_text(variants, schema)), F.lit(None).cast("string"))

    variants = F.from_json(text, as_nullable(schema, VariantType()), dict(options))
    return [F.when(~_shows_strings(text, raw, schema), bound(variants, explain))]


def _shows_strings(text: Column, raw: Column, schema: StructType) -> Column:
    """Return whether the text proves that all parsed strings are strings in the text."""
    fields = list(_string_fields(raw, schema))
    if any(field is None for field in fields):
        return F.lit(False)
    checks = [_shows_string(text, name, value) for name, value in (field for field in fields if field is not None)]
    return all_of([~F.contains(text, F.lit("\\")), *checks])


def _string_fields(raw: Column, schema: StructType) -> Iterator[tuple[str, Column] | None]:
    """Yield names and values of strings, also in structs; None for strings in arrays and maps, which have no name."""
    for field in schema.fields:
        if isinstance(field.dataType, StringType):
            yield field.name, raw[field.name]
        elif isinstance(field.dataType, StructType):
            yield from _string_fields(raw[field.name], field.dataType)
        elif _has_text(field.dataType):
            yield None


def _shows_string(text: Column, name: str, value: Column) -> Column:
    """Return whether the value is null, or follows its name in quotes and the name occurs only once.

    In a text without escapes, a name in quotes stands for itself, and a value looks as it was parsed.
    """
    key = json.dumps(name, ensure_ascii=False)
    first = F.instr(text, key)
    is_only = F.position(F.lit(key), text, first + 1) == 0
    quoted = F.concat(value, F.lit('"'))
    is_quoted = F.contains(text, F.concat(F.lit(f'{key}:"'), quoted)) | F.contains(
        text, F.concat(F.lit(f'{key}: "'), quoted)
    )
    return value.isNull() | (is_only & is_quoted)


def not_text(raw: Column, data_type: DataType, path: str = "") -> Iterator[Check]:
    """Yield checks for values that must be strings and are not; `raw` was parsed with variants instead of strings."""
    if isinstance(data_type, StringType):
        yield ~F.schema_of_variant(raw).isin("STRING", "VOID"), f"field {path} is not of type STRING"
    elif isinstance(data_type, StructType):
        for field in data_type.fields:
            yield from not_text(raw[field.name], field.dataType, joined(path, field.name))
    elif isinstance(data_type, ArrayType | MapType) and _has_text(_inside(data_type)):
        inside = _inside(data_type)
        values = raw if isinstance(data_type, ArrayType) else F.map_values(raw)
        is_mistyped = F.exists(values, lambda element: any_of(check for check, _ in not_text(element, inside)))
        yield is_mistyped, f"a value in field {path} is not of type STRING"


def _has_text(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return any(_has_text(field.dataType) for field in data_type.fields)
    return (
        _has_text(_inside(data_type))
        if isinstance(data_type, ArrayType | MapType)
        else isinstance(data_type, StringType)
    )


def _inside(data_type: ArrayType | MapType) -> DataType:
    return data_type.elementType if isinstance(data_type, ArrayType) else data_type.valueType


def explain_invalid(text: Column, raw: Column, is_alone: Column, schema: StructType) -> Column:
    """Return the error of a text that the parser rejected: often the first field that is null although the text has a
    value for it."""

    def explain(document: Column) -> Column:
        return F.coalesce(
            F.when(document.isNull(), F.lit("not valid JSON")),
            F.when(~F.schema_of_variant(document).startswith("OBJECT"), F.lit("not a JSON object")),
            F.when(~is_alone, F.lit(_TRAILING_DATA)),
            *reasons(_mistyped(document, raw, schema)),
            F.lit("a field does not have the type of the schema"),
        )

    return bound(F.try_parse_json(text), explain)


def _mistyped(
    document: Column, raw: Column, schema: StructType, path: str = "", json_path: str = "$"
) -> Iterator[Check]:
    for field in schema.fields:
        name, inner = joined(path, field.name), raw[field.name]
        field_path = f'{json_path}["{field.name}"]'
        if isinstance(field.dataType, StructType):
            yield from _mistyped(document, inner, field.dataType, name, field_path)
        is_present = F.schema_of_variant(F.variant_get(document, field_path, "variant")) != "VOID"
        yield inner.isNull() & is_present, f"field {name} is not of type {field.dataType.simpleString().upper()}"


def unknown_fields(text: Column, data_type: DataType, path: str = "") -> Iterator[Column]:
    """Yield errors, or null, for fields that are not in the schema, at any depth. Each depth is parsed again."""
    if isinstance(data_type, StructType):
        fields = F.from_json(text, "map<string,string>")
        names = [field.name for field in data_type.fields]
        first = F.get(F.filter(F.map_keys(fields), lambda key: ~key.isin(names)), F.lit(0))
        yield F.concat(F.lit(f"field {joined(path, '')}"), first, F.lit(" is not in the schema"))
        for field in data_type.fields:
            yield from unknown_fields(fields[field.name], field.dataType, joined(path, field.name))
    elif isinstance(data_type, ArrayType | MapType) and _has_struct(data_type):
        inside = _inside(data_type)
        texts = F.from_json(text, "array<string>")
        if isinstance(data_type, MapType):
            texts = F.map_values(F.from_json(text, "map<string,string>"))
        has_unknown = F.exists(texts, lambda element: F.coalesce(*unknown_fields(element, inside)).isNotNull())
        yield F.when(has_unknown, F.lit(f"field {path} has fields that are not in the schema"))


def _has_struct(data_type: DataType) -> bool:
    return (
        _has_struct(_inside(data_type))
        if isinstance(data_type, ArrayType | MapType)
        else isinstance(data_type, StructType)
    )
