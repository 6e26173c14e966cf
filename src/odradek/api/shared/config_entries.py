"""Settings as DescribeConfigs shows them: value, where it comes from, and what it would be without that (synonyms).

The layers, nearest first: the resource itself, this broker, all brokers, the node's file, the default. The synonyms of
a setting are those of its layers that have it, under its own name or another: a topic's `retention.ms` falls back to a
broker's `log.retention.ms`, which `log.retention.minutes` and `log.retention.hours` stand in for. As in Kafka, those of
another name in front of the first of the own name are not shown, and so do not count as the source.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial

from odradek.api.dispatch.context import Context
from odradek.api.shared.broker_loggers import levels
from odradek.common.config_definition import ConfigDefinition
from odradek.metadata.configs.definitions import ConfigLayers, definitions, effective_topic_config, topic_synonym
from odradek.metadata.configs.dynamic import broker_definition, effective, usable
from odradek.metadata.configs.dynamic import synonyms as synonyms_of
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.config_types import ConfigResourceType, ConfigSource
from odradek.protocol.messages.describe_configs_response import DescribeConfigsResourceResult, DescribeConfigsSynonym

Entry = DescribeConfigsResourceResult
Synonyms = list[DescribeConfigsSynonym]

#: Kafka's numbers of types, in their order.
_TYPES = ("unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")


class ConfigEntries:
    """The settings of one moment."""

    def __init__(self, ctx: Context, *, with_synonyms: bool, with_documentation: bool = False) -> None:
        self._image: MetadataImage = ctx.services.image()
        self._with_synonyms = with_synonyms
        self._with_documentation = with_documentation
        self._static = _with_both_ids(ctx.services.static_configs)
        self._node = usable(self._set_for(ConfigResourceType.BROKER, str(ctx.services.node_id)), True)
        self._cluster = usable(self._set_for(ConfigResourceType.BROKER, ""), False)

    def of_topic(self, name: str) -> dict[str, Callable[[], Entry]]:
        layers = ConfigLayers(self._set_for(ConfigResourceType.TOPIC, name), self._node, self._cluster, self._static)

        def entry(key: str, definition: ConfigDefinition) -> Entry:
            value = effective_topic_config(key, layers).value
            synonym = topic_synonym(key)
            inherited = [] if synonym is None else self._broker_synonyms(synonym, definition)
            return self._entry(
                definition, value, _own(key, layers.topic, ConfigSource.DYNAMIC_TOPIC_CONFIG) + inherited
            )

        return _lazily(definitions(ConfigResourceType.TOPIC), entry)

    def of_group(self, name: str) -> dict[str, Callable[[], Entry]]:
        given = self._set_for(ConfigResourceType.GROUP, name)
        brokers = definitions(ConfigResourceType.BROKER)

        def entry(key: str, definition: ConfigDefinition) -> Entry:
            synonym = f"group.{key}"
            inherited = self._broker_synonyms(synonym, definition) if synonym in brokers else _default_of(definition)
            synonyms = _own(key, given, ConfigSource.DYNAMIC_GROUP_CONFIG) + inherited
            return self._entry(definition, synonyms[0].value if synonyms else definition.default, synonyms)

        return _lazily(definitions(ConfigResourceType.GROUP), entry)

    def of_client_metrics(self, name: str) -> dict[str, Callable[[], Entry]]:
        given = self._set_for(ConfigResourceType.CLIENT_METRICS, name)

        def entry(key: str, definition: ConfigDefinition) -> Entry:
            value = given.get(key, definition.default or "")
            return self._entry(definition, value, _own(key, given, ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG))

        return _lazily(definitions(ConfigResourceType.CLIENT_METRICS), entry)

    def of_this_broker(self) -> dict[str, Callable[[], Entry]]:
        known = definitions(ConfigResourceType.BROKER)
        set_somewhere = {**self._static, **self._cluster, **self._node}
        unknown = {key: broker_definition(key) or _unknown(key) for key in set_somewhere if key not in known}
        held = effective(self._static, self._cluster, self._node)

        def entry(key: str, definition: ConfigDefinition) -> Entry:
            value = held.get(key, definition.default)
            return self._entry(definition, value, self._broker_synonyms(key, definition), read_only=True)

        return _lazily({**unknown, **known}, entry)

    def of_all_brokers(self) -> dict[str, Callable[[], Entry]]:
        """Only what was set for all of them at once."""
        found = {key: broker_definition(key) or _unknown(key) for key in self._cluster}

        def entry(key: str, definition: ConfigDefinition) -> Entry:
            synonyms = [
                synonym
                for synonym in self._broker_synonyms(key, definition)
                if synonym.source == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
            ]
            return self._entry(definition, self._cluster[key], synonyms, read_only=True)

        return _lazily(found, entry)

    def of_loggers(self) -> dict[str, Callable[[], Entry]]:
        source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
        return {name: partial(Entry, name=name, value=level, config_source=source) for name, level in levels().items()}

    def _entry(
        self, definition: ConfigDefinition, value: str | None, synonyms: Synonyms, *, read_only: bool = False
    ) -> Entry:
        is_secret = definition.is_sensitive or definition.type == _TYPES[0]
        if is_secret:
            synonyms = [DescribeConfigsSynonym(name=one.name, value=None, source=one.source) for one in synonyms]
        return Entry(
            name=definition.name,
            value=None if is_secret or value is None else _shown(definition.type, value),
            read_only=read_only and not definition.is_dynamic,
            config_source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
            is_sensitive=is_secret,
            synonyms=synonyms if self._with_synonyms else [],
            config_type=_TYPES.index(definition.type),
            documentation=_documentation(definition) if self._with_documentation else None,
        )

    def _broker_synonyms(self, name: str, described: ConfigDefinition) -> Synonyms:
        """`described` gives the default of a setting that is in no table of its own."""
        known = definitions(ConfigResourceType.BROKER)
        names = synonyms_of(name)
        defaults = {one: _shown_default(known.get(one, described)) for one in names}
        found = [
            DescribeConfigsSynonym(name=one, value=layer[one], source=source)
            for layer, source in (
                (self._node, ConfigSource.DYNAMIC_BROKER_CONFIG),
                (self._cluster, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
                (self._static, ConfigSource.STATIC_BROKER_CONFIG),
                ({one: text for one, text in defaults.items() if text is not None}, ConfigSource.DEFAULT_CONFIG),
            )
            for one in names
            if one in layer
        ]
        first = next((at for at, synonym in enumerate(found) if synonym.name == name), len(found))
        return found[first:]

    def _set_for(self, kind: ConfigResourceType, name: str) -> Mapping[str, str]:
        return self._image.configs.settings(ConfigResource(kind, name))


def _with_both_ids(static: Mapping[str, str]) -> Mapping[str, str]:
    """`broker.id` is the old name of `node.id`; who sets one has set both."""
    node_id = static.get("node.id", static.get("broker.id"))
    return static if node_id is None else {"node.id": node_id, "broker.id": node_id, **static}


def _shown(kind: str, text: str) -> str:
    """As Java prints the value that the text stands for."""
    text = text.strip()
    if kind in ("int", "long", "short"):
        return str(int(text))
    if kind == "boolean":
        return text.lower()
    if kind == "list":
        return ",".join(item.strip() for item in text.split(","))
    return _java_double(float(text)) if kind == "double" else text


def _shown_default(definition: ConfigDefinition) -> str | None:
    return None if definition.default is None else _shown(definition.type, definition.default)


def _java_double(number: float) -> str:
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    digits, _, exponent = f"{Decimal(repr(number)).normalize():E}".partition("E")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _lazily(
    found: Mapping[str, ConfigDefinition], make: Callable[[str, ConfigDefinition], Entry]
) -> dict[str, Callable[[], Entry]]:
    """By name, made when asked for: most requests want a few of hundreds."""
    return {key: partial(make, key, definition) for key, definition in found.items()}


def _own(key: str, given: Mapping[str, str], source: int) -> Synonyms:
    return [DescribeConfigsSynonym(name=key, value=given[key], source=source)] if key in given else []


def _default_of(definition: ConfigDefinition) -> Synonyms:
    if definition.default is None:
        return []
    return [DescribeConfigsSynonym(name=definition.name, value=definition.default, source=ConfigSource.DEFAULT_CONFIG)]


def _unknown(key: str) -> ConfigDefinition:
    return ConfigDefinition(key, _TYPES[0], None, "", False)


def _documentation(definition: ConfigDefinition) -> str | None:
    """What the table knows; what a setting is for is in the manual."""
    if definition.type == _TYPES[0]:
        return None
    valid = f", {definition.valid}" if definition.valid else ""
    default = "no value" if definition.default is None else definition.default or "empty"
    changes = " It may change while brokers run." if definition.is_dynamic else ""
    return f"{definition.type}{valid}; {default} unless set.{changes}"
