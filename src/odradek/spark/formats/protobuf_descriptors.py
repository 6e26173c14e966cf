"""Protobuf descriptors at run time, without generated classes.

They come from the output of `protoc --include_imports --descriptor_set_out`, or from a schema registry.
"""

import base64
import binascii
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from google.protobuf import (  # type: ignore[import-untyped]
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from odradek.client.schema_registry.registry import RegisteredSchema, SchemaReference, SchemaRegistry
from odradek.common.failures import InputError

#: Files that need not be in the set, since they are part of google.protobuf.
_WELL_KNOWN = {
    module.DESCRIPTOR.name: module.DESCRIPTOR.serialized_pb
    for module in (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
}
#: Message classes that one process caches.
_CACHED_MAX = 100
#: Nesting of imports.
_DEPTH_MAX = 64
#: Messages that are listed in an error about an unknown message.
_NAMES_MAX = 10

#: Format in which a registry returns Protobuf schemas as descriptors.
_SERIALIZED = "serialized"


@lru_cache(_CACHED_MAX)
def message_class(descriptor_set: bytes, message: str) -> Any:
    """Return the class of a message by its full name, such as shop.Order. Raise InputError."""
    files = _files(descriptor_set)
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()
    for name in files:
        _add(pool, name, files, added, 0)
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(message))
    except KeyError:
        raise InputError(f"unknown message {message}; the messages are {_names(files.values())}") from None


def indexes_of(descriptor: Any) -> tuple[int, ...]:
    """Return the indexes of a message in its file, as in the prefix of a schema registry."""
    outer = descriptor.containing_type
    above = () if outer is None else indexes_of(outer)
    siblings = descriptor.file.message_types_by_name.values() if outer is None else outer.nested_types
    names = [message.full_name for message in siblings]
    return (*above, names.index(descriptor.full_name))


def registered_set(registry: SchemaRegistry, subject: str) -> tuple[bytes, int]:
    """Return the latest schema of a subject with all its imports, and its id. Raise InputError."""
    latest = registry.latest(subject, _SERIALIZED)
    descriptor_set = descriptor_pb2.FileDescriptorSet()
    _collect(registry, latest, f"{subject}.proto", descriptor_set, 0)
    assert latest.schema_id is not None
    return descriptor_set.SerializeToString(), latest.schema_id


def _collect(registry: SchemaRegistry, schema: RegisteredSchema, name: str, into: Any, depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise InputError(f"{registry.url}: imports of schemas are nested {depth} deep")
    for reference in schema.references:
        if not any(file.name == reference.name for file in into.file):
            _collect(registry, _referred(registry, reference), reference.name, into, depth + 1)
    try:
        file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema.text, validate=True))
    except (DecodeError, binascii.Error):
        raise InputError(
            f"{registry.url} returned no descriptor of {name}; set descriptor_file=, the output of protoc "
            "--include_imports --descriptor_set_out"
        ) from None
    file.name = name
    into.file.append(file)


def _referred(registry: SchemaRegistry, reference: SchemaReference) -> RegisteredSchema:
    return registry.referred(reference, _SERIALIZED)


def _files(descriptor_set: bytes) -> dict[str, Any]:
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set)
    except DecodeError:
        raise InputError(
            "not a descriptor set; expected the output of protoc --include_imports --descriptor_set_out=FILE"
        ) from None
    return {file.name: file for file in files.file}


def _add(pool: Any, name: str, files: dict[str, Any], added: set[str], depth: int) -> None:
    """Add a file to the pool, after its imports."""
    if name in added:
        return
    if depth > _DEPTH_MAX:
        raise InputError(f"{name}: imports are nested {depth} deep")
    added.add(name)
    file = files.get(name)
    if file is None and name not in _WELL_KNOWN:
        raise InputError(f"{name} is imported, but is not in the descriptor set; use protoc --include_imports")
    if file is None:
        file = descriptor_pb2.FileDescriptorProto.FromString(_WELL_KNOWN[name])
    for imported in file.dependency:
        _add(pool, imported, files, added, depth + 1)
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as error:
        raise InputError(f"{name} in the descriptor set: {error}") from None


def _names(files: Iterable[Any]) -> str:
    names = [".".join(filter(None, (file.package, message.name))) for file in files for message in file.message_type]
    more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
    return (", ".join(names[:_NAMES_MAX]) or "none") + more
