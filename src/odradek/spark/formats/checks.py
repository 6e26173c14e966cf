"""Expressions that validate parsed data: missing fields, and the reason why a value is rejected."""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

#: A condition, and the error if it is true.
Check = tuple[Column, str]


def bound(value: Column, make: Callable[[Column], Column]) -> Column:
    """Return `make(value)`, with a value that Spark evaluates once and not for each use in `make`."""
    return F.get(F.transform(F.array(value), make), F.lit(0))


def once(value: Column) -> Column:
    """Return the value as an expression that Spark does not evaluate again for each filter: it pushes filters below
    deterministic expressions, and evaluates these there too."""
    return F.when(F.spark_partition_id() >= 0, value)


def data_or_error(data: Column, error: Column) -> Column:
    """Return `struct<data, error>`, one of them null."""
    return bound(error, lambda error: F.struct(F.when(error.isNull(), data).alias("data"), error.alias("error")))


def reasons(checks: Iterable[Check]) -> list[Column]:
    """Return a column for each check: its error, or null."""
    return [F.when(is_invalid, F.lit(error)) for is_invalid, error in checks]


def any_of(conditions: Iterable[Column]) -> Column:
    return reduce(lambda left, right: left | right, conditions, F.lit(False))


def all_of(conditions: Iterable[Column]) -> Column:
    return reduce(lambda left, right: left & right, conditions, F.lit(True))


def missing(value: Column, data_type: DataType, path: str = "") -> Iterator[Check]:
    """Yield checks for nulls in fields that must not be null, at any depth."""
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            inner, name = value[field.name], joined(path, field.name)
            if not field.nullable:
                yield value.isNotNull() & inner.isNull(), f"field {name} is missing or null"
            yield from missing(inner, field.dataType, name)
    elif isinstance(data_type, ArrayType):
        yield from _missing_in_elements(value, data_type.elementType, data_type.containsNull, path)
    elif isinstance(data_type, MapType):
        yield from _missing_in_elements(F.map_values(value), data_type.valueType, data_type.valueContainsNull, path)


def _missing_in_elements(values: Column, data_type: DataType, may_be_null: bool, path: str) -> Iterator[Check]:
    if not may_be_null:
        yield F.exists(values, lambda element: element.isNull()), f"field {path} has nulls in it"
    if has_required(data_type):
        is_missing = F.exists(values, lambda element: any_of(check for check, _ in missing(element, data_type)))
        yield is_missing, f"a required field is missing or null in field {path}"


def has_required(data_type: DataType) -> bool:
    """Return whether a type has elements that must not be null."""
    if isinstance(data_type, StructType):
        return any(not field.nullable or has_required(field.dataType) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return not data_type.containsNull or has_required(data_type.elementType)
    return isinstance(data_type, MapType) and (not data_type.valueContainsNull or has_required(data_type.valueType))


def as_nullable(schema: StructType, text: DataType | None = None) -> StructType:
    """Return the schema with nullable fields at every depth, since missing data is read as null. `text` replaces the
    type of strings."""
    return StructType([StructField(field.name, _nullable(field.dataType, text)) for field in schema.fields])


def _nullable(data_type: DataType, text: DataType | None) -> DataType:
    if isinstance(data_type, StructType):
        return as_nullable(data_type, text)
    if isinstance(data_type, ArrayType):
        return ArrayType(_nullable(data_type.elementType, text))
    if isinstance(data_type, MapType):
        return MapType(data_type.keyType, _nullable(data_type.valueType, text))
    if isinstance(data_type, StringType) and text is not None:
        return text
    return data_type


def joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
