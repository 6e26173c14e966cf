"""Settings of brokers that change while brokers run (KIP-226): which do, for whom, and what holds in the end.

A setting may stand in a broker's file, be set for all brokers, and for one broker; the latter count more. It may have
several names (`log.roll.ms`, `log.roll.hours`): whichever is set nearest to the broker counts, whatever the others
say farther away. What concerns a listener or a disk makes no sense for all brokers at once.

Refusals have Kafka's words, and its code for them, INVALID_REQUEST, though the request is well formed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from odradek.common.config_definition import ConfigDefinition, InvalidConfig, read_table
from odradek.metadata.configs import tables
from odradek.metadata.configs.definitions import InvalidRequest, definitions
from odradek.protocol.config_kinds import ConfigResourceType

_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)

#: Of a listener, and still for all brokers.
_FOR_ALL_LISTENERS = ("max.connections", "max.connection.creation.rate", "num.network.threads")

_PER_BROKER_PREFIXES = ("ssl.", "sasl.", "listener")
_PER_BROKER = ("principal.builder.class", "cordoned.log.dirs")

#: Only ever set for a listener, by its prefix.
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
    """Rates that belong to what is going on and not to a broker: no file may have them."""
    return read_table(tables.BROKER_DYNAMIC_ONLY)


def broker_definition(name: str) -> ConfigDefinition | None:
    """Of a setting that a broker has, in its file or later; None for one that nobody knows."""
    return definitions(ConfigResourceType.BROKER).get(name) or dynamic_only_definitions().get(name)


def is_per_broker(name: str) -> bool:
    """Whether it can be set for one broker only, not for all."""
    found = _LISTENER.fullmatch(name)
    if found is not None:
        return found[1] not in _FOR_ALL_LISTENERS
    definition = broker_definition(name)
    is_named = name in _PER_BROKER or name.startswith(_PER_BROKER_PREFIXES)
    return definition is not None and definition.is_dynamic and is_named


def synonyms(name: str) -> Sequence[str]:
    """All names of a broker's setting, the one that counts most first."""
    if name == _FLUSH_SYNONYMS[0]:
        return _FLUSH_SYNONYMS
    return next((group for group in _SYNONYMS if name in group), (name,))


def check_dynamic(values: Mapping[str, str], for_one_broker: bool) -> None:
    """What would be set for a broker, or for all. Raises InvalidRequest."""
    _refuse("Cannot update these configs dynamically", filter(_is_fixed, values))
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        (name for name in values if name in _STORES),
    )
    for name, value in values.items():
        _check_value(name, value)
    if not for_one_broker:
        words = "Cannot update these configs at default cluster level, broker id must be specified"
        _refuse(words, filter(is_per_broker, values))


def usable(values: Mapping[str, str], for_one_broker: bool) -> dict[str, str]:
    """Those that a broker heeds. Others may have got past the controller, which does not know them."""
    return {
        name: value
        for name, value in values.items()
        if not _is_fixed(name)
        and name not in _STORES
        and (for_one_broker or not is_per_broker(name))
        and _is_valid(name, value)
    }


def effective(static: Mapping[str, str], cluster: Mapping[str, str], node: Mapping[str, str]) -> dict[str, str]:
    """What holds on a node: its file, what is set for all brokers, what is set for it."""
    held = {name: value for name, value in static.items() if name not in dynamic_only_definitions()}
    for layer in (cluster, node):
        for name in layer:
            for synonym in synonyms(name):
                held.pop(synonym, None)
        held |= layer
    return held


def _is_fixed(name: str) -> bool:
    """Read when the broker starts, and not again. What nobody knows may be a plug-in's."""
    definition = broker_definition(name)
    return definition is not None and not definition.is_dynamic


def _check_value(name: str, value: str) -> None:
    found = _LISTENER.fullmatch(name)
    definition = broker_definition(name if found is None else found[1])
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
    refused = sorted(names)
    if refused:
        raise InvalidRequest(f"{reason}: [{', '.join(refused)}]")
