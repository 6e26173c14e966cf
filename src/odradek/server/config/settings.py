"""The settings of one node: what its file and its command line say, checked one by one, and Kafka's defaults.

Every setting of Kafka's table is known, with its type and what it may hold, and so are our own (`odradek.*`). Of a
key that comes twice the last one counts, and an override on the command line counts more than the file. Unknown keys
are warned about and kept: Kafka hands them to plug-ins, and so a file may well hold some.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.common.config_definition import ConfigDefinition, InvalidConfig
from odradek.common.failures import InputError, check
from odradek.common.properties import Properties
from odradek.metadata.configs.definitions import definitions
from odradek.metadata.configs.dynamic import dynamic_only_definitions
from odradek.metadata.configs.support import broker_support
from odradek.protocol.config_types import ConfigResourceType
from odradek.server.config.endpoints import repeated
from odradek.server.config.problems import Problems

OVERRIDE = "--override"

#: Our own settings, for what Kafka does not have.
OWN: Mapping[str, ConfigDefinition] = {
    definition.name: definition
    for definition in (
        # How long a broker whose heartbeat connection broke may take to come back before it is fenced.
        ConfigDefinition("odradek.broker.disconnect.grace.ms", "int", "300", "[0,...]", False),
        # The same for controllers: how long until a follower doubts a leader that refuses connections.
        ConfigDefinition("odradek.quorum.disconnect.grace.ms", "int", "300", "[0,...]", False),
        # host:port of /metrics and /healthz; none unless it is set.
        ConfigDefinition("odradek.admin.listener", "string", None, "", False),
    )
}

#: Looked at elsewhere: their checks tell more than the table can.
_WITH_OWN_CHECKS = ("controller.quorum.voters", "controller.quorum.bootstrap.servers", "process.roles")


class Given(NamedTuple):
    """A value and where it stands: `server.properties:7`, or the option that overrode it."""

    value: str
    place: str


class Settings:
    def __init__(self, path: str, given: Mapping[str, Given]) -> None:
        self.path = path
        self._given = given
        #: Given and not what they may hold; everything else goes on with the default, so that one run finds all errors.
        self._wrong: set[str] = set()
        self._definitions = {**definitions(ConfigResourceType.BROKER), **dynamic_only_definitions(), **OWN}

    @property
    def given(self) -> dict[str, str]:
        """What was set, as text: the static layer of the node's configuration. Under either of its names, the id is
        set under both."""
        values = {key: given.value for key, given in self._given.items()}
        node_id = values.get("node.id", values.get("broker.id"))
        return values if node_id is None else values | {"node.id": node_id, "broker.id": node_id}

    def replaced(self, values: Mapping[str, str]) -> "Settings":
        """Those of the same node with other values; where they come from, people do not need to know."""
        return Settings(self.path, {key: Given(value, self.path) for key, value in values.items()})

    def is_given(self, key: str) -> bool:
        return key in self._given

    def where(self, key: str) -> str:
        """For messages: the place of the key, or the file if the key is not there."""
        given = self._given.get(key)
        return f"{self.path if given is None else given.place}: {key}"

    def optional_text(self, key: str) -> str | None:
        given = self._given.get(key)
        if given is None or key in self._wrong:
            return self._definitions[key].default
        return given.value.strip()

    def text(self, key: str) -> str:
        value = self.optional_text(key)
        check(value is not None, f"{key} has no value and no default")
        assert value is not None
        return value

    def optional_whole(self, key: str) -> int | None:
        text = self.optional_text(key)
        return None if text is None else int(text)

    def whole(self, key: str) -> int:
        return int(self.text(key))

    def real(self, key: str) -> float:
        return float(self.text(key))

    def boolean(self, key: str) -> bool:
        return self.text(key).lower() == "true"

    def items(self, key: str) -> tuple[str, ...]:
        """Of a list, each once; none if it is empty, or neither given nor with a default."""
        return tuple(dict.fromkeys(_split(self.optional_text(key) or "")))

    def check_each(self, problems: Problems) -> None:
        """Every given value against its definition; unknown names are warned about."""
        for key, given in self._given.items():
            definition = self._definitions.get(key)
            if definition is None:
                self._warn_unknown(key, problems)
            elif key in dynamic_only_definitions():
                problems.warning(
                    self.where(key), "it has no effect in a file.", "Set it while nodes run: odradek configs alter."
                )
            elif key not in _WITH_OWN_CHECKS:
                self._check(definition, given.value.strip(), problems)

    def _check(self, definition: ConfigDefinition, text: str, problems: Problems) -> None:
        key = definition.name
        entries = _split(text) if definition.is_list else []
        try:
            definition.check(",".join(dict.fromkeys(entries)) if entries else text)
        except InvalidConfig as error:
            self._wrong.add(key)
            reason = error.message.partition(f" for configuration {key}: ")[2]
            problems.error(self.where(key), f'"{text}": {reason}.', definition.allowed)
            return
        if "" in entries:
            problems.error(self.where(key), f'"{text}" has an empty entry.', definition.allowed)
        for entry in repeated(filter(None, entries)):
            problems.warning(self.where(key), f'"{entry}" is there twice; once counts.')

    def _warn_unknown(self, key: str, problems: Problems) -> None:
        if broker_support(key) is not None:
            return  # a setting of a listener, of a plug-in, or of older versions: reported as unsupported
        close = difflib.get_close_matches(key, self._definitions, n=1, cutoff=0.85)
        problems.warning(self.where(key), "unknown setting, ignored.", f"Did you mean {close[0]}?" if close else "")


def read_settings(properties: Properties, overrides: Iterable[str], problems: Problems) -> Settings:
    """`overrides` are `key=value` each; raises InputError for one that is not."""
    given = {
        key: Given(value, f"{properties.path}:{properties.lines[key]}") for key, value in properties.values.items()
    }
    for duplicate in properties.duplicates:
        problems.warning(
            f"{properties.path}:{duplicate.line}: {duplicate.key}",
            f"it is set on line {duplicate.earlier_line} too; this one counts.",
        )
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f'{OVERRIDE} "{override}": an override is key=value, for example log.dirs=/var/lib/odradek.'
            )
        given[key.strip()] = Given(value, OVERRIDE)
    return Settings(properties.path, given)


def _split(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",")] if text else []
