"""The connections of one client, by node id: made when first needed, closed when idle, left alone while throttled.

Ids are of three kinds. A broker has its own. Bootstrap addresses, whose brokers are not known, have -1, -2, …. The
coordinator of a group has `own_connection(id)`, so that heartbeats do not wait behind fetches: brokers answer the
requests of one connection in their order. Once the brokers are known, the connection to a bootstrap address goes on as
that of the broker with this address.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any

from odradek.client.net.channel import Channel, ChannelConfig, FinalizedFeatures
from odradek.client.net.metadata_cache import Node
from odradek.client.net.reachability import Reachability
from odradek.client.settings.settings import CommonConfig
from odradek.common.addresses import HostPort
from odradek.errors import Disconnected
from odradek.protocol.message import Message

#: Ids of brokers begin at 0, those of coordinators' own connections end here.
_OWN_CONNECTION_BASE = 2**31 - 1

#: Idle connections are looked for so many times within connections.max.idle.ms.
_IDLE_LOOKS = 4


def channel_config(settings: CommonConfig) -> ChannelConfig:
    return ChannelConfig(
        client_id=settings.client_id,
        connect_timeout_ms=settings.socket_connection_setup_timeout_ms,
        connect_timeout_max_ms=settings.socket_connection_setup_timeout_max_ms,
        reconnect_backoff_ms=settings.reconnect_backoff_ms,
        reconnect_backoff_max_ms=settings.reconnect_backoff_max_ms,
        in_flight_max=settings.max_in_flight_requests_per_connection,
        send_buffer_bytes=settings.send_buffer_bytes,
        receive_buffer_bytes=settings.receive_buffer_bytes,
    )


def own_connection(node_id: int) -> int:
    """The id of a second connection to a broker; of its id the broker's again."""
    return _OWN_CONNECTION_BASE - node_id


class NodeObserver:
    """Tells a client's `Reachability` what becomes of the connection to one node."""

    def __init__(self, reachability: Reachability, node_id: int, address: HostPort) -> None:
        #: The connection to a bootstrap address goes on as that of its broker.
        self.node_id = node_id
        self._reachability = reachability
        self._address = address

    def connected(self) -> None:
        self._reachability.connected(self._name, self._address)

    def connect_failed(self, error: Disconnected) -> None:
        reason = error.message.removeprefix(f"{self._address}: ")
        self._reachability.connect_failed(self._name, self._address, reason, is_refused=error.refused)

    def disconnected(self, reason: str) -> None:
        self._reachability.disconnected(self._name, self._address, reason)

    @property
    def _name(self) -> str:
        if self.node_id < 0:
            return f"bootstrap server {self.node_id}"
        own_id = own_connection(self.node_id)
        return f"node {self.node_id}" if own_id > self.node_id else f"node {own_id}, as group coordinator"


class Connection:
    """To one node: its channel, and what the node says about when to use it."""

    __slots__ = ("channel", "observer", "throttled_until_s", "used_s")

    def __init__(self, channel: Channel, observer: NodeObserver) -> None:
        self.channel = channel
        self.observer = observer
        self.throttled_until_s = 0.0
        self.used_s = 0.0

    @property
    def is_throttled(self) -> bool:
        return self.throttled_until_s > 0.0 and self.throttled_until_s > asyncio.get_running_loop().time()

    async def ready(self) -> None:
        """Returns when a request can be sent at once. Raises Disconnected."""
        while not self.channel.is_ready or self.is_throttled:
            await asyncio.sleep(max(0.0, self.throttled_until_s - asyncio.get_running_loop().time()))
            await self.channel.ready()

    def heed(self, response: Any) -> None:
        """A node over whose quota we are says for how long it is to be left alone (KIP-219)."""
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        if throttle_ms > 0:
            self.throttled_until_s = asyncio.get_running_loop().time() + throttle_ms / 1000

    def heed_future(self, answered: "asyncio.Future[Message]") -> None:
        if not answered.cancelled() and answered.exception() is None:
            self.heed(answered.result())


class Connections:
    def __init__(self, settings: CommonConfig, randomness: random.Random, reachability: Reachability) -> None:
        self._config = channel_config(settings)
        self._reachability = reachability
        self._random = randomness
        self._connections: dict[int, Connection] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._idle_max_s = settings.connections_max_idle_ms / 1000
        self._idle_timer: asyncio.TimerHandle | None = None

    @property
    def features(self) -> FinalizedFeatures:
        features = (connection.channel.features for connection in self._connections.values())
        return max(features, key=lambda finalized: finalized.epoch, default=FinalizedFeatures())

    def start(self) -> None:
        if self._idle_max_s > 0:
            loop = asyncio.get_running_loop()
            self._idle_timer = loop.call_later(self._idle_max_s / _IDLE_LOOKS, self._close_idle)

    async def close(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for node_id in list(self._connections):
            self._remove(node_id)
        if self._closing:
            await asyncio.wait(self._closing)

    def get(self, node_id: int) -> Connection | None:
        return self._connections.get(node_id)

    def to(self, node_id: int, node: Node) -> Connection:
        """One to an address that the node no longer has is closed and made anew."""
        connection = self._connections.get(node_id)
        if connection is not None and (connection.channel.host, connection.channel.port) == (node.host, node.port):
            return connection
        self._remove(node_id)
        observer = NodeObserver(self._reachability, node_id, HostPort(node.host, node.port))
        channel = Channel(node.host, node.port, self._config, observer=observer, randomness=self._random)
        connection = Connection(channel, observer)
        connection.used_s = asyncio.get_running_loop().time()
        self._connections[node_id] = connection
        return connection

    def adopt(self, nodes: Mapping[int, Node]) -> None:
        """Brokers are known now: connections to bootstrap addresses become theirs, or end when they are idle."""
        by_address = {HostPort(node.host, node.port): node.id for node in nodes.values()}
        for node_id in [node_id for node_id in self._connections if node_id < 0]:
            channel = self._connections[node_id].channel
            broker_id = by_address.get(HostPort(channel.host, channel.port))
            if broker_id is not None and broker_id not in self._connections:
                adopted = self._connections[broker_id] = self._connections.pop(node_id)
                adopted.observer.node_id = broker_id

    def least_loaded(self, node_ids: Sequence[int]) -> int | None:
        """Connected ones first, those that failed lately last; among equals by chance."""
        shuffled = self._random.sample(node_ids, len(node_ids))
        return min(shuffled, key=self._load, default=None)

    def _load(self, node_id: int) -> tuple[int, int]:
        connection = self._connections.get(node_id)
        if connection is None:
            return 1, 0
        channel = connection.channel
        return 0 if channel.connected else 2 if channel.is_backing_off else 1, channel.in_flight

    def are_all_failing(self, node_ids: Sequence[int]) -> bool:
        """Return whether each node was tried and none is connected."""
        return all(
            (connection := self._connections.get(node_id)) and connection.channel.is_failing for node_id in node_ids
        )

    def _remove(self, node_id: int) -> None:
        connection = self._connections.pop(node_id, None)
        if connection is not None:
            closing = asyncio.ensure_future(connection.channel.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        for node_id, connection in list(self._connections.items()):
            if (
                connection.channel.connected
                and not connection.channel.in_flight
                and loop.time() - connection.used_s >= self._idle_max_s
            ):
                self._remove(node_id)
        self._idle_timer = loop.call_later(self._idle_max_s / _IDLE_LOOKS, self._close_idle)
