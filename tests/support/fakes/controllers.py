"""Controllers that a node talks to over sockets: a quorum whose leader a test names, and listeners that answer as a
test wants, or as the controller's core does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.registry import Registry, ServedApi
from odradek.api.dispatch.services import Node
from odradek.common.failures import ApiError
from odradek.network.endpoint import Endpoint
from odradek.network.listener import Listener
from odradek.protocol import api_keys
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.message import Message
from odradek.protocol.registry import response_class
from support.builders.controller import Bench

API_VERSIONS = ServedApi(ApiKey.API_VERSIONS, "odradek.api.handlers.api_versions")

Handle = Callable[[Context, Any], Message | Awaitable[Message]]


class FakeQuorum:
    """Who leads is what a test says."""

    def __init__(self) -> None:
        self.active: Node | None = None
        self.leader_epoch = 0

    def lead(self, listener: Listener | None, node_id: int = 1) -> None:
        self.leader_epoch += 1
        self.active = None if listener is None else Node(node_id, listener.host, listener.port)

    def leader(self) -> Node | None:
        return self.active

    def voters(self) -> list[Node]:
        return [] if self.active is None else [self.active]

    async def handle(self, request: Message, version: int, listener_name: str) -> Any:
        raise NotImplementedError


@asynccontextmanager
async def controller_listener(handlers: dict[ApiKey, Handle], port: int = 0) -> AsyncIterator[Listener]:
    apis = [
        API_VERSIONS,
        *(ServedApi(key, handle) for key, handle in handlers.items()),
    ]
    registry = Registry(api_keys.ListenerRole.CONTROLLER, apis)
    listener = Listener(Endpoint("CONTROLLER", registry), "127.0.0.1", port)
    await listener.start()
    try:
        yield listener
    finally:
        await listener.stop(timeout_ms=100)


def break_connections(listener: Listener) -> None:
    for connection in list(listener.endpoint.connections):
        connection.abort()


def of_core(bench: Bench, keys: Iterable[ApiKey], seen: list[Message]) -> dict[ApiKey, Handle]:
    """Handlers that ask the controller's core, by the loop's clock. `seen` gets every request."""

    def handle(ctx: Context, request: Any) -> Message:
        seen.append(request)
        bench.clock.now_ms = int(asyncio.get_running_loop().time() * 1000)
        try:
            answered: Message = bench.ask(request)
        except ApiError as error:
            return response_class(ctx.api_key)(error_code=error.code)  # type: ignore[call-arg]
        return answered

    return dict.fromkeys(keys, handle)
