"""Source of decoders: one straight-line function for one message in one version.

The function reads the fields in order into a fresh object, structures and arrays inside in nested loops, with no calls
but those of `struct`. Adjacent values of fixed size are one run and are unpacked at once, together with the length
prefix (or the first byte of it, when it is a varint) that follows them. Reading beyond the end raises in `struct` or
in the index, and becomes a ProtocolError in one place; what would not raise (slices) or would allocate (arrays) is
compared with the bytes that are left first.

A message with a `records` field is read through a memoryview, so that records are ranges of the input, and so is a
header, since what follows it is not its to copy; all others are read from `bytes`, where slicing costs half.
"""

import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

from odradek.common.failures import ProtocolError
from odradek.common.ids import ZERO_UUID
from odradek.common.ports import Buffer
from odradek.protocol.codec_runtime import (
    SMALL_ARRAY_ELEMENTS,
    STRING_BYTES_MAX,
    ZERO_SIZE_ELEMENTS_MAX,
    element_bytes_min,
    fields_of,
    has_records,
    long_uvarint,
    read_unknown_fields,
    small_array_unpackers,
    tagged_field,
    tagged_fields_of,
)
from odradek.protocol.message import Message
from odradek.protocol.schema import FIXED_FORMATS, Field, Schema, default_value

Decoder = Callable[[Buffer, int], tuple[Any, int]]


def build_decoder(message_class: type[Message], schema: Schema, version: int) -> Decoder:
    source = DecoderSource(schema, version)
    where = f"{schema.name} v{version}"
    scope: dict[str, Any] = {
        **vars(sys.modules[message_class.__module__]),
        **source.constants,
        "new": object.__new__,
        "unpack_array": struct.unpack_from,
        "StructError": struct.error,
        "ProtocolError": ProtocolError,
        "ZERO_UUID": ZERO_UUID,
        "long_uvarint": long_uvarint,
        "unknown_fields": read_unknown_fields,
        "tagged_field": tagged_field,
        "null": lambda path: ProtocolError(f"{where}: {path} is null"),
        "beyond": lambda path, count: ProtocolError(f"{where}: {path} has {count}, more than the bytes that are left"),
        "uneven": lambda path: ProtocolError(f"{where}: {path} does not fill its tagged field"),
    }
    exec(compile(source.text(), f"<decode {where}>", "exec"), scope)
    decoder: Decoder = scope["decode"]
    return decoder


class DecoderSource:
    """Lines of the function, and the run of values of fixed size that is waiting to be unpacked at once."""

    def __init__(self, schema: Schema, version: int) -> None:
        self.schema = schema
        self.version = version
        self.flexible = version in schema.flexible
        self.view = has_records(schema) or schema.kind == "header"
        self.constants: dict[str, Any] = {}
        self._lines: list[str] = []
        self._depth = 2
        self._names = 0
        self._run: list[tuple[str, str]] = []
        self._struct(schema.name, schema.fields, "o", "")
        self._flush()

    def text(self) -> str:
        where = f"{self.schema.name} v{self.version}"
        kind = "memoryview" if self.view else "bytes"
        head = [
            "def decode(buf, pos):",
            f"    if type(buf) is not {kind}: buf = {kind}(buf)",
            "    end = len(buf)",
            "    try:",
        ]
        tail = [
            "        return o, pos",
            "    except (IndexError, StructError):",
            f"        raise ProtocolError('{where} ends too early') from None",
            "    except UnicodeDecodeError as error:",
            f"        raise ProtocolError(f'{where}: a string is no UTF-8: {{error}}') from None",
        ]
        return "\n".join(head + self._lines + tail)

    # Lines and runs

    def _emit(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    def _name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def _fixed(self, format_: str, target: str) -> None:
        self._run.append((format_, target))

    def _flush(self) -> None:
        run, self._run = self._run, []
        if not run:
            return
        if len(run) == 1 and run[0][0] == "B":
            self._emit(f"{run[0][1]} = buf[pos]; pos += 1")
            return
        formats = "".join(format_ for format_, _ in run)
        targets = "".join(f"{target}, " for _, target in run)
        unpack = "u_" + formats.replace("?", "t")
        packed = struct.Struct(">" + formats)
        self.constants[unpack] = packed.unpack_from
        self._emit(f"{targets.rstrip() if len(run) == 1 else targets[:-2]} = {unpack}(buf, pos); pos += {packed.size}")

    def _length(self, format_: str, flexible: bool) -> str:
        """A length or count behind the run: a varint with one added in flexible versions, otherwise an integer."""
        name = self._name("n")
        self._fixed("B" if flexible else format_, name)
        self._flush()
        if flexible:
            self._emit(f"if {name} > 127: {name}, pos = long_uvarint(buf, pos, {name})")
            self._emit(f"{name} -= 1")
        return name

    # Structures

    def _struct(self, class_name: str, fields: Sequence[Field], target: str, path: str) -> None:
        self._emit(f"{target} = new({class_name})")
        for field in fields:
            if self.version not in field.versions or field.tag is not None:
                self._emit(f"{target}.{field.name} = {default_source(field)}")
        for field in fields_of(fields, self.version):
            self._field(field, f"{target}.{field.name}", path + field.name)
        if self.flexible:
            self._tags(tagged_fields_of(fields, self.version), target, path)
        else:
            self._emit(f"{target}.unknown_tagged_fields = ()")

    def _tags(self, tagged: list[Field], target: str, path: str) -> None:
        count = self._name("n")
        self._fixed("B", count)
        self._flush()
        self._emit(f"if not {count}: {target}.unknown_tagged_fields = ()")
        self._emit("else:")
        self._depth += 1
        self._emit(f"if {count} > 127: {count}, pos = long_uvarint(buf, pos, {count})")
        if not tagged:
            self._emit(f"{target}.unknown_tagged_fields, pos = unknown_fields(buf, pos, {count})")
        else:
            self._known_tags(tagged, target, path, count)
        self._depth -= 1

    def _known_tags(self, tagged: list[Field], target: str, path: str, count: str) -> None:
        tag, stop, unknown = self._name("t"), self._name("e"), self._name("k")
        self._emit(f"if {count} * 2 > end - pos: raise beyond({path + 'tagged fields'!r}, {count})")
        self._emit(f"{unknown} = {{}}")
        self._emit(f"for _ in range({count}):")
        self._depth += 1
        self._emit(f"{tag}, pos, {stop} = tagged_field(buf, pos)")
        word = "if"
        for field in tagged:
            self._emit(f"{word} {tag} == {field.tag}:")
            self._depth += 1
            self._field(field, f"{target}.{field.name}", path + field.name)
            self._flush()
            self._emit(f"if pos != {stop}: raise uneven({path + field.name!r})")
            self._depth -= 1
            word = "elif"
        self._emit(f"else: {unknown}[{tag}] = bytes(buf[pos:{stop}]); pos = {stop}")
        self._depth -= 1
        self._emit(f"{target}.unknown_tagged_fields = tuple(sorted({unknown}.items()))")

    # Fields

    def _field(self, field: Field, target: str, path: str) -> None:
        nullable = self.version in field.nullable
        if field.is_array:
            self._array(field, target, path, nullable)
        elif field.is_struct:
            self._nested(field, target, path, nullable)
        elif field.type in FIXED_FORMATS:
            self._fixed(FIXED_FORMATS[field.type], target)
        else:
            flexible = self.flexible and field.flexible
            length = self._length("h" if field.type == "string" else "i", flexible)
            self._data(field.type, length, target, path, nullable)

    def _nested(self, field: Field, target: str, path: str, nullable: bool) -> None:
        inner = self._name("o")
        fields = self.schema.structs[field.element]
        if not nullable:
            self._struct(field.element, fields, inner, path + ".")
            self._emit(f"{target} = {inner}")
            return
        marker = self._name("n")
        self._fixed("b", marker)
        self._flush()
        self._emit(f"if {marker} <= {field.null_marker}: {target} = None")
        self._emit("else:")
        self._depth += 1
        self._struct(field.element, fields, inner, path + ".")
        self._flush()
        self._emit(f"{target} = {inner}")
        self._depth -= 1

    def _null(self, length: str, target: str, path: str, nullable: bool) -> None:
        """Kafka reads any negative length as null."""
        self._emit(f"if {length} < 0: {f'{target} = None' if nullable else f'raise null({path!r})'}")
        self._emit("else:")

    def _data(self, type_: str, length: str, target: str, path: str, nullable: bool) -> None:
        """A string, bytes or records of a known length."""
        self._null(length, target, path, nullable)
        self._depth += 1
        stop = self._name("e")
        self._emit(f"{stop} = pos + {length}")
        too_long = f" or {length} > {STRING_BYTES_MAX}" if type_ == "string" and self.flexible else ""
        self._emit(f"if {stop} > end{too_long}: raise beyond({path!r}, {length})")
        value = f"buf[pos:{stop}]"
        if self.view and type_ != "records":
            value += ".tobytes()"
        if type_ == "string":
            value += ".decode()"
        self._emit(f"{target} = {value}; pos = {stop}")
        self._depth -= 1

    def _array(self, field: Field, target: str, path: str, nullable: bool) -> None:
        count = self._length("i", self.flexible and field.flexible)
        self._null(count, target, path, nullable)
        self._depth += 1
        least = element_bytes_min(self.schema, field, self.version)
        limit = f"{count} * {least} > end - pos" if least else f"{count} > {ZERO_SIZE_ELEMENTS_MAX}"
        self._emit(f"if {limit}: raise beyond({path!r}, {count})")
        if field.element in FIXED_FORMATS:
            self._fixed_elements(field.element, count, least, target)
        else:
            self._elements(field, count, target, path)
        self._depth -= 1

    def _fixed_elements(self, element: str, count: str, size: int, target: str) -> None:
        format_ = FIXED_FORMATS[element]
        if element == "uuid":
            self._emit(f"{target} = [bytes(buf[i : i + 16]) for i in range(pos, pos + 16 * {count}, 16)]")
        else:
            self.constants[f"small_{format_}"] = small_array_unpackers(format_)
            self._emit(f"if {count} < {SMALL_ARRAY_ELEMENTS}: {target} = list(small_{format_}[{count}](buf, pos))")
            self._emit(f"else: {target} = list(unpack_array(f'>{{{count}}}{format_}', buf, pos))")
        self._emit(f"pos += {count} * {size}")

    def _elements(self, field: Field, count: str, target: str, path: str) -> None:
        elements, inner = self._name("a"), self._name("o")
        self._emit(f"{elements} = []")
        self._emit(f"for _ in range({count}):")
        self._depth += 1
        if field.is_struct:
            self._struct(field.element, self.schema.structs[field.element], inner, path + ".")
        else:
            length = self._length("h" if field.element == "string" else "i", self.flexible and field.flexible)
            self._data(field.element, length, inner, path, False)
        self._flush()
        self._emit(f"{elements}.append({inner})")
        self._depth -= 1
        self._emit(f"{target} = {elements}")


def default_source(field: Field) -> str:
    """The default as an expression; a fresh object where it is one."""
    if field.default != "null":
        if field.is_array:
            return "[]"
        if field.is_struct:
            return f"{field.element}()"
        if field.type == "uuid":
            return "ZERO_UUID"
    return repr(default_value(field))
