"""The notation in which facts about messages are written, and its reader.

One line a message, one a field, indented under what they belong to; a structure's fields stand under the field that
uses it, or under a `struct` line when several fields do:

    OffsetCommitValue coordinator-value module=group-coordinator key=1 versions=0-4 flexible=4+
      offset int64 0+
      metadata string 0+ nullable=0+ ...

The words of a field: its name as Kafka spells it, its type (`[]` for arrays), the versions that have it, and then
`nullable=versions`, `default=value`, `tag=number` (tagged in all versions that have it), `ignorable` (may be dropped by
a version without it), `key` (part of what identifies an element in its array), `flexible=none` (keeps the old length
prefix), `entity=kind` (what the value names). A default that is not given is zero, empty or false.

`messages.txt` in `tables/` is the whole table; each generated message class carries its own part of it in `FACTS`, and
the codec reads that part when the class is first encoded or decoded.
"""

from itertools import pairwise
from typing import NamedTuple

from odradek.protocol.message import LAST_VERSION

INDENT = "  "

#: Types of fixed size, as `struct` spells them; a uuid is its 16 bytes.
FIXED_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
FIXED_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}


class Versions(NamedTuple):
    """A closed range; empty when `last` is before `first`."""

    first: int
    last: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last

    def __str__(self) -> str:
        if self.last < self.first:
            return "none"
        if self.last == LAST_VERSION:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


NO_VERSIONS = Versions(0, -1)


class Field(NamedTuple):
    kafka_name: str
    name: str
    type: str
    #: Of an array: the type of its elements; otherwise the type itself.
    element: str
    is_array: bool
    versions: Versions
    nullable: Versions
    #: "null", or the text of a number or bool; empty for the zero of the type.
    default: str
    tag: int | None
    ignorable: bool
    is_key: bool
    flexible: bool
    entity: str

    @property
    def json_name(self) -> str:
        return self.kafka_name[0].lower() + self.kafka_name[1:]

    @property
    def is_struct(self) -> bool:
        return self.element[0].isupper()

    @property
    def null_marker(self) -> int:
        """Before a structure that may be null stands 1 or, if it is, this; tagged ones have an unsigned number."""
        return -1 if self.tag is None else 0


class Schema(NamedTuple):
    name: str
    kind: str
    module: str
    key: int
    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...]
    structs: dict[str, tuple[Field, ...]]


def snake_case(name: str) -> str:
    """`TopicData` as `topic_data`. A run of capitals is one word, and so is KRaft."""
    name = name.replace("KRaft", "Kraft")
    out = name[0].lower()
    for previous, char in pairwise(name):
        if char.isupper() and not previous.isupper():
            out += "_"
        out += char.lower()
    return out


def parse_versions(text: str) -> Versions:
    if text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return Versions(int(text[:-1]), LAST_VERSION)
    first, _, last = text.partition("-")
    return Versions(int(first), int(last or first))


def parse_schema(text: str) -> Schema:
    """One message: its line, and the indented lines under it."""
    lines = text.strip("\n").split("\n")
    name, kind, *words = lines[0].split()
    facts = dict(word.split("=") for word in words)
    structs: dict[str, list[Field]] = {}
    fields: list[Field] = []
    #: Where the fields of each depth go.
    owners = [fields]
    for line in lines[1:]:
        stripped = line.lstrip(" ")
        depth = (len(line) - len(stripped)) // len(INDENT)
        del owners[depth:]
        words = stripped.split()
        if words[0] == "struct":
            owners.append(structs.setdefault(words[1], []))
            continue
        field = _parse_field(words)
        owners[depth - 1].append(field)
        owners.append(structs.setdefault(field.element, []) if field.is_struct else [])
    return Schema(
        name,
        kind,
        facts["module"],
        int(facts.get("key", -1)),
        parse_versions(facts["versions"]),
        parse_versions(facts["flexible"]),
        tuple(fields),
        {struct: tuple(members) for struct, members in structs.items()},
    )


def _parse_field(words: list[str]) -> Field:
    kafka_name, type_, versions = words[:3]
    options = dict(word.partition("=")[::2] for word in words[3:])
    tag = options.get("tag")
    return Field(
        kafka_name=kafka_name,
        name=snake_case(kafka_name),
        type=type_,
        element=type_.removeprefix("[]"),
        is_array=type_.startswith("[]"),
        versions=parse_versions(versions),
        nullable=parse_versions(options.get("nullable", "none")),
        default=options.get("default", ""),
        tag=None if tag is None else int(tag),
        ignorable="ignorable" in options,
        is_key="key" in options,
        flexible=options.get("flexible") != "none",
        entity=options.get("entity", ""),
    )


def default_value(field: Field) -> object:
    """Return the default of a field; arrays and structures (no constants) are None here unless null."""
    if field.default == "null" or field.is_array or field.is_struct:
        return None
    if field.type == "bool":
        return field.default == "true"
    if field.type == "float64":
        return float(field.default or 0)
    if field.type in ("bytes", "records"):
        return b""
    if field.type == "string":
        return ""
    return bytes(16) if field.type == "uuid" else int(field.default or 0)
