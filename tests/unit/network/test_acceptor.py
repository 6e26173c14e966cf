"""Newcomers: one in each turn of the loop, and those who have left again leave nothing behind."""

import asyncio
import contextlib
import socket
import ssl

import pytest

from odradek.network import poller
from odradek.network.limits import ConnectionQuotas
from odradek.network.listener import Listener
from odradek.protocol.api_keys import ApiKey
from support.processes.network import (
    api_versions_bytes,
    each_loop,  # noqa: F401
    endpoint,
    hasty,
    listening,
    peer,
    run,
    until,
)


def test_a_crowd_is_let_in_one_by_one() -> None:
    async def test() -> None:
        async with listening() as listener:
            with contextlib.ExitStack() as crowd:
                for _ in range(10):
                    crowd.enter_context(socket.create_connection(("127.0.0.1", listener.port)))
                before = 0
                while before < 10:
                    await asyncio.sleep(0)
                    assert len(listener.endpoint.connections) <= before + 1
                    before = len(listener.endpoint.connections)

    run(test())


class Counting(ConnectionQuotas):
    total = 0

    def opened(self, ip: str) -> str:
        self.total += 1
        return super().opened(ip)


def test_who_has_left_before_its_turn_is_never_a_connection() -> None:
    async def test() -> None:
        quotas = Counting()
        async with listening(quotas=quotas) as listener:
            for _ in range(10):
                socket.create_connection(("127.0.0.1", listener.port)).close()
            with socket.create_connection(("127.0.0.1", listener.port)) as reset:
                reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            async with peer(listener.port) as last:
                last.send(api_versions_bytes())
                await last.response(ApiKey.API_VERSIONS, 4)
                assert (quotas.total, quotas.connections) == (1, 1)

    run(test())


def test_a_newcomer_counts_while_it_has_not_agreed_on_tls_yet() -> None:
    async def test() -> None:
        quotas = ConnectionQuotas(per_ip_max=1)
        served = endpoint(quotas=quotas, limits=hasty(first_request_ms_max=500))
        listener = Listener(served, "127.0.0.1", 0, ssl_context=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        await listener.start()
        async with peer(listener.port) as silent:
            await until(lambda: quotas.connections == 1, "it is counted")
            async with peer(listener.port) as second:
                assert await second.closed() == b""
            assert await silent.closed() == b""
        await until(lambda: quotas.connections == 0, "its time is over")
        async with peer(listener.port) as plain:
            plain.send(api_versions_bytes())
            await plain.closed()
        await until(lambda: quotas.connections == 0, "what is no TLS is closed")
        async with peer(listener.port):
            await until(lambda: quotas.connections == 1, "it is counted")
            await listener.stop(timeout_ms=100)
            await until(lambda: quotas.connections == 0, "a stop ends it")

    run(test())


def test_where_the_system_has_no_epoll_the_loop_has_the_transports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poller, "AVAILABLE", False)

    async def test() -> None:
        quotas = ConnectionQuotas(per_ip_max=1)
        async with listening(quotas=quotas) as listener:
            for number in range(2):
                async with peer(listener.port) as asking:
                    asking.send(api_versions_bytes(number))
                    assert (await asking.response(ApiKey.API_VERSIONS, 4))[0] == number
                await until(lambda: quotas.connections == 0, "it is gone")

    run(test())
