"""A node's way to the active controller, whichever node that is.

The quorum knows who leads; a channel keeps one connection to that node. A request waits while nobody leads, and is
sent again, after a short pause, when its connection breaks, when it is not answered in time, when the node answers
that it is not the active one, and when another node takes over meanwhile. So a request may be carried out twice: what
is sent here either bears that (registrations, heartbeats) or is answered with what became of the first one
(TOPIC_ALREADY_EXISTS), as in Kafka.

Heartbeats, forwarded requests and registrations have an instance each: none is to wait behind another. An instance
opens its connection with its first request.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from odradek.api.dispatch import envelope_codec
from odradek.api.dispatch.services import Node, Quorum
from odradek.client.net.channel import Channel, ChannelConfig
from odradek.common.failures import ApiError
from odradek.errors import Disconnected, RequestTimedOut
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.schema import Versions

logger = logging.getLogger("odradek.controller_channel")

#: Between two attempts, and between two looks at who leads. A broker whose connection broke must be heard again well
#: within `odradek.broker.disconnect.grace.ms`.
RETRY_BACKOFF_MS = 50
#: `controller.socket.timeout.ms`: a controller that is silent for so long is asked again on a new connection.
REQUEST_TIMEOUT_MS = 30_000


class ControllerMoved(ApiError):
    """Another node became the active controller while this one was asked."""

    code = ErrorCode.NOT_CONTROLLER


class ControllerChannel:
    """A `Forwarder`."""

    def __init__(
        self,
        quorum: Quorum,
        name: str,
        config: ChannelConfig | None = None,
        *,
        request_timeout_ms: int = REQUEST_TIMEOUT_MS,
        on_disconnect: Callable[[str], None] = lambda reason: None,
        randomness: random.Random | None = None,
    ) -> None:
        """`name` is what the channel is for: it stands in the log and in the client id. `on_disconnect` is told why
        when an established connection is lost."""
        self._quorum = quorum
        self._name = name
        self._config = replace(
            config or ChannelConfig(),
            reconnect_backoff_ms=RETRY_BACKOFF_MS,
            reconnect_backoff_max_ms=RETRY_BACKOFF_MS,
        )
        self._request_timeout_ms = request_timeout_ms
        self._on_disconnect = on_disconnect
        self._random = randomness
        self._node: Node | None = None
        self._channel: Channel | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def controller_versions(self) -> Mapping[int, Versions] | None:
        """What the controller serves; None until a connection to it told us."""
        return (self._channel.api_versions or None) if self._channel is not None else None

    async def send(self, request: Message, timeout_ms: float) -> Any:
        """The active controller's answer. Raises RequestTimedOut when there was none by then, VersionsDiffer when that
        controller does not have the request, Disconnected after `close`."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + timeout_ms / 1000
        obstacle = "no controller is active"
        while not self._closed and (left_ms := (deadline_s - loop.time()) * 1000) > 0:
            node = self._quorum.leader()
            if node is not None:
                try:
                    response = await self._ask(node, request, min(left_ms, self._request_timeout_ms))
                except (Disconnected, RequestTimedOut, ControllerMoved) as error:
                    obstacle = str(error)
                else:
                    if getattr(response, "error_code", 0) != ErrorCode.NOT_CONTROLLER:
                        return response
                    obstacle = f"node {node.id} is not the active controller"
                logger.debug("%s: %s is tried again: %s", self._name, type(request).__name__, obstacle)
            await asyncio.sleep(min(RETRY_BACKOFF_MS, max(0.0, left_ms)) / 1000)
        if self._closed:
            raise Disconnected(f"the channel for {self._name} was closed")
        raise RequestTimedOut(f"no answer of the active controller in {timeout_ms:.0f} ms: {obstacle}")

    async def forward(self, request: bytes, principal: str, client_address: str, timeout_ms: float) -> bytes:
        """A whole request with its header goes in an Envelope; the response with its header comes back.

        An error of the Envelope itself raises ApiError with its code.
        """
        response = await self.send(envelope_codec.wrap(request, principal, client_address), timeout_ms)
        return envelope_codec.unwrap(response)

    async def close(self) -> None:
        self._closed = True
        self._drop()
        if self._closing:
            await asyncio.wait(self._closing)

    async def _ask(self, node: Node, request: Message, timeout_ms: float) -> Any:
        """One attempt, given up when another node leads."""
        asked = asyncio.ensure_future(self._channel_to(node).send(request, timeout_ms))
        # It may fail when nobody waits for it any more.
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            while not asked.done():
                await asyncio.wait([asked], timeout=RETRY_BACKOFF_MS / 1000)
                if not asked.done() and self._quorum.leader() not in (node, None):
                    raise ControllerMoved(f"node {node.id} is no longer the active controller")
        finally:
            asked.cancel()
        return asked.result()

    def _channel_to(self, node: Node) -> Channel:
        if self._channel is not None and self._node == node:
            return self._channel
        self._drop()
        logger.info(
            "%s: the active controller is node %d at %s:%d (epoch %d)",
            *(self._name, node.id, node.host, node.port, self._quorum.leader_epoch),
        )
        self._node = node
        self._channel = Channel(
            node.host, node.port, self._config, on_disconnect=self._on_disconnect, randomness=self._random
        )
        return self._channel

    def _drop(self) -> None:
        channel, self._channel, self._node = self._channel, None, None
        if channel is not None:
            closing = asyncio.ensure_future(channel.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
