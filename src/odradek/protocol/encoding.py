"""Source of encoders: one straight-line function for one message in one version.

The function hands pieces of bytes to `put`, in order; the caller joins them, or writes them as they are, so that
records are never copied here. As in decoders, adjacent values of fixed size are packed at once, together with the
length that follows; an empty section of tagged fields at the end of a structure is one more zero in the same piece.

Values are not examined one by one: what does not fit raises in `struct` or in a method call, and `explain` then finds
out which field it was.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from odradek.common.ids import ZERO_UUID
from odradek.protocol.codec import NotEncodable
from odradek.protocol.codec_runtime import (
    SMALL_ARRAY_ELEMENTS,
    STRING_BYTES_MAX,
    fields_of,
    small_array_packers,
    tag_section,
    tagged_fields_of,
)
from odradek.protocol.decoding import default_source
from odradek.protocol.message import Message
from odradek.protocol.primitives import SMALL_UVARINTS, write_uvarint
from odradek.protocol.schema import FIXED_FORMATS, Field, Schema

Encoder = Callable[[Message, Callable[[Any], None]], None]


def build_encoder(schema: Schema, version: int) -> Encoder:
    source = EncoderSource(schema, version)
    scope: dict[str, Any] = {
        **source.constants,
        "pack_array": struct.pack,
        "uvarint": write_uvarint,
        "small": SMALL_UVARINTS,
        "tag_section": tag_section,
        "NotEncodable": NotEncodable,
        "ZERO_UUID": ZERO_UUID,
    }
    exec(compile(source.text(), f"<encode {schema.name} v{version}>", "exec"), scope)
    encoder: Encoder = scope["encode"]
    return encoder


class EncoderSource:
    """Lines of the function, and the run of values of fixed size that is waiting to be packed at once."""

    def __init__(self, schema: Schema, version: int) -> None:
        self.schema = schema
        self.version = version
        self.flexible = version in schema.flexible
        self.constants: dict[str, Any] = {}
        self._lines: list[str] = []
        self._depth = 1
        self._names = 0
        self._run: list[tuple[str, str]] = []
        self._put = "put"
        self._struct(schema.fields, "o")
        self._flush()

    def text(self) -> str:
        return "\n".join(["def encode(o, put):", *self._lines, "    return None"])

    # Lines and runs

    def _emit(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    def _name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def _fixed(self, format_: str, value: str) -> None:
        self._run.append((format_, value))

    def _packed(self, run: list[tuple[str, str]]) -> str:
        """The expression that packs a run; `x` is a zero byte and has no value."""
        formats = "".join(format_ for format_, _ in run)
        if formats == "x":
            return "b'\\0'"
        pack = "p_" + formats.replace("?", "t")
        self.constants[pack] = struct.Struct(">" + formats).pack
        return f"{pack}({', '.join(value for _, value in run if value)})"

    def _flush(self) -> None:
        run, self._run = self._run, []
        if run:
            self._emit(f"{self._put}({self._packed(run)})")

    def _length(self, value: str, format_: str, flexible: bool) -> None:
        """Write a length behind the run; `value` has one added already if it is a varint."""
        if not flexible:
            self._fixed(format_, value)
            self._flush()
            return
        run, self._run = self._run, []
        short = self._packed([*run, ("B", value)]) if run else f"small[{value}]"
        long = f"{self._packed(run)} + uvarint({value})" if run else f"uvarint({value})"
        self._emit(f"{self._put}({short} if {value} < 128 else {long})")

    # Structures

    def _struct(self, fields: Sequence[Field], source: str) -> None:
        held = [
            differs(self.schema, field, f"{source}.{field.name}")
            for field in fields
            if self.version not in field.versions and not field.ignorable
        ]
        if not self.flexible:
            held.append(f"{source}.unknown_tagged_fields")
        if held:
            self._emit(f"if {' or '.join(held)}: raise NotEncodable")
        for field in fields_of(fields, self.version):
            self._field(field, f"{source}.{field.name}")
        if self.flexible:
            self._tags(tagged_fields_of(fields, self.version), source)

    def _tags(self, tagged: list[Field], source: str) -> None:
        run, self._run = self._run, []
        held = [differs(self.schema, field, f"{source}.{field.name}") for field in tagged]
        self._emit(f"if {' or '.join([f'{source}.unknown_tagged_fields', *held])}:")
        self._depth += 1
        if run:
            self._emit(f"{self._put}({self._packed(run)})")
        known = self._name("k")
        self._emit(f"{known} = []")
        for field, condition in zip(tagged, held, strict=True):
            self._emit(f"if {condition}:")
            self._depth += 1
            self._tagged_field(field, f"{source}.{field.name}", known)
            self._depth -= 1
        self._emit(f"{self._put}(tag_section({known}, {source}.unknown_tagged_fields))")
        self._depth -= 1
        self._emit(f"else: {self._put}({self._packed([*run, ('x', '')])})")

    def _tagged_field(self, field: Field, source: str, known: str) -> None:
        """Its bytes go to a list of their own, since their size comes first."""
        outer, pieces = self._put, self._name("b")
        self._emit(f"{pieces} = []")
        self._put = f"{pieces}.append"
        self._field(field, source)
        self._flush()
        self._put = outer
        self._emit(f"{known}.append(({field.tag}, b''.join({pieces})))")

    # Fields

    def _field(self, field: Field, source: str) -> None:
        nullable = self.version in field.nullable
        if field.is_array:
            self._array(field, source, nullable)
        elif field.is_struct:
            self._nested(field, source, nullable)
        elif field.type in FIXED_FORMATS:
            self._fixed_value(field.type, source)
        else:
            self._data(field.type, source, nullable, self.flexible and field.flexible)

    def _fixed_value(self, type_: str, source: str) -> None:
        if type_ == "uuid":
            # `struct` would pad or cut a value of another length without a word.
            self._emit(f"if len({source}) != 16: raise NotEncodable")
        self._fixed(FIXED_FORMATS[type_], source)

    def _nested(self, field: Field, source: str, nullable: bool) -> None:
        inner = self._name("o")
        fields = self.schema.structs[field.element]
        self._emit(f"{inner} = {source}")
        if not nullable:
            self._struct(fields, inner)
            return
        run = [*self._run]
        self._emit(f"if {inner} is None:")
        self._depth += 1
        self._fixed("b", str(field.null_marker))
        self._flush()
        self._depth -= 1
        self._emit("else:")
        self._depth += 1
        self._run = run
        self._fixed("b", "1")
        self._struct(fields, inner)
        self._flush()
        self._depth -= 1

    def _data(self, type_: str, source: str, nullable: bool, flexible: bool) -> None:
        """A string, bytes or records with its length before it."""
        value, length = self._name("v"), self._name("n")
        extra = " + 1" if flexible else ""
        encoded = f"{source}.encode()" if type_ == "string" else source
        if nullable:
            self._emit(f"{value} = {source}")
            self._emit(f"if {value} is None: {value} = b''; {length} = {0 if flexible else -1}")
            encoded = f"{value} = {value}.encode(); " if type_ == "string" else ""
            self._emit(f"else: {encoded}{length} = len({value}){extra}")
        else:
            self._emit(f"{value} = {encoded}; {length} = len({value}){extra}")
        if type_ == "string" and flexible:
            self._emit(f"if {length} > {STRING_BYTES_MAX + 1}: raise NotEncodable")
        self._length(length, "h" if type_ == "string" else "i", flexible)
        self._emit(f"{self._put}({value})")

    def _array(self, field: Field, source: str, nullable: bool) -> None:
        flexible = self.flexible and field.flexible
        value, length = self._name("v"), self._name("n")
        self._emit(f"{value} = {source}")
        count = f"{length} = len({value}){' + 1' if flexible else ''}"
        if nullable:
            self._emit(f"if {value} is None: {value} = (); {length} = {0 if flexible else -1}")
            self._emit(f"else: {count}")
        else:
            self._emit(count)
        self._length(length, "i", flexible)
        inner = self._name("o")
        if field.element in FIXED_FORMATS and field.element != "uuid":
            self._fixed_elements(FIXED_FORMATS[field.element], value)
            return
        self._emit(f"for {inner} in {value}:")
        self._depth += 1
        if field.is_struct:
            self._struct(self.schema.structs[field.element], inner)
        elif field.element == "uuid":
            self._fixed_value("uuid", inner)
        else:
            self._data(field.element, inner, False, flexible)
        self._flush()
        self._depth -= 1

    def _fixed_elements(self, format_: str, value: str) -> None:
        self.constants[f"small_{format_}"] = small_array_packers(format_)
        few = f"small_{format_}[len({value})](*{value})"
        many = f"pack_array(f'>{{len({value})}}{format_}', *{value})"
        self._emit(f"if {value}: {self._put}({few} if len({value}) < {SMALL_ARRAY_ELEMENTS} else {many})")


def differs(schema: Schema, field: Field, source: str) -> str:
    """The condition that a value is not the field's default."""
    if field.default == "null":
        return f"{source} is not None"
    nullable = field.nullable.last >= field.nullable.first
    if field.is_array or field.type in ("bytes", "records", "string"):
        return f"({source} is None or {source})" if nullable else source
    if field.is_struct:
        inside = [differs(schema, member, f"{source}.{member.name}") for member in schema.structs[field.element]]
        either = " or ".join([*inside, f"{source}.unknown_tagged_fields"])
        return f"({source} is None or {either})" if nullable else f"({either})"
    if field.type == "bool":
        return f"not {source}" if field.default == "true" else source
    return f"{source} != {default_source(field)}"
