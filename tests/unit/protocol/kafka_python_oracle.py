"""kafka-python as an oracle: its message classes, and how their values are spelt in ours.

It reads an ApiVersions response with an error as version 0, whatever was asked; messages are kept to error 0 there. It
gives authorized operations as a set of bits, under one name.
"""

import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from odradek.protocol.codec import schema_of
from odradek.protocol.message import Message
from odradek.protocol.schema import Field

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas by a deprecated function
    import kafka.protocol
    from kafka.protocol.api_data import ApiData
    from kafka.protocol.api_message import ApiMessage

#: Fields that it, or Kafka since, has given another name.
_NAMES = {
    "generation_id_or_member_epoch": "generation_id",
    "cluster_authorized_operations": "authorized_operations",
    "topic_authorized_operations": "authorized_operations",
}
#: The value that says "not asked for"; kafka-python's None.
_NO_OPERATIONS = -(2**31)


def no_error(field: Field) -> st.SearchStrategy[Any] | None:
    return st.just(0) if field.kafka_name == "ErrorCode" else None


@cache
def kafka_python_classes() -> dict[str, Any]:
    """Every message class it has, by Kafka's name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return _find_classes()


def _find_classes() -> dict[str, Any]:
    found = {}
    for module_info in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if ".old" in module_info.name or module_info.name.endswith("generate_stubs"):
            continue
        for name, value in vars(importlib.import_module(module_info.name)).items():
            if isinstance(value, type) and issubclass(value, ApiMessage | ApiData) and hasattr(value, "_json"):
                found[name] = value
    return found


def kafka_python_class(message_class: type[Message], version: int) -> Any | None:
    found = kafka_python_classes().get(message_class.__name__)
    return found if found is not None and version <= found.max_version else None


def kafka_python_round_trip(their_class: Any, version: int, body: bytes) -> tuple[Any, bytes]:
    """What kafka-python reads in our bytes, and what it writes for that."""
    message = their_class.decode(body, version=version, header=False)
    if isinstance(message, ApiMessage):
        message._header = None  # its decoder leaves the slot unset, and its encoder reads it
    return message, bytes(message.encode(version=version, header=False))


def differences(message: Message, other: Any, version: int) -> list[str]:
    """Fields in which kafka-python's value is not ours."""
    schema = schema_of(type(message))

    def structs(ours: Any, theirs: Any, members: tuple[Field, ...], path: str) -> Iterator[str]:
        for field in members:
            if version in field.versions:
                name = field.name if field.name in theirs.fields else _NAMES[field.name]
                yield from values(getattr(ours, field.name), getattr(theirs, name), field, f"{path}.{field.name}")

    def values(ours: Any, theirs: Any, field: Field, path: str) -> Iterator[str]:
        if field.is_array and ours is None and theirs is None:
            return
        if not field.is_array or ours is None or theirs is None:
            yield from elements(ours, theirs, field, path)
        elif len(ours) != len(theirs):
            yield f"{path}: {ours!r} is not {theirs!r}"
        else:
            for index, (mine, its) in enumerate(zip(ours, theirs, strict=True)):
                yield from elements(mine, its, field, f"{path}[{index}]")

    def elements(ours: Any, theirs: Any, field: Field, path: str) -> Iterator[str]:
        if field.is_struct and ours is not None and theirs is not None:
            yield from structs(ours, theirs, schema.structs[field.element], path)
        elif ours != _plain(theirs, field):
            yield f"{path}: {ours!r} is not {theirs!r}"

    return list(structs(message, other, schema.fields, schema.name))


def _plain(value: Any, field: Field) -> object:
    if value is None and field.name.endswith("authorized_operations"):
        return _NO_OPERATIONS
    if value is None and field.element == "uuid":
        return bytes(16)
    if isinstance(value, UUID):
        return value.bytes
    if not isinstance(value, set):
        return value
    bits = sum(1 << bit for bit in value)
    return bits if bits < 1 << 31 else bits - (1 << 32)
