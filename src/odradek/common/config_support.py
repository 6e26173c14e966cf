"""Support of settings that Apache Kafka has: each one has an effect here, has none, or is rejected.

A setting is rejected where a user who set it would rely on something that is not there, mostly on security: going on
without it would leave a cluster less protected than its file says. Any other setting without an effect is accepted and
reported once, since a file of Apache Kafka's is expected to work here. A rejected setting may still be given with its
default or with an empty value, which ask for nothing.

Tables of support hold one `Support` for each setting; some hold for all names that begin with a prefix.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from odradek.common.config_definition import ConfigDefinition


class Level(Enum):
    EFFECTIVE = "yes"
    NO_EFFECT = "no effect"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Support:
    """`reason` is a clause without a full stop; `instead` a sentence that names what to use, or empty; `harmless` are
    values that ask for what happens anyway, besides the default and the empty one."""

    level: Level
    reason: str = ""
    instead: str = ""
    harmless: tuple[str, ...] = ()

    @property
    def reason_sentence(self) -> str:
        return f"{self.reason[:1].upper()}{self.reason[1:]}." if self.reason else ""

    @property
    def sentence(self) -> str:
        return f"{self.reason_sentence} {self.instead}".strip()


EFFECTIVE = Support(Level.EFFECTIVE)


def no_effect(reason: str, instead: str = "", *, harmless: tuple[str, ...] = ()) -> Support:
    return Support(Level.NO_EFFECT, reason, instead, harmless)


def rejected(reason: str, instead: str = "") -> Support:
    return Support(Level.REJECTED, reason, instead)


class SupportTable:
    """Support by name, or by prefix where a name has none of its own."""

    def __init__(self, by_name: Iterable[tuple[Support, str]], by_prefix: Sequence[tuple[str, Support]] = ()) -> None:
        """`by_name`: names of one kind of support, separated by white space."""
        self._by_name: dict[str, Support] = {}
        for support, names in by_name:
            for name in names.split():
                if name in self._by_name:
                    raise ValueError(f"{name} is classified twice")
                self._by_name[name] = support
        self._by_prefix = by_prefix

    @property
    def names(self) -> Iterable[str]:
        """Names that are classified one by one."""
        return self._by_name

    def find(self, name: str) -> Support | None:
        """None for a name that is not classified."""
        support = self._by_name.get(name)
        if support is not None:
            return support
        return next((support for prefix, support in self._by_prefix if name.startswith(prefix)), None)


def asks_for_nothing(definition: ConfigDefinition, value: str) -> bool:
    """Return whether the value is empty or the setting's default, which is the same as not setting it."""
    text = value.strip()
    return not text or text == definition.default or _same_boolean(definition, text)


def _same_boolean(definition: ConfigDefinition, text: str) -> bool:
    return definition.type == "boolean" and text.lower() == definition.default


def is_ignored(definition: ConfigDefinition, support: Support, value: str) -> bool:
    """Return whether this value requests something that does not happen. A number asks for an amount even if it
    is the default; any other default describes what happens anyway."""
    if support.level is not Level.NO_EFFECT:
        return False
    if value.strip().lower() in support.harmless:
        return False
    is_number = definition.type in ("short", "int", "long", "double")
    return bool(value.strip()) and (is_number or not asks_for_nothing(definition, value))


def is_rejected(definition: ConfigDefinition, support: Support, value: str) -> bool:
    return support.level is Level.REJECTED and not asks_for_nothing(definition, value)
