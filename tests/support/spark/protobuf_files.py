"""Descriptor sets as protoc writes them, made without it."""

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Proto

#: What a field is: a number of Proto's types, or the full name of a message or enum.
Kind = int | str


def field(name: str, number: int, kind: Kind, *, repeated: bool = False, optional: bool = False) -> Proto:
    """proto3's `optional` wants a oneof of its own; `message` makes it."""
    made = Proto(name=name, number=number, proto3_optional=optional)
    made.label = Proto.LABEL_REPEATED if repeated else Proto.LABEL_OPTIONAL
    if isinstance(kind, int):
        made.type = kind  # type: ignore[assignment]
    else:
        made.type_name = f".{kind}"
    return made


def message(
    name: str, *fields: Proto, nested: tuple[descriptor_pb2.DescriptorProto, ...] = ()
) -> descriptor_pb2.DescriptorProto:
    made = descriptor_pb2.DescriptorProto(name=name, nested_type=nested)
    for each in fields:
        if each.proto3_optional:
            each.oneof_index = len(made.oneof_decl)
            made.oneof_decl.add(name=f"_{each.name}")
        made.field.append(each)
    return made


def map_entry(name: str, key: Kind, value: Kind) -> descriptor_pb2.DescriptorProto:
    """The message that a map's field is made of; the field is repeated and names it."""
    made = message(name, field("key", 1, key), field("value", 2, value))
    made.options.map_entry = True
    return made


def enum(name: str, *names: str) -> descriptor_pb2.EnumDescriptorProto:
    made = descriptor_pb2.EnumDescriptorProto(name=name)
    for number, each in enumerate(names):
        made.value.add(name=each, number=number)
    return made


def file(
    name: str,
    package: str,
    *messages: descriptor_pb2.DescriptorProto,
    enums: tuple[descriptor_pb2.EnumDescriptorProto, ...] = (),
    imports: tuple[str, ...] = (),
) -> descriptor_pb2.FileDescriptorProto:
    return descriptor_pb2.FileDescriptorProto(
        name=name, package=package, syntax="proto3", message_type=messages, enum_type=enums, dependency=imports
    )


def descriptor_set(*files: descriptor_pb2.FileDescriptorProto) -> bytes:
    return descriptor_pb2.FileDescriptorSet(file=files).SerializeToString()
