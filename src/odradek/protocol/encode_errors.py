"""Why a message could not be written.

Encoders do not look at values one by one; when one of them fails, this walks the same message slowly and says which
field of which element it was.
"""

from collections.abc import Iterator, Sequence

from odradek.protocol.codec_runtime import STRING_BYTES_MAX
from odradek.protocol.errors import InvalidMessage, UnsupportedVersion
from odradek.protocol.message import Message
from odradek.protocol.schema import Field, Schema, default_value

INTEGER_BITS = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}
_UUID_BYTES = 16

Problem = InvalidMessage | UnsupportedVersion


def explain(message: Message, schema: Schema, version: int) -> Problem:
    for problem in _struct(message, schema, schema.fields, version, ""):
        return problem
    return InvalidMessage(f"{schema.name} cannot be written in version {version}")


def integer_range(type_: str) -> tuple[int, int]:
    bits = INTEGER_BITS[type_]
    return (0, 2**bits - 1) if type_[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def is_default(schema: Schema, field: Field, value: object) -> bool:
    if field.default == "null":
        return value is None
    if field.is_array:
        return isinstance(value, list | tuple) and not value
    if field.is_struct:
        members = schema.structs[field.element]
        return (
            isinstance(value, Message)
            and not value.unknown_tagged_fields
            and all(is_default(schema, member, getattr(value, member.name)) for member in members)
        )
    return value == default_value(field)


def _struct(value: Message, schema: Schema, fields: Sequence[Field], version: int, path: str) -> Iterator[Problem]:
    for field in fields:
        inner, where = getattr(value, field.name), path + field.name
        if version in field.versions:
            yield from _field(inner, schema, field, version, where)
        elif not field.ignorable and not is_default(schema, field, inner):
            text = f"{schema.name} version {version} cannot carry {where}, which is {_short(inner)} and not its default"
            yield UnsupportedVersion(text, field=where, version=version)
    if value.unknown_tagged_fields:
        if version not in schema.flexible:
            where = path + "unknown_tagged_fields"
            text = f"{schema.name} version {version} has no tagged fields, but {where} is not empty"
            yield UnsupportedVersion(text, field=where, version=version)
        schema_tags = {field.tag for field in fields if version in field.versions}
        tags = [tag for tag, _ in value.unknown_tagged_fields]
        for index, tag in enumerate(tags):
            if tag in schema_tags or tag in tags[:index]:
                yield InvalidMessage(f"{schema.name}: {path}unknown_tagged_fields has tag {tag}, which is taken")


def _field(value: object, schema: Schema, field: Field, version: int, where: str) -> Iterator[Problem]:
    if value is None:
        if version not in field.nullable:
            yield InvalidMessage(f"{schema.name}: {where} must not be null in version {version}")
    elif not field.is_array:
        yield from _element(value, schema, field, version, where)
    elif isinstance(value, list | tuple):
        for index, element in enumerate(value):
            yield from _element(element, schema, field, version, f"{where}[{index}]")
    else:
        yield _wrong(schema, where, value, "a list")


def _element(value: object, schema: Schema, field: Field, version: int, where: str) -> Iterator[Problem]:
    if field.is_struct:
        if isinstance(value, Message) and type(value).__name__ == field.element:
            yield from _struct(value, schema, schema.structs[field.element], version, where + ".")
        else:
            yield _wrong(schema, where, value, field.element)
        return
    trouble = _scalar_trouble(value, field.element)
    if trouble:
        yield _wrong(schema, where, value, trouble)


def _scalar_trouble(value: object, type_: str) -> str:
    """Return a description of the expected value; empty if the value is valid."""
    if type_ in INTEGER_BITS:
        first, last = integer_range(type_)
        return "" if isinstance(value, int) and first <= value <= last else f"an integer from {first} to {last}"
    if type_ == "float64":
        return "" if isinstance(value, int | float) else "a number"
    if type_ == "uuid":
        right = isinstance(value, bytes | bytearray | memoryview) and len(value) == _UUID_BYTES
        return "" if right else f"{_UUID_BYTES} bytes"
    if type_ == "string":
        return _string_trouble(value)
    return "" if type_ == "bool" or isinstance(value, bytes | bytearray | memoryview) else "bytes"


def _string_trouble(value: object) -> str:
    if not isinstance(value, str):
        return "a string"
    try:
        length = len(value.encode())
    except UnicodeEncodeError:
        return "text that UTF-8 can carry"
    return "" if length <= STRING_BYTES_MAX else f"at most {STRING_BYTES_MAX} bytes of UTF-8"


def _wrong(schema: Schema, where: str, value: object, expected: str) -> InvalidMessage:
    return InvalidMessage(f"{schema.name}: {where} is {_short(value)}; it must be {expected}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
