"""Protobuf with google.protobuf: the descriptors come from a file, or from a schema registry.

With a registry, values have its prefix: the id of the writer schema, which is not used, since field numbers identify
the fields, and the indexes of the message in its file, which must be those of the configured message."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from pyspark.sql import Column
from pyspark.sql.types import StructType

from odradek.client.schema_registry.framing import encode_indexes, encode_prefix, read_indexes, read_prefix
from odradek.client.schema_registry.registry import registry_at
from odradek.common.failures import InputError
from odradek.spark.formats.arrow_results import decoding, encoding
from odradek.spark.formats.protobuf_descriptors import indexes_of, message_class, registered_set
from odradek.spark.formats.protobuf_types import message_codec

#: Decoders and encoders that one process caches.
_CACHED_MAX = 100


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
    """Return the Protobuf format of a message, by its full name, such as shop.Order.

    Its descriptor is in a file, the output of protoc --include_imports --descriptor_set_out, or is the latest schema of
    the registry's `subject`. With `registry`, the address of a schema registry, values have its prefix; `user` and
    `password` are for the registry. Encoding with a registry requires the subject. `unknown_fields=False` rejects
    values with fields that the message does not have.
    """
    schemas = registry_at(registry, user, password)
    if descriptor_file is None and (schemas is None or subject is None):
        raise InputError("one of descriptor_file and registry with subject is required")
    if subject is not None and schemas is None:
        raise InputError("subject requires a registry: set registry='http://…' too")
    schema_id, registered = None, b""
    if schemas is not None and subject is not None:
        registered, schema_id = registered_set(schemas, subject)
    descriptor_set = registered if descriptor_file is None else _read(Path(descriptor_file))
    format = ProtobufFormat(message, descriptor_set, schemas is not None, schema_id, unknown_fields)
    format.schema()
    return format


@dataclass(frozen=True, slots=True)
class ProtobufFormat:
    """Protobuf with one message type."""

    message: str
    descriptor_set: bytes = field(repr=False)
    #: Whether values have the prefix of a schema registry.
    framed: bool = False
    #: Id of the schema with which values are encoded.
    schema_id: int | None = None
    unknown_fields: bool = True

    def schema(self) -> StructType:
        descriptor = message_class(self.descriptor_set, self.message).DESCRIPTOR
        data_type = message_codec(descriptor).spark_type
        if not isinstance(data_type, StructType) or not data_type.fields:
            raise InputError(f"the message {self.message} has no fields for columns")
        return data_type

    def decoded(self, column: Column) -> Column:
        descriptor_set, message, framed, unknown = self.descriptor_set, self.message, self.framed, self.unknown_fields
        return decoding(lambda: protobuf_decoder(descriptor_set, message, framed, unknown), self.schema(), column)

    def encoded(self, column: Column) -> Column:
        if self.framed and self.schema_id is None:
            raise InputError("encoding with a registry requires subject=, under which the schema is registered")
        descriptor_set, message, schema_id = self.descriptor_set, self.message, self.schema_id
        return encoding(lambda: protobuf_encoder(descriptor_set, message, schema_id), column)


@lru_cache(_CACHED_MAX)
def protobuf_decoder(
    descriptor_set: bytes, message: str, framed: bool, unknown_fields: bool
) -> Callable[[bytes], dict[str, Any]]:
    """Return a decoder of single values; its exceptions explain why a value is invalid."""
    create = message_class(descriptor_set, message)
    codec, indexes = message_codec(create.DESCRIPTOR), indexes_of(create.DESCRIPTOR)

    def decode(data: bytes) -> Any:
        start = 0
        if framed:
            value_indexes, start = read_indexes(data, read_prefix(data).end)
            if value_indexes != indexes:
                raise ValueError(f"message {list(value_indexes)} of its schema, but {message} is {list(indexes)}")
        parsed = create()
        try:
            parsed.MergeFromString(data[start:])
        except DecodeError as error:
            raise ValueError(f"not a valid {message}: {error}") from None
        if not parsed.IsInitialized():
            raise ValueError(f"required fields are missing: {', '.join(parsed.FindInitializationErrors())}")
        if not unknown_fields:
            _reject_unknown(parsed)
        return codec.read(parsed)

    return decode


@lru_cache(_CACHED_MAX)
def protobuf_encoder(descriptor_set: bytes, message: str, schema_id: int | None) -> Callable[[dict[str, Any]], bytes]:
    """Return an encoder of single values."""
    create = message_class(descriptor_set, message)
    codec = message_codec(create.DESCRIPTOR)
    assert codec.fill is not None
    fill = codec.fill
    prefix = b"" if schema_id is None else encode_prefix(schema_id) + encode_indexes(indexes_of(create.DESCRIPTOR))

    def encode(row: dict[str, Any]) -> bytes:
        parsed = create()
        fill(parsed, row)
        value: bytes = parsed.SerializeToString(deterministic=True)
        return prefix + value

    return encode


def _reject_unknown(message: Any) -> None:
    size = message.ByteSize()
    message.DiscardUnknownFields()
    if message.ByteSize() != size:
        raise ValueError(f"{size - message.ByteSize()} bytes of fields that are not in {message.DESCRIPTOR.full_name}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; expected the output of protoc --include_imports --descriptor_set_out"
        ) from None
