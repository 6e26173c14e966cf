"""The network of a node in a test: an event loop whose connections can be cut, and listeners that let nobody in.

A node that is cut off keeps the connections that it has to itself, as a broker to the controller in the same process:
no network lies between them.
"""

import asyncio
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from odradek.server.node import Node


class Network:
    """Used in the node's loop only."""

    def __init__(self) -> None:
        self.is_cut = False
        #: Those that the node has opened; the closed ones are forgotten with the next.
        self._opened: list[asyncio.Transport] = []
        self._connections_max = 0

    def check(self) -> None:
        if self.is_cut:
            raise ConnectionRefusedError("the node is cut off")

    def opened(self, transport: asyncio.Transport) -> None:
        if self.is_cut:
            transport.abort()
        self._opened = [each for each in self._opened if not each.is_closing()]
        self._opened.append(transport)

    def cut(self, node: Node) -> None:
        quotas = node.listeners.quotas
        if not self.is_cut:
            self.is_cut = True
            self._connections_max, quotas.connections_max = quotas.connections_max, 0
        own_ports = set(node.listeners.ports.values())
        to_itself = [transport for transport in self._opened if _port(transport, "peername") in own_ports]
        self._abort(node, keeping={_port(transport, "sockname") for transport in to_itself}, own_ports=own_ports)

    def heal(self, node: Node) -> None:
        if self.is_cut:
            self.is_cut = False
            node.listeners.quotas.connections_max = self._connections_max

    def end(self, node: Node) -> None:
        """All of them, for good."""
        self.is_cut = True
        if hasattr(node, "listeners"):
            node.listeners.quotas.connections_max = 0
            self._abort(node, keeping=set(), own_ports=set())

    async def close_listeners(self, node: Node) -> None:
        if hasattr(node, "listeners"):
            for listener in node.listeners.all:
                await listener.stop(0)

    def _abort(self, node: Node, *, keeping: set[int], own_ports: set[int]) -> None:
        """`keeping`: the ports from which the node has connected to itself, at `own_ports`."""
        for transport in self._opened:
            if _port(transport, "peername") not in own_ports:
                transport.abort()
        for listener in node.listeners.all:
            for connection in list(listener.endpoint.connections):
                # local:port-peer:port-number
                _, peer, _ = connection.session.connection_id.rsplit("-", 2)
                if int(peer.rpartition(":")[2]) not in keeping:
                    connection.abort()


def _port(transport: asyncio.Transport, which: str) -> int:
    """0 where there is none: the other end may have gone."""
    address = transport.get_extra_info(which)
    return int(address[1]) if address else 0


def new_event_loop(network: Network) -> asyncio.AbstractEventLoop:
    """Return an event loop like a node's whose connections go through `network`."""
    base: Any = import_module("uvloop").Loop if find_spec("uvloop") else asyncio.SelectorEventLoop

    class _Loop(base):  # type: ignore[misc]  # known when it is looked for
        async def create_connection(self, *arguments: Any, **keywords: Any) -> Any:
            network.check()
            transport, protocol = await super().create_connection(*arguments, **keywords)
            network.opened(transport)
            return transport, protocol

    loop: asyncio.AbstractEventLoop = _Loop()
    return loop
