"""Dynamic broker configs (KIP-226): which configs are dynamic, their scope, and the effective values.

A config may be set in a broker's file, for all brokers and for one broker, in rising precedence. It may have synonyms
(`log.roll.ms`, `log.roll.hours`): a synonym in a layer of higher precedence hides all of those in lower layers. Configs
of a listener or a disk cannot be set for all brokers at once.

Errors have Kafka's messages and Kafka's error code INVALID_REQUEST, although the request is well formed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from odradek.common.config_definition import ConfigDefinition, InvalidConfig, read_table
from odradek.metadata.configs import tables
from odradek.metadata.configs.definitions import InvalidRequest, definitions
from odradek.protocol.config_types import ConfigResourceType

_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)

#: Listener configs that may be set for all brokers.
_FOR_ALL_LISTENERS = ("max.connections", "max.connection.creation.rate", "num.network.threads")

_PER_BROKER_PREFIXES = ("ssl.", "sasl.", "listener")
_PER_BROKER = ("principal.builder.class", "cordoned.log.dirs")

#: Configs that can only be set with the prefix of a listener.
_STORES = (
    *("ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password", "ssl.key.password"),
    *("ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.password"),
    *("ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.truststore.certificates"),
)

_SYNONYMS: tuple[tuple[str, ...], ...] = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FLUSH_SYNONYMS = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")


@cache
def dynamic_only_definitions() -> Mapping[str, ConfigDefinition]:
    """Return the rate limits that may only be set dynamically, not in a file."""
    return read_table(tables.BROKER_DYNAMIC_ONLY)


def broker_definition(name: str) -> ConfigDefinition | None:
    """Return the definition of a broker config, static or dynamic; None for an unknown one."""
    return definitions(ConfigResourceType.BROKER).get(name) or dynamic_only_definitions().get(name)


def is_per_broker(name: str) -> bool:
    """Return whether a config can be set for one broker only, not for all."""
    listener_match = _LISTENER.fullmatch(name)
    if listener_match is not None:
        return listener_match[1] not in _FOR_ALL_LISTENERS
    definition = broker_definition(name)
    is_named = name in _PER_BROKER or name.startswith(_PER_BROKER_PREFIXES)
    return definition is not None and definition.is_dynamic and is_named


def synonyms(name: str) -> Sequence[str]:
    """Return all names of a broker config in the order of precedence."""
    if name == _FLUSH_SYNONYMS[0]:
        return _FLUSH_SYNONYMS
    return next((group for group in _SYNONYMS if name in group), (name,))


def check_dynamic(values: Mapping[str, str], for_one_broker: bool) -> None:
    """Check new values for one broker, or for all. Raises InvalidRequest."""
    _refuse("Cannot update these configs dynamically", filter(_is_fixed, values))
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        (name for name in values if name in _STORES),
    )
    for name, value in values.items():
        _check_value(name, value)
    if not for_one_broker:
        reason = "Cannot update these configs at default cluster level, broker id must be specified"
        _refuse(reason, filter(is_per_broker, values))


def usable(values: Mapping[str, str], for_one_broker: bool) -> dict[str, str]:
    """Return the values that a broker applies. The controller also stores configs that it does not know."""
    return {
        name: value
        for name, value in values.items()
        if not _is_fixed(name)
        and name not in _STORES
        and (for_one_broker or not is_per_broker(name))
        and _is_valid(name, value)
    }


def effective(static: Mapping[str, str], cluster: Mapping[str, str], node: Mapping[str, str]) -> dict[str, str]:
    """Return the effective configs of a node, from its file, those of all brokers and its own."""
    configs = {name: value for name, value in static.items() if name not in dynamic_only_definitions()}
    for layer in (cluster, node):
        for name in layer:
            for synonym in synonyms(name):
                configs.pop(synonym, None)
        configs |= layer
    return configs


def _is_fixed(name: str) -> bool:
    """Return whether a config is read at start only. An unknown config may belong to a plug-in, so it is not fixed."""
    definition = broker_definition(name)
    return definition is not None and not definition.is_dynamic


def _check_value(name: str, value: str) -> None:
    listener_match = _LISTENER.fullmatch(name)
    definition = broker_definition(name if listener_match is None else listener_match[1])
    if definition is None or not definition.is_dynamic:
        return
    try:
        definition.check(value)
    except InvalidConfig as error:
        raise InvalidRequest(str(error)) from None


def _is_valid(name: str, value: str) -> bool:
    try:
        _check_value(name, value)
    except InvalidRequest:
        return False
    return True


def _refuse(reason: str, names: Iterable[str]) -> None:
    rejected = sorted(names)
    if rejected:
        raise InvalidRequest(f"{reason}: [{', '.join(rejected)}]")
