"""What generated encoders and decoders call when the straight line is left: long varints and tagged fields.

`shape` of a message in one version (which fields, which are tagged, how small an element can be) is here too, since
both generators must agree on it.
"""

from collections.abc import Sequence

from odradek.common.failures import ProtocolError
from odradek.common.ports import Buffer
from odradek.protocol.errors import InvalidMessage
from odradek.protocol.facts import FIXED_SIZES, Field, Schema
from odradek.protocol.primitives import read_uvarint, write_uvarint

#: Elements of no bytes at all cannot be bounded by what is left of the message. No message of Kafka's has such an
#: array today; one that does is refused beyond this, so that a few bytes never make millions of objects.
ZERO_SIZE_ELEMENTS_MAX = 1024

#: A string's length in bytes has 15 bits in both forms.
STRING_BYTES_MAX = 0x7FFF

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


def long_uvarint(buffer: Buffer, position: int, _first: int) -> tuple[int, int]:
    """The whole of a varint whose first byte, just before `position`, said that more follow."""
    return read_uvarint(buffer, position - 1)


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
