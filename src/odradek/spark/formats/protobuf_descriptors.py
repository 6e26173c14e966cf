"""Protobuf's descriptors at run time: from the output of `protoc --include_imports --descriptor_set_out`, or from a
registry, without generated classes."""

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

from odradek.common.failures import InputError
from odradek.spark.formats.registry import Reference, Registered, Registry

#: Files that need not be in the set: everybody has them.
_WELL_KNOWN = {
    module.DESCRIPTOR.name: module.DESCRIPTOR.serialized_pb
    for module in (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
}
#: Sets and messages that one process has made classes of.
_REMEMBERED_MAX = 100
#: Of imports of imports.
_DEPTH_MAX = 64
#: How many messages are named to someone who asked for another.
_NAMES_MAX = 10

#: In which a registry gives Protobuf's schemas as descriptors.
_SERIALIZED = "serialized"


@lru_cache(_REMEMBERED_MAX)
def message_class(descriptor_set: bytes, message: str) -> Any:
    """The class of a message by its full name, as in shop.Order. Raises InputError."""
    files = _files(descriptor_set)
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()
    for name in files:
        _add(pool, name, files, added, 0)
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(message))
    except KeyError:
        raise InputError(f"there is no message {message}; there are {_names(files.values())}") from None


def indexes_of(descriptor: Any) -> tuple[int, ...]:
    """Where the message stands in its file, as in a registry's prefix."""
    outer = descriptor.containing_type
    above = () if outer is None else indexes_of(outer)
    siblings = descriptor.file.message_types_by_name.values() if outer is None else outer.nested_types
    names = [each.full_name for each in siblings]
    return (*above, names.index(descriptor.full_name))


def registered_set(registry: Registry, subject: str) -> tuple[bytes, int]:
    """The newest schema of a subject with all that it imports, and its id. Raises InputError."""
    newest = registry.latest(subject, _SERIALIZED)
    found = descriptor_pb2.FileDescriptorSet()
    _collect(registry, newest, f"{subject}.proto", found, 0)
    assert newest.schema_id is not None
    return found.SerializeToString(), newest.schema_id


def _collect(registry: Registry, schema: Registered, name: str, into: Any, depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise InputError(f"{registry.url}: schemas import each other {depth} deep")
    for reference in schema.references:
        if not any(each.name == reference.name for each in into.file):
            _collect(registry, _referred(registry, reference), reference.name, into, depth + 1)
    try:
        file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema.text, validate=True))
    except (DecodeError, binascii.Error):
        raise InputError(
            f"{registry.url} gives no descriptor of {name}; say descriptor_file=, the output of protoc "
            "--include_imports --descriptor_set_out"
        ) from None
    file.name = name
    into.file.append(file)


def _referred(registry: Registry, reference: Reference) -> Registered:
    return registry.referred(reference, _SERIALIZED)


def _files(descriptor_set: bytes) -> dict[str, Any]:
    try:
        found = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set)
    except DecodeError:
        raise InputError(
            "no descriptor set; right is the output of protoc --include_imports --descriptor_set_out=FILE"
        ) from None
    return {file.name: file for file in found.file}


def _add(pool: Any, name: str, files: dict[str, Any], added: set[str], depth: int) -> None:
    """A file after those that it imports."""
    if name in added:
        return
    if depth > _DEPTH_MAX:
        raise InputError(f"{name}: files import each other {depth} deep")
    added.add(name)
    file = files.get(name)
    if file is None and name not in _WELL_KNOWN:
        raise InputError(f"{name} is imported and not in the descriptor set; protoc --include_imports puts it there")
    if file is None:
        file = descriptor_pb2.FileDescriptorProto.FromString(_WELL_KNOWN[name])
    for imported in file.dependency:
        _add(pool, imported, files, added, depth + 1)
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as error:
        raise InputError(f"{name} in the descriptor set: {error}") from None


def _names(files: Iterable[Any]) -> str:
    found = [".".join(filter(None, (file.package, each.name))) for file in files for each in file.message_type]
    more = f" and {len(found) - _NAMES_MAX} more" if len(found) > _NAMES_MAX else ""
    return (", ".join(found[:_NAMES_MAX]) or "none") + more
