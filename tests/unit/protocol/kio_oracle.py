"""kio as an oracle: its entities, and how their values are spelt in ours.

kio says less than Kafka in a few places, and messages are kept within what it can say: error codes that it has names
for, times that a `datetime` can hold.
"""

import io
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from kio.index import UnknownEntity, load_entity_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from odradek.protocol.codec import schema_of
from odradek.protocol.message import Message
from odradek.protocol.schema import Field, snake_case

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
#: Year 2286; whole seconds, since kio goes through floating point.
_SECONDS_MAX = 10**10

_ENTITY_TYPES = {
    "request": EntityType.request,
    "response": EntityType.response,
    "header": EntityType.header,
    "data": EntityType.data,
}
#: Fields that Kafka has renamed since.
_RENAMED = {
    "generation_id_or_member_epoch": "generation_id",
    "acceptable_recovery_lag_legacy": "acceptable_recovery_lag",
}
#: Names that kio keeps free for Python's own.
_SHADOWING = ("id", "type")
_TIME_NAMES = ("Timestamp", "TimestampMs", "TimeMs", "LifetimeMs", "PeriodMs", "LifeTimeMs")


def kio_entity(message_class: type[Message], version: int) -> Any | None:
    """kio's class for this message and version, if it has one."""
    schema = schema_of(message_class)
    kind = _ENTITY_TYPES.get(schema.kind)
    if kind is None:
        return None
    name = schema.name.removesuffix("Request").removesuffix("Response")
    try:
        return load_entity_schema(snake_case(name).replace("kraft", "k_raft"), version, kind)
    except UnknownEntity:
        return None


def kio_limits(field: Field) -> st.SearchStrategy[Any] | None:
    if field.type == "int16" and field.kafka_name.endswith("ErrorCode"):
        return st.sampled_from([int(code) for code in KioErrorCode])
    if field.type == "int64" and field.kafka_name.endswith(_TIME_NAMES):
        times = st.integers(0, _SECONDS_MAX).map(lambda seconds: seconds * 1000)
        return st.just(-1) | times if field.default == "-1" else times
    return None


def kio_round_trip(entity: Any, body: bytes) -> tuple[Any, bytes]:
    """What kio reads in our bytes, and what it writes for that."""
    value, size = entity_reader(entity)(body, 0)
    if size != len(body):
        raise AssertionError(f"{entity.__name__}: kio read {size} bytes of {len(body)}")
    out = io.BytesIO()
    entity_writer(entity)(out, value)
    return value, out.getvalue()


def differences(message: Message, other: Any, version: int) -> list[str]:
    """Fields in which kio's value is not ours."""
    schema = schema_of(type(message))
    found: list[str] = []

    def compare_structs(ours: Any, theirs: Any, members: tuple[Field, ...], path: str) -> None:
        present = [field for field in members if version in field.versions]
        names = [field.name for field in fields(theirs)]
        if len(names) != len(present) or any(
            name not in _kio_names(field) for field, name in zip(present, names, strict=True)
        ):
            found.append(f"{path}: fields {names}")
            return
        for field, name in zip(present, names, strict=True):
            compare(getattr(ours, field.name), getattr(theirs, name), field, f"{path}.{field.name}")

    def compare(ours: Any, theirs: Any, field: Field, path: str) -> None:
        if not field.is_array:
            compare_elements(ours, theirs, field, path)
        elif ours is None and theirs is None:
            return
        elif ours is None or theirs is None or len(ours) != len(theirs):
            found.append(f"{path}: {ours!r} is not {theirs!r}")
        else:
            for index, (mine, its) in enumerate(zip(ours, theirs, strict=True)):
                compare_elements(mine, its, field, f"{path}[{index}]")

    def compare_elements(ours: Any, theirs: Any, field: Field, path: str) -> None:
        if field.is_struct and ours is not None and theirs is not None:
            compare_structs(ours, theirs, schema.structs[field.element], path)
        elif ours != _plain(theirs, field):
            found.append(f"{path}: {ours!r} is not {theirs!r}")

    compare_structs(message, other, schema.fields, schema.name)
    return found


def _kio_names(field: Field) -> list[str]:
    names = [field.name, _RENAMED.get(field.name, field.name)]
    plain = [name.replace("kraft", "k_raft").removesuffix("_ms") for name in names]
    return [name + "_" if name in _SHADOWING else name for name in plain]


def _plain(value: Any, field: Field) -> object:
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MILLISECOND
    if isinstance(value, timedelta):
        return value // _MILLISECOND
    if isinstance(value, UUID):
        return value.bytes
    if value is None and field.element == "uuid":
        return bytes(16)
    if value is None and field.type == "int64":
        return -1
    return value
