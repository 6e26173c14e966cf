"""Settings that a node's file gives and that do nothing here: errors where somebody would rely on them, else warnings.

Warnings are few: one for each setting that something else can be used for, and one for all others together.
"""

from collections.abc import Iterable

from odradek.common.config_definition import ConfigDefinition
from odradek.common.config_support import Level, Support, is_ignored, is_rejected
from odradek.metadata.configs.dynamic import broker_definition
from odradek.metadata.configs.support import broker_support, listener_setting
from odradek.server.config.listeners import Listeners
from odradek.server.config.problems import Problems
from odradek.server.config.settings import Settings

PAGE = "docs/settings.md"

SERVED_PROTOCOLS = ("PLAINTEXT",)

#: Selectors that are built in, by the end of their class names; the first one is the default.
_REPLICA_SELECTORS = (".LeaderSelector", ".RackAwareReplicaSelector")

_ZOOKEEPER = "zookeeper.connect"


def check_support(settings: Settings, listeners: Listeners, problems: Problems) -> None:
    """After all other checks of the file: only values that are valid are looked at."""
    ignored: list[str] = []
    for key, value in settings.given.items():
        support = broker_support(key)
        if not settings.is_given(key) or support is None or support.level is Level.EFFECTIVE:
            continue
        definition = definition_of(key)
        if key == _ZOOKEEPER and is_for_zookeeper(settings):
            _reject_zookeeper(settings, problems)
        elif is_rejected(definition, support, value):
            problems.error(settings.where(key), support.reason_sentence, f"{support.instead} See {PAGE}.".lstrip())
        elif is_ignored(definition, support, value) and support.instead:
            problems.warning(settings.where(key), f"it has no effect: {support.reason}.", support.instead)
        elif is_ignored(definition, support, value):
            ignored.append(key)
    if ignored:
        names = ", ".join(ignored)
        problems.warning(settings.path, f"settings without an effect here: {names}.", f"{PAGE} says why.")
    _check_selector(settings, problems)
    _check_protocols(settings, listeners, problems)


def is_for_zookeeper(settings: Settings) -> bool:
    """Return True for a broker in ZooKeeper mode: a single error says so, instead of one for each missing setting."""
    return settings.is_given(_ZOOKEEPER) and not settings.is_given("process.roles")


def definition_of(key: str) -> ConfigDefinition:
    """Its own, or that of the setting behind `listener.name.NAME.`; text for what Apache Kafka 4.3 does not have."""
    definition = broker_definition(listener_setting(key) or key)
    return ConfigDefinition(key, "string", "false", "", False) if definition is None else definition


def rejection(key: str, value: str) -> Support | None:
    """Support of a setting that is rejected with this value; None if it is not."""
    support = broker_support(key)
    return support if support is not None and is_rejected(definition_of(key), support, value) else None


def ignored_support(key: str, value: str) -> Support | None:
    """Support of a setting that has no effect with this value; None if it has one, or is unknown."""
    support = broker_support(key)
    return support if support is not None and is_ignored(definition_of(key), support, value) else None


def _reject_zookeeper(settings: Settings, problems: Problems) -> None:
    problems.error(
        settings.where(_ZOOKEEPER),
        "ZooKeeper mode is not supported.",
        f"Set process.roles=broker,controller and controller.quorum.bootstrap.servers=host:port instead; see {PAGE}.",
    )


def _check_selector(settings: Settings, problems: Problems) -> None:
    key = "replica.selector.class"
    selector = settings.optional_text(key)
    if selector and not selector.endswith(_REPLICA_SELECTORS):
        problems.error(
            settings.where(key),
            f"{selector} cannot be loaded.",
            "It is org.apache.kafka.common.replica.RackAwareReplicaSelector, or left out.",
        )


def _check_protocols(settings: Settings, listeners: Listeners, problems: Problems) -> None:
    """The map may name protocols that no listener uses, as in the file that comes with Apache Kafka."""
    used = [listener.name for listener in (*listeners.bound, *listeners.advertised_to_clients)]
    for name in dict.fromkeys((*used, *listeners.controller_names, listeners.inter_broker_name)):
        protocol = listeners.protocols.get(name, "")
        if protocol and protocol not in SERVED_PROTOCOLS:
            problems.error(
                settings.where(_key_of(settings, name, used)),
                f"the listener {name} asks for {protocol}, and only {_words(SERVED_PROTOCOLS)} is supported.",
                f"Use a listener with {_words(SERVED_PROTOCOLS)}, and protect it by the network; see {PAGE}.",
            )


def _key_of(settings: Settings, name: str, used: Iterable[str]) -> str:
    """The setting that brought the listener in."""
    if settings.is_given("security.inter.broker.protocol") and name not in used:
        return "security.inter.broker.protocol"
    return "listeners" if name in used else "controller.listener.names"


def _words(protocols: Iterable[str]) -> str:
    return " or ".join(protocols)
