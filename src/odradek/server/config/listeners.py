"""Listeners of a node, their advertised addresses and names: Kafka's rules for the five settings about it.

`listeners` are bound. `advertised.listeners` are what brokers register and clients connect to, the same as
`listeners` unless set. `controller.listener.names` says which names are for controllers: on a node that is one they
are among its listeners, on a broker they only say how to talk to controllers. Names are compared in capitals.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from odradek.common.addresses import NOT_ROUTABLE, BadAddress, HostPort
from odradek.server.config.endpoints import Listener, parse_listener, repeated
from odradek.server.config.problems import Problems
from odradek.server.config.settings import Settings

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_PLAINTEXT = "PLAINTEXT"
_FORM = "Each listener is NAME://host:port, separated by commas, for example PLAINTEXT://localhost:9092."


@dataclass(frozen=True, slots=True)
class Listeners:
    """Advertised ones are split by who connects to them."""

    bound: tuple[Listener, ...]
    advertised_to_clients: tuple[Listener, ...]
    advertised_to_controllers: tuple[Listener, ...]
    controller_names: tuple[str, ...]
    inter_broker_name: str
    protocols: Mapping[str, str]

    @property
    def for_controllers(self) -> tuple[Listener, ...]:
        return tuple(listener for listener in self.bound if listener.name in self.controller_names)

    @property
    def for_clients(self) -> tuple[Listener, ...]:
        return tuple(listener for listener in self.bound if listener.name not in self.controller_names)


def read_listeners(settings: Settings, own_voter: HostPort | None, problems: Problems) -> Listeners:
    """`own_voter`: where `controller.quorum.voters` says that this node listens."""
    controller_names = tuple(name.upper() for name in settings.items("controller.listener.names"))
    protocols = _protocols(settings, controller_names, problems)
    bound = _parse(settings, "listeners", protocols, problems)
    _check_ports(settings, bound, problems)
    advertised = _parse(settings, "advertised.listeners", protocols, problems)
    advertised_listeners = advertised if settings.is_given("advertised.listeners") else bound
    return Listeners(
        bound,
        tuple(listener for listener in advertised_listeners if listener.name not in controller_names),
        _advertised_to_controllers(bound, advertised, controller_names, own_voter),
        controller_names,
        _inter_broker_name(settings, protocols, problems),
        protocols,
    )


def _protocols(settings: Settings, controller_names: Sequence[str], problems: Problems) -> dict[str, str]:
    """The security protocol of each name. Without a map, controllers' names are plain text as long as nothing else is
    protected: nobody who protects the others is to expose the controllers by forgetting them."""
    key = "listener.security.protocol.map"
    protocols: dict[str, str] = {}
    for entry in settings.items(key):
        name, _, protocol = entry.rpartition(":")
        if not name or protocol.strip().upper() not in PROTOCOLS:
            problems.error(
                settings.where(key),
                f'"{entry}" is no protocol of a listener.',
                f"Each entry is NAME:PROTOCOL, the protocol one of {', '.join(PROTOCOLS)}.",
            )
        protocols[name.strip().upper()] = protocol.strip().upper()
    names = [*controller_names, *(text.partition(":")[0].upper() for text in settings.items("listeners"))]
    if not settings.is_given(key) and not any(name in PROTOCOLS and name != _PLAINTEXT for name in names):
        protocols |= dict.fromkeys(controller_names, _PLAINTEXT)
    return protocols


def _parse(settings: Settings, key: str, protocols: Mapping[str, str], problems: Problems) -> tuple[Listener, ...]:
    listeners: list[Listener] = []
    if settings.is_given(key) and not settings.items(key):
        problems.error(settings.where(key), "it is empty.", _FORM)
    for text in filter(None, settings.items(key)):
        try:
            name, address = parse_listener(text)
        except BadAddress as error:
            problems.error(settings.where(key), str(error), _FORM)
            continue
        if name not in protocols:
            problems.error(
                settings.where(key),
                f'"{text}": the listener {name} has no security protocol.',
                f"Add {name}:{_PLAINTEXT} or another protocol to listener.security.protocol.map.",
            )
        listeners.append(Listener(name, protocols.get(name, _PLAINTEXT), address.host, address.port))
    for name in repeated(listener.name for listener in listeners):
        problems.error(settings.where(key), f"the name {name} is there twice.", "Each listener has a name of its own.")
    return tuple(listeners)


def _check_ports(settings: Settings, listeners: Sequence[Listener], problems: Problems) -> None:
    """Two listeners share a port only as one IPv4 and one IPv6 address."""
    for port in repeated(listener.port for listener in listeners if listener.port):
        families = [_ip_version(listener.host) for listener in listeners if listener.port == port]
        if sorted(families) != [4, 6]:
            problems.error(
                settings.where("listeners"),
                f"the port {port} is there twice.",
                "Each listener has a port of its own; only an IPv4 and an IPv6 address can share one.",
            )


def _ip_version(host: str) -> int:
    try:
        return ipaddress.ip_address(host).version
    except ValueError:
        return 0


def _advertised_to_controllers(
    bound: Sequence[Listener],
    advertised: Sequence[Listener],
    controller_names: Sequence[str],
    own_voter: HostPort | None,
) -> tuple[Listener, ...]:
    """Return the advertised addresses, else the bound ones, with the host of the voters' list in place of a
    wildcard."""
    listeners: list[Listener] = []
    for name in controller_names:
        listener = next((candidate for candidate in (*advertised, *bound) if candidate.name == name), None)
        if listener is None:
            continue
        if listener not in advertised and listener.host in ("", NOT_ROUTABLE):
            address = HostPort("", listener.port)
            if own_voter is not None and name == controller_names[0]:
                address = own_voter
            listener = Listener(name, listener.protocol, address.host, address.port)
        listeners.append(listener)
    return tuple(listeners)


def _inter_broker_name(settings: Settings, protocols: Mapping[str, str], problems: Problems) -> str:
    key, other = "inter.broker.listener.name", "security.inter.broker.protocol"
    if not settings.is_given(key):
        return settings.text(other)
    if settings.is_given(other):
        problems.error(settings.where(key), f"{other} is set too.", "Set only one of the two.")
    name = settings.text(key).upper()
    if name not in protocols:
        problems.error(
            settings.where(key),
            f'the listener "{name}" has no security protocol.',
            f"Name one of {', '.join(protocols)}, or add it to listener.security.protocol.map.",
        )
    return name
