"""Base class of all messages.

A message is a plain mutable object with slots: one class holds the fields of all versions, as Kafka's own data classes
do, so that whoever fills or reads one is written once. The classes are generated source (`odradek.protocol.messages`)
without decorators, so that importing one costs next to nothing; equality and representation come from here.
"""

from typing import Any, ClassVar

#: Default of keyword arguments whose real default is a fresh list or structure.
DEFAULT: Any = type("Default", (), {"__repr__": lambda self: "DEFAULT", "__slots__": ()})()

#: What a version range without an end goes up to.
LAST_VERSION = 32767


class Message:
    """`unknown_tagged_fields` are (tag, bytes), sorted by tag: what a newer peer sent, kept and written out again."""

    __slots__ = ("unknown_tagged_fields",)

    #: The message in the notation of `odradek.protocol.schema`; empty for the structures inside a message.
    SCHEMA: ClassVar[str] = ""
    #: Key of the API, or of the kind of record; -1 for a message without one.
    API_KEY: ClassVar[int] = -1
    #: First and last version there is.
    VERSIONS: ClassVar[tuple[int, int]] = (0, -1)
    #: First version with compact lengths and tagged fields; beyond the last version where there is none.
    FLEXIBLE_FROM: ClassVar[int] = LAST_VERSION + 1

    unknown_tagged_fields: tuple[tuple[int, bytes], ...]

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """All of them in Kafka's order, `unknown_tagged_fields` at the end."""
        return tuple(cls.__init__.__kwdefaults__ or ())

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.field_names())

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        names = self.field_names()
        printed_names = names if self.unknown_tagged_fields else names[:-1]
        fields = [f"{name}={getattr(self, name)!r}" for name in printed_names]
        return f"{type(self).__name__}({', '.join(fields)})"
