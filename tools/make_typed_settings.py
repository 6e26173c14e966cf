"""Generate the types of the clients' keyword arguments from the table of settings.

    tools/make_typed_settings.py     writes src/odradek/client/settings/typed_dicts.py

Needed when the table or the support of a setting changes.
"""

import re
from pathlib import Path

from odradek.client.settings.parsing import Kind, definitions, keyword
from odradek.client.settings.support import client_support
from odradek.common.config_definition import ConfigDefinition
from odradek.common.config_support import Level

TYPED_DICTS = Path(__file__).parents[1] / "src" / "odradek" / "client" / "settings" / "typed_dicts.py"

HEAD = '''"""Types of the keyword arguments of the clients. Made by tools/make_typed_settings.py.

Names are Kafka's with underscores. Settings that are rejected (TLS, SASL) are left out. `Key` and `Value` are the types
of keys and values: a producer's serializers take them, a consumer's deserializers return them.
"""

from collections.abc import Callable, Sequence
from typing import Generic, Literal, TypedDict

from odradek.client.types import Key, Value
from odradek.common.addresses import HostPort

_Partitioner = Callable[[str, bytes | None, bytes | None, int], int]
'''

_TYPES = {
    "boolean": "bool",
    "short": "int",
    "int": "int",
    "long": "int",
    "double": "float",
    "list": "str | Sequence[str]",
}

#: Settings whose values are Python objects, or are not described well enough by the table.
_SPECIAL = {
    "bootstrap.controllers": "str | Sequence[str | HostPort]",
    "bootstrap.servers": "str | Sequence[str | HostPort]",
    "key.deserializer": "Callable[[bytes], Key] | str",
    "key.serializer": "Callable[[Key], bytes] | str",
    "partition.assignment.strategy": "str | Sequence[object]",
    "partitioner.class": "_Partitioner | str | None",
    "security.protocol": 'Literal["PLAINTEXT", "plaintext"]',
    "value.deserializer": "Callable[[bytes], Value] | str",
    "value.serializer": "Callable[[Value], bytes] | str",
}

_CASE_INSENSITIVE = "(case insensitive) "


def setting_type(definition: ConfigDefinition) -> str:
    """Return the annotation of a setting."""
    if definition.name in _SPECIAL:
        return _SPECIAL[definition.name]
    annotation = _TYPES.get(definition.type) or _choices(definition.valid) or "str"
    return f"{annotation} | None" if definition.default is None else annotation


def _choices(valid: str) -> str | None:
    """Return a Literal for a list of choices; None if the valid values are not a list of words and numbers."""
    is_insensitive = valid.startswith(_CASE_INSENSITIVE)
    listed = re.fullmatch(r"\[([\w\s,-]+)\]", valid.removeprefix(_CASE_INSENSITIVE))
    if listed is None:
        return None
    choices = [choice.strip() for choice in listed[1].split(",")]
    texts = (
        [choice.lower() for choice in choices] + [choice.upper() for choice in choices] if is_insensitive else choices
    )
    numbers = [choice for choice in choices if re.fullmatch(r"-?\d+", choice)]
    quoted = [f'"{text}"' for text in texts]
    return f"Literal[{', '.join([*quoted, *numbers])}]"


def typed_dict(kind: Kind, generic: str) -> str:
    """Return the class with all settings of a kind of client that are not rejected."""
    types = {
        keyword(name): setting_type(definition)
        for name, definition in definitions(kind).items()
        if client_support(name).level is not Level.REJECTED
    }
    if "partitioner_class" in types:
        types["partitioner"] = types["partitioner_class"]
    fields = "".join(f"    {name}: {types[name]}\n" for name in sorted(types))
    return f"\n\nclass {kind.name.title()}Settings(TypedDict, {generic}total=False):\n{fields}"


def typed_dicts() -> str:
    """Return the text of the generated module."""
    key_and_value = "Generic[Key, Value], "
    return HEAD + "".join(typed_dict(kind, "" if kind is Kind.ADMIN else key_and_value) for kind in Kind)


if __name__ == "__main__":
    TYPED_DICTS.write_text(typed_dicts())
