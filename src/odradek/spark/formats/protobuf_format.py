"""Protobuf by google.protobuf: the descriptors from a file, or from a registry.

With a registry, values have its prefix: the id of the schema they were written with, which is not looked at, since
Protobuf's own numbers say what is what, and which message of its file it is, which must be the one that is asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from pyspark.sql import Column
from pyspark.sql.types import StructType

from odradek.common.failures import InputError
from odradek.spark.formats.arrow_results import decoding, encoding
from odradek.spark.formats.protobuf_descriptors import indexes_of, message_class, registered_set
from odradek.spark.formats.protobuf_types import message_kind
from odradek.spark.formats.registry import registry_at
from odradek.spark.formats.wire import prefix, read_indexes, unframed, write_indexes

#: Messages that one process has codecs for.
_REMEMBERED_MAX = 100


def protobuf(
    message: str,
    *,
    descriptor_file: str | Path | None = None,
    registry: str | None = None,
    subject: str | None = None,
    user: str | None = None,
    password: str | None = None,
    unknown_fields: bool = True,
) -> "ProtobufFormat":
    """`message` is a full name, as in shop.Order. It is described in a file, the output of protoc --include_imports
    --descriptor_set_out, or by the newest schema of the registry's `subject`.

    With `registry`, its address, values have the registry's prefix; `user` and `password` are for it. To encode with a
    registry the subject is needed. `unknown_fields=False` refuses what the message does not have.
    """
    known = registry_at(registry, user, password)
    if descriptor_file is None and (known is None or subject is None):
        raise InputError("one of descriptor_file and registry with subject is needed")
    if subject is not None and known is None:
        raise InputError("subject is for a registry: say registry='http://…' too")
    schema_id, registered = None, b""
    if known is not None and subject is not None:
        registered, schema_id = registered_set(known, subject)
    described = registered if descriptor_file is None else _read(Path(descriptor_file))
    found = ProtobufFormat(message, described, known is not None, schema_id, unknown_fields)
    found.schema()
    return found


@dataclass(frozen=True, slots=True)
class ProtobufFormat:
    message: str
    descriptor_set: bytes = field(repr=False)
    #: With a registry's prefix.
    framed: bool = False
    #: With which values are written.
    schema_id: int | None = None
    unknown_fields: bool = True

    def schema(self) -> StructType:
        descriptor = message_class(self.descriptor_set, self.message).DESCRIPTOR
        found = message_kind(descriptor).spark_type
        if not isinstance(found, StructType) or not found.fields:
            raise InputError(f"the message {self.message} has no fields to make columns of")
        return found

    def decoded(self, column: Column) -> Column:
        described, message, framed, unknown = self.descriptor_set, self.message, self.framed, self.unknown_fields
        return decoding(lambda: protobuf_decoder(described, message, framed, unknown), self.schema(), column)

    def encoded(self, column: Column) -> Column:
        if self.framed and self.schema_id is None:
            raise InputError("to encode with a registry say subject=, under which the schema is registered")
        described, message, schema_id = self.descriptor_set, self.message, self.schema_id
        return encoding(lambda: protobuf_encoder(described, message, schema_id), column)


@lru_cache(_REMEMBERED_MAX)
def protobuf_decoder(
    descriptor_set: bytes, message: str, framed: bool, unknown_fields: bool
) -> Callable[[bytes], dict[str, Any]]:
    """Of one value; what it raises says why the value is none."""
    made = message_class(descriptor_set, message)
    kind, indexes = message_kind(made.DESCRIPTOR), indexes_of(made.DESCRIPTOR)

    def decode(data: bytes) -> Any:
        start = 0
        if framed:
            found, start = read_indexes(data, unframed(data).start)
            if found != indexes:
                raise ValueError(f"message {list(found)} of its schema, and {message} is {list(indexes)}")
        parsed = made()
        try:
            parsed.MergeFromString(data[start:])
        except DecodeError as error:
            raise ValueError(f"no {message}: {error}") from None
        if not parsed.IsInitialized():
            raise ValueError(f"required fields are missing: {', '.join(parsed.FindInitializationErrors())}")
        if not unknown_fields:
            _refuse_unknown(parsed)
        return kind.read(parsed)

    return decode


@lru_cache(_REMEMBERED_MAX)
def protobuf_encoder(descriptor_set: bytes, message: str, schema_id: int | None) -> Callable[[dict[str, Any]], bytes]:
    made = message_class(descriptor_set, message)
    kind = message_kind(made.DESCRIPTOR)
    assert kind.fill is not None
    fill = kind.fill
    before = b"" if schema_id is None else prefix(schema_id) + write_indexes(indexes_of(made.DESCRIPTOR))

    def encode(row: dict[str, Any]) -> bytes:
        found = made()
        fill(found, row)
        value: bytes = found.SerializeToString(deterministic=True)
        return before + value

    return encode


def _refuse_unknown(message: Any) -> None:
    size = message.ByteSize()
    message.DiscardUnknownFields()
    if message.ByteSize() != size:
        raise ValueError(f"{size - message.ByteSize()} bytes of fields that {message.DESCRIPTOR.full_name} has not")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; right is the output of protoc --include_imports --descriptor_set_out"
        ) from None
