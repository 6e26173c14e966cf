"""Definition of one setting: its type, default and valid values, in the notation of Kafka's own tables.

A table has one line a setting: name | type | default | valid values | "dynamic" where that applies. Texts about what is
wrong are Kafka's, since clients show them.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from odradek.common.failures import ApiError

NULL = "null"
REQUIRED = "<required>"

#: Widest range of each whole type.
_WHOLE = {"short": 15, "int": 31, "long": 63}

_TYPE_WORDS = {
    "int": "a whole number",
    "long": "a whole number",
    "short": "a whole number",
    "double": "a number",
    "boolean": "true or false",
    "list": "a list, separated by commas",
}

#: What is valid of a list of replicas begins with this.
_REPLICAS = "[partitionId]"


class InvalidConfig(ApiError):
    """Kafka calls it INVALID_CONFIG, whatever the reason."""

    code = 40


@dataclass(frozen=True, slots=True)
class ConfigDefinition:
    name: str
    type: str
    default: str | None
    valid: str
    is_dynamic: bool

    @property
    def is_list(self) -> bool:
        return self.type == "list"

    @property
    def is_sensitive(self) -> bool:
        return self.type == "password"

    def check(self, text: str) -> None:
        """Raises InvalidConfig unless the text is a value of the type and within what is valid."""
        trimmed = text.strip()
        reason = self.reason_against(trimmed)
        if reason is not None:
            # Of replicas Kafka shows the list, of other lists the text.
            value = f"[{', '.join(_items(trimmed))}]" if self.valid.startswith(_REPLICAS) else trimmed
            raise InvalidConfig(f"Invalid value {value} for configuration {self.name}: {reason}")

    def reason_against(self, text: str) -> str | None:
        """Why the text is no value of it, in Kafka's words; None if it is one."""
        if self.type in _WHOLE:
            return self._number_reason(text, r"[+-]?[0-9]+", f"Not a number of type {self.type.upper()}")
        if self.type == "double":
            return self._number_reason(text, r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", "Not a number")
        if self.type == "boolean":
            return None if text.lower() in ("true", "false") else "Expected value to be either true or false"
        if self.type == "list":
            return self._list_reason(_items(text))
        return self._choice_reason(text)

    @property
    def allowed(self) -> str:
        """A sentence about what would be right."""
        kind = _TYPE_WORDS.get(self.type, "text")
        valid = f", {self.valid}" if self.valid else ""
        default = "" if self.default is None else f"; {self.default or 'empty'} unless set"
        return f"It is {kind}{valid}{default}."

    def _number_reason(self, text: str, pattern: str, otherwise: str) -> str | None:
        if not re.fullmatch(pattern, text, re.ASCII):
            return otherwise
        number = float(text) if self.type == "double" else int(text)
        bits = _WHOLE.get(self.type)
        if bits is not None and not -(1 << bits) <= number < 1 << bits:
            return otherwise
        limits = _limits(self.valid)
        if limits.also is not None and number == limits.also:
            return None
        if limits.also is not None and limits.low is not None and limits.high is not None:
            text_of_range = f"between {_plain(limits.low)} and {_plain(limits.high)} or equal to {_plain(limits.also)}"
            return None if limits.low <= number <= limits.high else f"Value must be {text_of_range}"
        if limits.low is not None and number < limits.low:
            return f"Value must be at least {_plain(limits.low)}"
        if limits.high is not None and number > limits.high:
            return f"Value must be no more than {_plain(limits.high)}"
        return None

    def _list_reason(self, items: list[str]) -> str | None:
        if self.valid.startswith(_REPLICAS):
            is_valid = items == ["*"] or all(re.fullmatch(r"[0-9]+:[0-9]+", item, re.ASCII) for item in items)
            reason = f"{self.name} must be the literal '*' or a list of replicas in the following format: {self.valid}"
            return None if is_valid else reason
        choices = _choices(self.valid)
        for item in items:
            if choices and item not in choices:
                return f"String must be one of: {', '.join(choices)}"
        return "must not be empty" if self.valid == "non-empty list" and not items else None

    def _choice_reason(self, text: str) -> str | None:
        if self.valid == "non-empty string":
            return None if text else "String must be non-empty"
        choices = _choices(self.valid)
        if not choices or ("PnDT" in self.valid and text.startswith("by_duration:")):
            return None
        any_case = self.valid.startswith("(case insensitive)")
        is_choice = text.upper() in [choice.upper() for choice in choices] if any_case else text in choices
        return None if is_choice else f"String must be one of: {', '.join(choices)}"


class _Limits(NamedTuple):
    low: float | None
    high: float | None
    also: float | None


@cache
def _limits(valid: str) -> _Limits:
    """Parse notations such as `[0,...]`, `[1,...,9] or -1`."""
    match = re.fullmatch(r"\[(-?[0-9]+),\.\.\.(?:,(-?[0-9]+))?\](?: or (-?[0-9]+))?", valid)
    if match is None:
        return _Limits(None, None, None)
    low, high, also = (None if text is None else float(text) for text in match.groups())
    return _Limits(low, high, also)


@cache
def _choices(valid: str) -> tuple[str, ...]:
    match = re.search(r"\[([^\]]+)\]$", valid)
    return () if match is None else tuple(choice.strip() for choice in match[1].split(","))


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")] if text else []


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def read_table(table: str) -> dict[str, ConfigDefinition]:
    definitions = {}
    for line in table.splitlines():
        parts = [part.strip() for part in line.split(" |")]
        name, type_, default, valid, dynamic = (parts + [""] * 4)[:5]
        default_value = None if default in (NULL, REQUIRED) else default
        definitions[name] = ConfigDefinition(name, type_, default_value, valid, dynamic == "dynamic")
    return definitions
