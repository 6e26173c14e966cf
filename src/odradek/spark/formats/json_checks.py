"""What is wrong with JSON, as expressions over its text and over what Spark's parser made of it."""

import json
from collections.abc import Iterator, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType, VariantType

from odradek.spark.formats.checks import Check, all_of, any_of, as_nullable, bound, joined, reasons

_FOLLOWS = "something follows the JSON object"


def wrong_strings(text: Column, raw: Column, schema: StructType, options: Mapping[str, str]) -> list[Column]:
    """Reasons, null where there is none: fields that must be strings and are something else in the text.

    Spark's parser takes any value for a string. Reading strings as variants would tell, but costs three times the
    parsing, so it is done only where the text itself does not show that they are strings.
    """
    if not _has_text(schema):
        return []

    def explained(variants: Column) -> Column:
        return F.coalesce(*reasons(not_text(variants, schema)), F.lit(None).cast("string"))

    variants = F.from_json(text, as_nullable(schema, VariantType()), dict(options))
    return [F.when(~_shows_strings(text, raw, schema), bound(variants, explained))]


def _shows_strings(text: Column, raw: Column, schema: StructType) -> Column:
    """Whether the text proves that all strings that were parsed from it are strings there."""
    fields = list(_string_fields(raw, schema))
    if any(field is None for field in fields):
        return F.lit(False)
    shown = [_shows_string(text, name, value) for name, value in (field for field in fields if field is not None)]
    return all_of([~F.contains(text, F.lit("\\")), *shown])


def _string_fields(raw: Column, schema: StructType) -> Iterator[tuple[str, Column] | None]:
    """Names and values of strings, also in structs; None for strings in arrays and maps, which have no name."""
    for field in schema.fields:
        if isinstance(field.dataType, StringType):
            yield field.name, raw[field.name]
        elif isinstance(field.dataType, StructType):
            yield from _string_fields(raw[field.name], field.dataType)
        elif _has_text(field.dataType):
            yield None


def _shows_string(text: Column, name: str, value: Column) -> Column:
    """Whether the value is null, or follows its name in quotes where that name is the only one of its kind.

    Without escapes in the text, a name in quotes can only be itself, and a value reads as it was parsed.
    """
    key = json.dumps(name, ensure_ascii=False)
    first = F.instr(text, key)
    is_only = F.position(F.lit(key), text, first + 1) == 0
    quoted = F.concat(value, F.lit('"'))
    is_quoted = F.contains(text, F.concat(F.lit(f'{key}:"'), quoted)) | F.contains(
        text, F.concat(F.lit(f'{key}: "'), quoted)
    )
    return value.isNull() | (is_only & is_quoted)


def not_text(raw: Column, kind: DataType, path: str = "") -> Iterator[Check]:
    """Where a string was asked for and something else is there; `raw` was read with variants in place of strings."""
    if isinstance(kind, StringType):
        yield ~F.schema_of_variant(raw).isin("STRING", "VOID"), f"field {path} is no STRING"
    elif isinstance(kind, StructType):
        for field in kind.fields:
            yield from not_text(raw[field.name], field.dataType, joined(path, field.name))
    elif isinstance(kind, ArrayType | MapType) and _has_text(_inside(kind)):
        inside = _inside(kind)
        values = raw if isinstance(kind, ArrayType) else F.map_values(raw)
        found = F.exists(values, lambda each: any_of(is_wrong for is_wrong, _ in not_text(each, inside)))
        yield found, f"in field {path} something is no STRING"


def _has_text(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_text(field.dataType) for field in kind.fields)
    return _has_text(_inside(kind)) if isinstance(kind, ArrayType | MapType) else isinstance(kind, StringType)


def _inside(kind: ArrayType | MapType) -> DataType:
    return kind.elementType if isinstance(kind, ArrayType) else kind.valueType


def why_broken(text: Column, raw: Column, is_alone: Column, schema: StructType) -> Column:
    """Of text that the parser refused, the first field that is null although the text has something there."""

    def explained(whole: Column) -> Column:
        return F.coalesce(
            F.when(whole.isNull(), F.lit("no JSON")),
            F.when(~F.schema_of_variant(whole).startswith("OBJECT"), F.lit("no JSON object")),
            F.when(~is_alone, F.lit(_FOLLOWS)),
            *reasons(_mistyped(whole, raw, schema)),
            F.lit("a field is of another type than the schema's"),
        )

    return bound(F.try_parse_json(text), explained)


def _mistyped(whole: Column, raw: Column, schema: StructType, path: str = "", place: str = "$") -> Iterator[Check]:
    for field in schema.fields:
        name, inner, there = joined(path, field.name), raw[field.name], f'{place}["{field.name}"]'
        if isinstance(field.dataType, StructType):
            yield from _mistyped(whole, inner, field.dataType, name, there)
        is_there = F.schema_of_variant(F.variant_get(whole, there, "variant")) != "VOID"
        yield inner.isNull() & is_there, f"field {name} is no {field.dataType.simpleString().upper()}"


def unknown(text: Column, kind: DataType, path: str = "") -> Iterator[Column]:
    """Reasons, null where there is none: fields that the schema does not name, at any depth. It parses each depth
    anew."""
    if isinstance(kind, StructType):
        fields = F.from_json(text, "map<string,string>")
        names = [field.name for field in kind.fields]
        first = F.get(F.filter(F.map_keys(fields), lambda key: ~key.isin(names)), F.lit(0))
        yield F.concat(F.lit(f"field {joined(path, '')}"), first, F.lit(" is not in the schema"))
        for field in kind.fields:
            yield from unknown(fields[field.name], field.dataType, joined(path, field.name))
    elif isinstance(kind, ArrayType | MapType) and _has_struct(kind):
        inside = _inside(kind)
        texts = F.from_json(text, "array<string>")
        if isinstance(kind, MapType):
            texts = F.map_values(F.from_json(text, "map<string,string>"))
        found = F.exists(texts, lambda each: F.coalesce(*unknown(each, inside)).isNotNull())
        yield F.when(found, F.lit(f"in field {path} there are fields that are not in the schema"))


def _has_struct(kind: DataType) -> bool:
    return _has_struct(_inside(kind)) if isinstance(kind, ArrayType | MapType) else isinstance(kind, StructType)
