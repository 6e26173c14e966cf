"""Channels by node: Raft, heartbeats and forwarding each keep a pool, so that one does not wait behind the other."""

import asyncio
import random
from collections.abc import Callable

from odradek.client.net.channel import Channel, ChannelConfig


class ChannelPool:
    def __init__(
        self,
        config: ChannelConfig | None = None,
        *,
        on_disconnect: Callable[[int, str], None] = lambda node_id, reason: None,
        randomness: random.Random | None = None,
    ) -> None:
        """`on_disconnect` is told the node and why, at once."""
        self._config = config
        self._on_disconnect = on_disconnect
        self._random = randomness
        self._channels: dict[int, Channel] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def channel(self, node_id: int, host: str, port: int) -> Channel:
        """The node's channel. One to an address that the node no longer has is closed and made anew."""
        channel = self._channels.get(node_id)
        if channel is not None and (channel.host, channel.port) == (host, port):
            return channel
        self.remove(node_id)
        channel = Channel(
            host,
            port,
            self._config,
            on_disconnect=lambda reason: self._on_disconnect(node_id, reason),
            randomness=self._random,
        )
        self._channels[node_id] = channel
        return channel

    def get(self, node_id: int) -> Channel | None:
        return self._channels.get(node_id)

    def remove(self, node_id: int) -> None:
        channel = self._channels.pop(node_id, None)
        if channel is not None:
            closing = asyncio.ensure_future(channel.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        for node_id in list(self._channels):
            self.remove(node_id)
        if self._closing:
            await asyncio.wait(self._closing)
