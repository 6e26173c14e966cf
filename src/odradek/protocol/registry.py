"""Message classes by name, imported when asked for.

The index of names is a table of its own, so that listing messages imports none of them.
"""

from functools import cache
from importlib import import_module

from odradek.protocol.message import Message
from odradek.protocol.message_index import MESSAGES
from odradek.protocol.schema import snake_case

_CLASSES: dict[str, type[Message]] = {}


def message_names(kind: str | None = None, module: str | None = None) -> tuple[str, ...]:
    """Every message there is, in the order of the table; or those of a kind ("request", "response", "header", "data",
    "metadata", "coordinator-key", "coordinator-value") or of a module of Kafka's ("clients", "group-coordinator")."""
    return tuple(
        name
        for name, (its_kind, its_module, *_) in MESSAGES.items()
        if kind in (None, its_kind) and module in (None, its_module)
    )


def message_class(name: str) -> type[Message]:
    """Return the class with Kafka's name ("ProduceRequest", "TopicRecord"); KeyError if there is none."""
    loaded_class = _CLASSES.get(name)
    if loaded_class is None:
        if name not in MESSAGES:
            raise KeyError(name)
        module = import_module(f"odradek.protocol.messages.{snake_case(name)}")
        loaded_class = _CLASSES[name] = getattr(module, name)
    return loaded_class


def message_versions(name: str) -> range:
    """The versions there are, without importing the message."""
    *_, first, last = MESSAGES[name]
    return range(first, last + 1)


@cache
def record_class(kind: str, module: str, key: int) -> type[Message]:
    """The class of a record by its key, for example ("metadata", "metadata", 2) for TopicRecord; KeyError if none."""
    for name, (its_kind, its_module, its_key, _, _) in MESSAGES.items():
        if (its_kind, its_module, its_key) == (kind, module, key):
            return message_class(name)
    raise KeyError((kind, module, key))


@cache
def request_class(api_key: int) -> type[Message]:
    return record_class("request", "clients", api_key)


@cache
def response_class(api_key: int) -> type[Message]:
    return record_class("response", "clients", api_key)
