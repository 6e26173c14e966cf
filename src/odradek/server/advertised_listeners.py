"""Advertised endpoints of a node: its listeners with real hosts and ports."""

import socket
from collections.abc import Iterable, Mapping

from odradek.metadata.image.broker_registration import Endpoint
from odradek.server.config.endpoints import Listener
from odradek.server.config.listeners import PROTOCOLS


def advertised_endpoints(listeners: Iterable[Listener], bound_ports: Mapping[str, int]) -> tuple[Endpoint, ...]:
    """`bound_ports`, by the listener's name, has the ports of those that were to take any free one.

    A listener without a host is told under the machine's own name.
    """
    return tuple(
        Endpoint(
            listener.name,
            listener.host or socket.getfqdn(),
            listener.port or bound_ports.get(listener.name, 0),
            PROTOCOLS.index(listener.protocol),
        )
        for listener in listeners
    )
