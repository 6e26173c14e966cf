"""Messages made up from their own facts, for Hypothesis, and the vectors that Apache Kafka wrote."""

import gzip
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from sys import modules
from typing import Any, NamedTuple

from hypothesis import strategies as st

from odradek.protocol.codec import schema_of
from odradek.protocol.encode_errors import INTEGER_BITS, integer_range
from odradek.protocol.message import Message
from odradek.protocol.registry import message_class, message_names, message_versions
from odradek.protocol.schema import Field

VECTORS = Path(__file__).parents[2] / "vectors" / "wire.jsonl.gz"

#: Long enough that nested arrays, varints of two bytes and empty ones all come up.
ARRAY_ELEMENTS_MAX = 3

Limits = Callable[[Field], st.SearchStrategy[Any] | None]


class Vector(NamedTuple):
    name: str
    version: int
    body: bytes
    json: dict[str, Any]


@cache
def vectors() -> tuple[Vector, ...]:
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return tuple(Vector(row["message"], row["version"], bytes.fromhex(row["hex"]), row["json"]) for row in rows)


def every_message_version() -> Iterator[tuple[type[Message], int]]:
    for name in message_names():
        for version in message_versions(name):
            yield message_class(name), version


def no_limits(_field: Field) -> None:
    """Any value that Kafka allows."""


@cache
def messages(message_class: type[Message], version: int, limits: Limits = no_limits) -> st.SearchStrategy[Any]:
    """Messages of one version. `limits` may narrow a field, for an oracle that takes less than Kafka does."""
    schema = schema_of(message_class)
    classes = vars(modules[message_class.__module__])

    def struct(name: str, fields: tuple[Field, ...]) -> st.SearchStrategy[Any]:
        chosen = {field.name: value(field) for field in fields if version in field.versions}
        return st.builds(classes[name], **chosen)

    def value(field: Field) -> st.SearchStrategy[Any]:
        whole = element(field)
        if field.is_array:
            whole = st.lists(whole, max_size=ARRAY_ELEMENTS_MAX)
        return st.none() | whole if version in field.nullable else whole

    def element(field: Field) -> st.SearchStrategy[Any]:
        narrowed = limits(field)
        if narrowed is not None:
            return narrowed
        return struct(field.element, schema.structs[field.element]) if field.is_struct else scalar(field.element)

    return struct(schema.name, schema.fields)


def scalar(type_: str) -> st.SearchStrategy[Any]:
    if type_ in INTEGER_BITS:
        return st.integers(*integer_range(type_))
    if type_ == "string":
        return st.text(st.characters(codec="utf-8"), max_size=20) | st.just("x" * 200)
    if type_ in ("bytes", "records"):
        return st.binary(max_size=20) | st.just(b"y" * 300)
    if type_ == "uuid":
        return st.binary(min_size=16, max_size=16)
    return st.booleans() if type_ == "bool" else st.floats(allow_nan=False)
