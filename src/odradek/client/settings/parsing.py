"""Parses the settings of a client: looks up their names and checks their values by Kafka's table. Pure.

`ClientProperties` knows which settings are set, since some defaults depend on it. Rules between several settings are in
`rules`.
"""

import difflib
import logging
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any

from odradek.client.settings import table as client_settings
from odradek.client.settings.support import client_support
from odradek.common.addresses import HostPort, parse_bootstrap
from odradek.common.config_definition import ConfigDefinition, read_table
from odradek.common.config_support import is_ignored, is_rejected
from odradek.common.failures import InputError

logger = logging.getLogger("odradek.client")

#: By our own short name too: what is given is no class here.
_SHORT_NAMES = {"partitioner": "partitioner.class"}

_SPOKEN = "PLAINTEXT"


class Kind(Enum):
    PRODUCER = client_settings.PRODUCER
    CONSUMER = client_settings.CONSUMER
    ADMIN = client_settings.ADMIN

    @property
    def word(self) -> str:
        return self.name.lower()


@cache
def definitions(kind: Kind) -> Mapping[str, ConfigDefinition]:
    return read_table(kind.value)


class ClientProperties:
    def __init__(self, kind: Kind, values: Mapping[str, object]) -> None:
        """Check values by Kafka's names; None is not among them."""
        self.kind = kind
        self.values = values
        for name, value in values.items():
            definition = definitions(kind)[name]
            is_object = definition.type == "class" or (definition.is_list and _has_objects(value))
            if not is_object:
                self._check(definition, as_text(value))

    def is_set(self, name: str) -> bool:
        return name in self.values

    def error(self, name: str, reason: str) -> InputError:
        return InputError(f"{self.kind.word}: {name} ({keyword(name)}): {reason}")

    def optional_text(self, name: str) -> str | None:
        if name in self.values:
            return as_text(self.values[name]).strip()
        return definitions(self.kind)[name].default

    def text(self, name: str) -> str:
        return self.optional_text(name) or ""

    def integer(self, name: str) -> int:
        return int(self.text(name))

    def boolean(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def items(self, name: str) -> tuple[object, ...]:
        value = self.values.get(name)
        if isinstance(value, list | tuple):
            return tuple(value)
        if value is not None and not isinstance(value, str):
            return (value,)
        return tuple(item for item in (part.strip() for part in self.text(name).split(",")) if item)

    def plain(self, name: str) -> object:
        """Return the value by its type: an integer, a boolean, or text."""
        value_type = definitions(self.kind)[name].type
        if value_type == "boolean":
            return self.boolean(name)
        return self.integer(name) if value_type in ("short", "int", "long") else self.optional_text(name)

    def addresses(self, name: str) -> tuple[HostPort, ...]:
        """None if it is not given."""
        if not self.text(name):
            return ()
        return parse_bootstrap(self.text(name), f"{self.kind.word}: {name} ({keyword(name)})")

    def callable(self, name: str, find: Callable[[object], Any], default: Any, right: str) -> Any:
        """`find` makes it of what was given, or None if it cannot be."""
        if name not in self.values:
            return default
        value = find(self.values[name])
        if value is None:
            raise self.error(name, f"{self.values[name]!r:.100} is not a valid value. {right}")
        return value

    def _check(self, definition: ConfigDefinition, text: str) -> None:
        reason = definition.reason_against(text.strip())
        if reason is not None:
            raise self.error(definition.name, f'"{text}": {reason}. {definition.allowed}')


def read(kind: Kind, config: Mapping[str, object] | None, keywords: Mapping[str, object]) -> ClientProperties:
    """Raises InputError for a name that is none, one that comes twice, a value that cannot be."""
    values: dict[str, object] = {}
    for written, value in [*(config or {}).items(), *keywords.items()]:
        name = _resolve_name(kind, written, is_keyword=written in keywords and written not in (config or {}))
        if name in values:
            raise InputError(f"{kind.word}: {name} ({keyword(name)}) is set twice.")
        values[name] = value
    reading = ClientProperties(kind, {name: value for name, value in values.items() if value is not None})
    _check_security(reading)
    _check_support(reading)
    return reading


def keyword(name: str) -> str:
    return name.replace(".", "_")


def as_text(value: object) -> str:
    """Return the value as text, as in a properties file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple) and not isinstance(value, HostPort):
        return ",".join(as_text(item) for item in value)
    return str(value)


def _has_objects(value: object) -> bool:
    """Return whether the value is or contains a Python object without a text form."""
    if isinstance(value, list | tuple):
        return any(_has_objects(item) for item in value)
    return not isinstance(value, str | int | float)


def _resolve_name(kind: Kind, written: object, *, is_keyword: bool) -> str:
    if not isinstance(written, str):
        raise InputError(f"{kind.word}: {written!r} is not the name of a setting; names are text, such as client.id.")
    name = written.replace("_", ".") if is_keyword else written
    name = _SHORT_NAMES.get(name, name)
    table = definitions(kind)
    if name in table:
        return name
    for other in Kind:
        if name in definitions(other):
            raise InputError(f"{kind.word}: {written} is a setting of {_those_with(name)}, not of {kind.word}s.")
    dotted = name.replace("_", ".")
    near = (
        [_OF_LIBRDKAFKA[dotted]]
        if _OF_LIBRDKAFKA.get(dotted) in table
        else difflib.get_close_matches(dotted, table, n=1)
    )
    right = f"Did you mean {near[0]} ({keyword(near[0])})?" if near else "Names are Kafka's, such as client.id."
    raise InputError(f"{kind.word}: unknown setting '{written}'. {right}")


#: What people bring along from librdkafka, whose names for some settings are its own.
_OF_LIBRDKAFKA = {
    "queue.buffering.max.ms": "linger.ms",
    "queue.buffering.max.kbytes": "buffer.memory",
    "request.required.acks": "acks",
    "message.timeout.ms": "delivery.timeout.ms",
    "message.send.max.retries": "retries",
    "message.max.bytes": "max.request.size",
    "compression.codec": "compression.type",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "metadata.broker.list": "bootstrap.servers",
    "socket.timeout.ms": "request.timeout.ms",
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "enable.auto.offset.store": "enable.auto.commit",
}


def _those_with(name: str) -> str:
    return " and ".join(f"{kind.word}s" for kind in Kind if name in definitions(kind))


def _check_security(reading: ClientProperties) -> None:
    protocol = reading.text("security.protocol")
    if protocol.upper() != _SPOKEN:
        raise reading.error("security.protocol", f"{protocol} is not supported; {_SPOKEN} is the only protocol.")


def _check_support(reading: ClientProperties) -> None:
    """Rejects what a program would rely on and cannot have, and logs what has no effect."""
    ignored = []
    for name, value in reading.values.items():
        definition, support = definitions(reading.kind)[name], client_support(name)
        text = as_text(value)
        if is_rejected(definition, support, text):
            raise reading.error(name, support.sentence)
        if is_ignored(definition, support, text):
            ignored.append(name)
    if ignored:
        _warn_once(reading.kind, tuple(ignored))


@cache
def _warn_once(kind: Kind, names: tuple[str, ...]) -> None:
    """Programs make many clients of the same settings."""
    logger.warning("%s: settings without an effect: %s; docs/settings.md says why", kind.word, ", ".join(names))
