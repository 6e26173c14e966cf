"""Transports behind a poller: bytes in order, back-pressure, ends."""

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from odradek.network.poller import Poller
from odradek.network.transport import SocketTransport
from support.processes.network import (
    each_loop,  # noqa: F401
    run,
    until,
)

#: More than the system takes at once.
LARGE = bytes(range(256)) * 40_000


class Told(asyncio.BufferedProtocol):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.received = b""
        self.lost: list[Exception | None] = []
        self.on_bytes: Callable[[], None] = lambda: None
        self._buffer = memoryview(bytearray(1_000))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.told.append("made")

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]
        self.on_bytes()

    def eof_received(self) -> bool:
        self.told.append("eof")
        return False

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append("lost")
        self.lost.append(exc)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[SocketTransport, Told, socket.socket]]:
    """The transport, its protocol, and the other end of its socket."""
    poller = Poller(asyncio.get_running_loop())
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    protocol = Told()
    transport = SocketTransport(poller, ours, protocol)
    transport.set_write_buffer_limits(high=64 * 1024)
    with theirs:
        yield transport, protocol, theirs
        transport.abort()
        await until(lambda: bool(protocol.lost), "it is over")
    poller.close()
    assert protocol.told.count("lost") == 1
    assert ours.fileno() == -1


async def read(theirs: socket.socket, size: int) -> bytes:
    loop, data = asyncio.get_running_loop(), b""
    while len(data) < size and (came := await loop.sock_recv(theirs, 1_000_000)):
        data += came
    return data


def test_what_is_written_arrives_in_order_whatever_the_system_takes_at_once() -> None:
    async def test() -> None:
        async with connected() as (transport, protocol, theirs):
            pieces = [LARGE[start : start + 10_001] for start in range(0, len(LARGE), 10_001)]
            transport.writelines(pieces)
            transport.write(b"and")
            transport.writelines([memoryview(b" then"), b" this"])
            assert await read(theirs, len(LARGE) + 13) == LARGE + b"and then this"
            transport.write(b"at once")
            assert await read(theirs, 7) == b"at once"
            assert transport.get_write_buffer_size() == 0
            assert protocol.told == ["made", "pause", "resume"]

    run(test())


def test_reading_stops_while_it_is_paused() -> None:
    async def test() -> None:
        async with connected() as (transport, protocol, theirs):
            protocol.on_bytes = transport.pause_reading
            theirs.send(b"x" * 1_500)
            await until(lambda: bool(protocol.received), "the first part is read")
            transport.write(b"still written")
            assert await read(theirs, 13) == b"still written"
            assert len(protocol.received) == 1_000
            assert not transport.is_reading()
            transport.resume_reading()
            await until(lambda: len(protocol.received) == 1_500, "the rest is read")

    run(test())


def test_a_close_waits_for_what_was_written_and_an_abort_does_not() -> None:
    async def test() -> None:
        for is_abort in (False, True):
            async with connected() as (transport, protocol, theirs):
                transport.write(LARGE)
                if is_abort:
                    transport.abort()
                else:
                    transport.close()
                transport.write(b"too late")
                transport.resume_reading()
                arrived = await read(theirs, len(LARGE) + 1)
                assert (len(arrived) < len(LARGE)) == is_abort
                await until(lambda told=protocol.told: "lost" in told, "it is over")  # type: ignore[misc]
                assert protocol.lost == [None]

    run(test())


def test_the_end_of_the_peer_is_told() -> None:
    async def test() -> None:
        async with connected() as (_, protocol, theirs):
            theirs.send(b"last words")
            theirs.close()
            await until(lambda: bool(protocol.lost), "it is over")
            assert (protocol.received, protocol.told) == (b"last words", ["made", "eof", "lost"])

    run(test())


def test_a_peer_that_is_gone_with_answers_unread_is_an_error() -> None:
    async def test() -> None:
        async with connected() as (transport, protocol, theirs):
            transport.pause_reading()
            transport.write(LARGE)
            theirs.close()
            await until(lambda: bool(protocol.lost), "it is over")
            assert isinstance(protocol.lost[0], ConnectionError)

    run(test())


def test_a_bug_in_a_protocol_costs_one_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        def fail() -> None:
            raise KeyError("a bug")

        async with connected() as (_, protocol, theirs):
            protocol.on_bytes = fail
            theirs.send(b"x")
            await until(lambda: bool(protocol.lost), "it is over")
            assert isinstance(protocol.lost[0], KeyError)

    with caplog.at_level(logging.ERROR, "odradek.network"):
        run(test())
    assert "a bug" in caplog.text


def test_what_the_system_cannot_watch_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with connected() as (transport, protocol, _):
            transport.pause_reading()
            monkeypatch.setattr(Poller, "watch", refuse)
            transport.write(LARGE)
            await until(lambda: bool(protocol.lost), "it is over")
            monkeypatch.undo()
            assert protocol.told == ["made", "lost"]

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no more watches")

    run(test())
