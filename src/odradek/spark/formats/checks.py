"""Expressions that judge parsed data: what is missing, and why a value is refused."""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

#: When something is wrong, and what to say then.
Check = tuple[Column, str]


def bound(value: Column, make: Callable[[Column], Column]) -> Column:
    """`make` of a value that is computed once, however often `make` names it: Spark would parse as often."""
    return F.get(F.transform(F.array(value), make), F.lit(0))


def once(value: Column) -> Column:
    """The value, not computed again for each filter over it: Spark moves filters below what is deterministic, and
    computes it there too."""
    return F.when(F.spark_partition_id() >= 0, value)


def outcome(data: Column, error: Column) -> Column:
    """`struct<data, error>`, one of them null."""
    return bound(error, lambda error: F.struct(F.when(error.isNull(), data).alias("data"), error.alias("error")))


def reasons(checks: Iterable[Check]) -> list[Column]:
    """One for each check, null where it finds nothing."""
    return [F.when(is_wrong, F.lit(said)) for is_wrong, said in checks]


def any_of(conditions: Iterable[Column]) -> Column:
    return reduce(lambda one, other: one | other, conditions, F.lit(False))


def all_of(conditions: Iterable[Column]) -> Column:
    return reduce(lambda one, other: one & other, conditions, F.lit(True))


def missing(value: Column, kind: DataType, path: str = "") -> Iterator[Check]:
    """What must not be null and is, at any depth."""
    if isinstance(kind, StructType):
        for field in kind.fields:
            inner, name = value[field.name], joined(path, field.name)
            if not field.nullable:
                yield value.isNotNull() & inner.isNull(), f"field {name} is missing or null"
            yield from missing(inner, field.dataType, name)
    elif isinstance(kind, ArrayType):
        yield from _missing_in_each(value, kind.elementType, kind.containsNull, path)
    elif isinstance(kind, MapType):
        yield from _missing_in_each(F.map_values(value), kind.valueType, kind.valueContainsNull, path)


def _missing_in_each(values: Column, kind: DataType, may_be_null: bool, path: str) -> Iterator[Check]:
    if not may_be_null:
        yield F.exists(values, lambda each: each.isNull()), f"field {path} has nulls in it"
    if has_required(kind):
        found = F.exists(values, lambda each: any_of(is_wrong for is_wrong, _ in missing(each, kind)))
        yield found, f"something is missing or null in field {path}"


def has_required(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(not field.nullable or has_required(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return not kind.containsNull or has_required(kind.elementType)
    return isinstance(kind, MapType) and (not kind.valueContainsNull or has_required(kind.valueType))


def as_nullable(schema: StructType, text: DataType | None = None) -> StructType:
    """Data may be absent at every depth: that is how it is told that there is none. `text`: in place of strings."""
    return StructType([StructField(each.name, _nullable(each.dataType, text)) for each in schema.fields])


def _nullable(kind: DataType, text: DataType | None) -> DataType:
    if isinstance(kind, StructType):
        return as_nullable(kind, text)
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType, text))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _nullable(kind.valueType, text))
    if isinstance(kind, StringType) and text is not None:
        return text
    return kind


def joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
