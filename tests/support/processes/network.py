"""Listeners on free ports, and peers that are as awkward as a test needs them."""

import asyncio
import os
import socket
import struct
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop

from odradek.api.dispatch.handler_index import SERVED
from odradek.api.dispatch.registry import Registry, ServedApi
from odradek.network.endpoint import Endpoint
from odradek.network.limits import Limits
from odradek.network.listener import Listener
from odradek.protocol import api_keys
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.codec import encode
from odradek.protocol.framing import frame
from odradek.protocol.message import Message
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import parse_response, request_parts

#: Far beyond what anything here takes on a busy machine.
PATIENCE_S = 60

_LENGTH = struct.Struct(">i")


def endpoint(apis: Iterable[ServedApi] = (), **parts: Any) -> Endpoint:
    """Serves ApiVersions, and the APIs of the test."""
    versions = (api for api in SERVED if api.key == ApiKey.API_VERSIONS)
    return Endpoint("PLAINTEXT", Registry(api_keys.ListenerRole.BROKER, [*versions, *apis]), **parts)


@asynccontextmanager
async def listening(apis: Iterable[ServedApi] = (), *, port: int = 0, **parts: Any) -> AsyncIterator[Listener]:
    listener = Listener(endpoint(apis, **parts), "127.0.0.1", port)
    await listener.start()
    try:
        yield listener
    finally:
        await listener.stop(timeout_ms=100)


@contextmanager
def listening_in_thread(apis: Iterable[ServedApi] = (), **parts: Any) -> Iterator[Listener]:
    """For clients that block."""
    ready: list[Listener] = []
    started, loop = threading.Event(), _new_event_loop()
    stop = asyncio.Event()

    async def main() -> None:
        async with listening(apis, **parts) as listener:
            ready.append(listener)
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()))
    thread.start()
    try:
        assert started.wait(PATIENCE_S)
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
        loop.close()


async def until(condition: Callable[[], bool], what: str) -> None:
    """Gives way to the loop until it is so."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"it is not so: {what}") from None


#: Whose loop `run` uses; `each_loop` sets it.
_new_event_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop


@pytest.fixture(params=[asyncio, uvloop], ids=["asyncio", "uvloop"], autouse=True)
def each_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Imported by a module of tests, it makes them run on either loop: they differ in when they call back."""
    global _new_event_loop
    before, _new_event_loop = _new_event_loop, request.param.new_event_loop
    yield
    _new_event_loop = before


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE_S * 4):
            await test

    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        runner.run(bounded())


def request_bytes(message: Message, version: int, correlation_id: int = 1) -> bytes:
    header = RequestHeader(
        request_api_key=message.API_KEY,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id="test",
    )
    return b"".join(frame(request_parts(header, message)))


def api_versions_bytes(correlation_id: int = 1, version: int = 4) -> bytes:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")
    return request_bytes(request, version, correlation_id)


def unknown_api_versions_bytes(correlation_id: int = 1, version: int = 99) -> bytes:
    """ApiVersions of a version from the future, with a body that nobody here can read."""
    header = RequestHeader(
        request_api_key=ApiKey.API_VERSIONS,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id="test",
    )
    return b"".join(frame([encode(header, 2), b"\x0bnobody-knows"]))


class Peer:
    """A raw connection: sends bytes, receives frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def frame(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            (size,) = _LENGTH.unpack(await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def response(self, api_key: int, version: int) -> tuple[int, Message]:
        header, body = parse_response(await self.frame(), api_key, version)
        return header.correlation_id, body

    async def closed(self) -> bytes:
        """What came before the end; the test fails if there is no end."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@asynccontextmanager
async def peer(port: int) -> AsyncIterator[Peer]:
    made = Peer(*await asyncio.open_connection("127.0.0.1", port))
    try:
        yield made
    finally:
        await made.close()


def exchange(port: int, data: bytes) -> bytes:
    """One frame out, one frame back, on a connection of its own that blocks."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        connection.sendall(data)
        with connection.makefile("rb") as stream:
            (size,) = _LENGTH.unpack(stream.read(4))
            return stream.read(size)


def hasty(**limits: int) -> Limits:
    """Limits whose deadlines a test can wait for."""
    return Limits(**{"tick_ms": 10, **limits})


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Gate:
    """A handler that answers when it is let: requests wait in `waiting`, in the order in which they began."""

    def __init__(self, answer: Callable[[Any], Message | None]) -> None:
        self.waiting: list[asyncio.Future[None]] = []
        self.cancelled = 0
        self._answer = answer

    def __call__(self, ctx: Any, request: Any) -> Awaitable[Message | None]:
        opened = asyncio.get_running_loop().create_future()
        self.waiting.append(opened)
        return self._wait(opened, request)

    async def _wait(self, opened: "asyncio.Future[None]", request: Any) -> Message | None:
        try:
            await opened
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self._answer(request)
