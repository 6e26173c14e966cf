"""Runtime of the generated encoders and decoders: long varints, tagged fields.

And what both generators must agree on: which fields a version has, which of them are tagged, how few bytes an element
can take.
"""

from collections.abc import Callable, Sequence
from functools import cache
from struct import Struct
from typing import Any

from odradek.common.failures import ProtocolError
from odradek.common.ports import Buffer
from odradek.protocol.errors import InvalidMessage
from odradek.protocol.primitives import read_uvarint, write_uvarint
from odradek.protocol.schema import FIXED_SIZES, Field, Schema

#: Elements of no bytes at all cannot be bounded by what is left of the message. No message of Kafka's has such an
#: array today; one that does is refused beyond this, so that a few bytes never make millions of objects.
ZERO_SIZE_ELEMENTS_MAX = 1024

#: A string's length in bytes has 15 bits in both forms.
STRING_BYTES_MAX = 0x7FFF

#: Arrays of fewer elements than this are packed by a prepared Struct; for longer ones the format is made each time.
SMALL_ARRAY_ELEMENTS = 9

#: A tag and a size.
_TAGGED_FIELD_BYTES_MIN = 2


def fields_of(fields: Sequence[Field], version: int) -> list[Field]:
    """The fields in their order, without the tagged ones."""
    return [field for field in fields if version in field.versions and field.tag is None]


def tagged_fields_of(fields: Sequence[Field], version: int) -> list[Field]:
    """The tagged fields by their tag."""
    tagged = [field for field in fields if version in field.versions and field.tag is not None]
    return sorted(tagged, key=lambda field: field.tag or 0)


def bytes_min(schema: Schema, fields: Sequence[Field], version: int) -> int:
    """The fewest bytes that a structure takes."""
    flexible = version in schema.flexible
    total = 1 if flexible else 0
    for field in fields_of(fields, version):
        if field.is_struct and not field.is_array:
            nullable = version in field.nullable
            total += 1 if nullable else bytes_min(schema, schema.structs[field.element], version)
        elif field.is_array or field.type not in FIXED_SIZES:
            total += 1 if flexible and field.flexible else 2 if field.type == "string" else 4
        else:
            total += FIXED_SIZES[field.type]
    return total


def element_bytes_min(schema: Schema, field: Field, version: int) -> int:
    """The fewest bytes that one element of an array takes."""
    if field.is_struct:
        return bytes_min(schema, schema.structs[field.element], version)
    if field.element in FIXED_SIZES:
        return FIXED_SIZES[field.element]
    if version in schema.flexible:
        return 1
    return 2 if field.element == "string" else 4


def has_records(schema: Schema) -> bool:
    every = [schema.fields, *schema.structs.values()]
    return any(field.type == "records" for fields in every for field in fields)


def long_uvarint(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """A varint whose `first` byte, just before `position`, said that more follow. Written out, since a produce request
    of one batch comes here for the length of its records."""
    byte = buffer[position]
    if byte < 128:
        return first & 127 | byte << 7, position + 1
    value = first & 127 | (byte & 127) << 7
    byte = buffer[position + 1]
    if byte < 128:
        return value | byte << 14, position + 2
    value |= (byte & 127) << 14
    byte = buffer[position + 2]
    if byte < 128:
        return value | byte << 21, position + 3
    byte_5 = buffer[position + 3]
    if byte_5 > 15:
        raise ProtocolError(f"a varint at byte {position - 1} is longer than its type allows")
    return value | (byte & 127) << 21 | byte_5 << 28, position + 4


@cache
def small_array_unpackers(format_: str) -> tuple[Callable[[Buffer, int], tuple[Any, ...]], ...]:
    """Unpackers of 0, 1, 2... values: replica lists and the like, several in each partition's metadata."""
    return tuple(Struct(f">{count}{format_}").unpack_from for count in range(SMALL_ARRAY_ELEMENTS))


@cache
def small_array_packers(format_: str) -> tuple[Callable[..., bytes], ...]:
    return tuple(Struct(f">{count}{format_}").pack for count in range(SMALL_ARRAY_ELEMENTS))


def read_unknown_fields(buffer: Buffer, position: int, count: int) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """A section of tagged fields none of which is known. Of fields with the same tag the last one counts."""
    end = len(buffer)
    if count * _TAGGED_FIELD_BYTES_MIN > end - position:
        raise ProtocolError(f"{count} tagged fields in {end - position} bytes")
    unknown = {}
    for _ in range(count):
        tag, position, stop = tagged_field(buffer, position)
        unknown[tag] = bytes(buffer[position:stop])
        position = stop
    return tuple(sorted(unknown.items())), position


def tagged_field(buffer: Buffer, position: int) -> tuple[int, int, int]:
    """Tag, start and end of the tagged field at `position`."""
    tag, position = read_uvarint(buffer, position)
    size, position = read_uvarint(buffer, position)
    stop = position + size
    if stop > len(buffer):
        raise ProtocolError(f"tagged field {tag} has {size} bytes, {len(buffer) - position} are left")
    return tag, position, stop


def tag_section(known: list[tuple[int, bytes]], unknown: Sequence[tuple[int, bytes]]) -> bytes:
    """The section of tagged fields: count, then each by ascending tag."""
    merged = sorted([*known, *unknown], key=lambda field: field[0])
    out = [write_uvarint(len(merged))]
    previous = -1
    for tag, data in merged:
        if tag <= previous:
            raise InvalidMessage(f"two tagged fields with tag {tag}")
        previous = tag
        out += (write_uvarint(tag), write_uvarint(len(data)), data)
    return b"".join(out)
