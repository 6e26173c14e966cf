"""Listeners: binding, quotas, deadlines, stopping."""

import asyncio
import logging

import pytest

from odradek.api.dispatch.registry import ServedApi
from odradek.common.failures import InputError
from odradek.network.limits import ConnectionQuotas, Limits
from odradek.network.listener import Listener
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.metadata_response import MetadataResponse
from support.processes.network import (
    Gate,
    api_versions_bytes,
    each_loop,  # noqa: F401
    endpoint,
    hasty,
    listening,
    peer,
    request_bytes,
    run,
    until,
)

API_VERSIONS, METADATA = ApiKey.API_VERSIONS, ApiKey.METADATA

#: Over soon, and long enough for a first request, on a busy machine, too.
SHORT_MS = 1_000


def test_a_port_that_is_taken_is_named_and_what_to_do() -> None:
    async def test() -> None:
        async with listening() as listener:
            with pytest.raises(InputError) as refused:
                await Listener(endpoint(), "127.0.0.1", listener.port).start()
            assert str(refused.value) == (
                f"listeners: PLAINTEXT://127.0.0.1:{listener.port}: port {listener.port} is taken. "
                "Stop what listens there, or choose another port."
            )

    run(test())


@pytest.mark.parametrize(
    ("host", "said"), [("192.0.2.1", "no address of this machine"), ("no.such.host.invalid", "is not known")]
)
def test_an_address_that_is_not_ours_is_named(host: str, said: str) -> None:
    async def test() -> None:
        with pytest.raises(InputError, match=said):
            await Listener(endpoint(), host, 9092).start()

    run(test())


def test_who_says_nothing_is_closed() -> None:
    async def test() -> None:
        async with (
            listening(limits=hasty(first_request_ms_max=SHORT_MS)) as listener,
            peer(listener.port) as asking,
            peer(listener.port) as silent,
            peer(listener.port) as slow,
        ):
            asking.send(api_versions_bytes())
            await asking.response(API_VERSIONS, 4)
            slow.send(api_versions_bytes()[:-1])
            assert await silent.closed() == b""
            assert await slow.closed() == b""
            asking.send(api_versions_bytes(2))
            assert (await asking.response(API_VERSIONS, 4))[0] == 2

    run(test())


def test_who_is_idle_is_closed_unless_it_waits_for_an_answer() -> None:
    async def test() -> None:
        gate = Gate(lambda request: MetadataResponse())
        async with (
            listening([ServedApi(METADATA, gate)], limits=hasty(idle_ms_max=SHORT_MS)) as listener,
            peer(listener.port) as waiting,
            peer(listener.port) as idle,
        ):
            waiting.send(request_bytes(MetadataRequest(), 12, 5))
            idle.send(api_versions_bytes())
            await idle.response(API_VERSIONS, 4)
            assert await idle.closed() == b""
            gate.waiting[0].set_result(None)
            assert (await waiting.response(METADATA, 12))[0] == 5
            assert await waiting.closed() == b""

    run(test())


def test_connections_from_one_address_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        quotas = ConnectionQuotas(per_ip_max=1_000, per_ip_overrides={"127.0.0.1": 2})
        async with listening(quotas=quotas, limits=hasty()) as listener:
            async with peer(listener.port) as first, peer(listener.port) as second:
                for asking in (first, second):
                    asking.send(api_versions_bytes())
                    await asking.response(API_VERSIONS, 4)
                async with peer(listener.port) as third, peer(listener.port) as fourth:
                    assert await third.closed() + await fourth.closed() == b""
                second.send(api_versions_bytes(2))
                assert (await second.response(API_VERSIONS, 4))[0] == 2
                await until(lambda: "refused" in caplog.text, "it is logged")
            await until(lambda: quotas.connections == 0, "all are gone")
            assert quotas.count("127.0.0.1") == 0
            async with peer(listener.port) as fifth:
                fifth.send(api_versions_bytes())
                await fifth.response(API_VERSIONS, 4)

    with caplog.at_level(logging.WARNING, "odradek.network"):
        run(test())
    assert "127.0.0.1 has 2 connections, as many as max.connections.per.ip allows" in caplog.text


def test_connections_of_a_node_are_bounded_over_its_listeners() -> None:
    async def test() -> None:
        quotas = ConnectionQuotas(connections_max=1)
        async with (
            listening(quotas=quotas) as one,
            listening(quotas=quotas) as other,
            peer(one.port) as first,
        ):
            first.send(api_versions_bytes())
            await first.response(API_VERSIONS, 4)
            async with peer(other.port) as second:
                assert await second.closed() == b""

    run(test())


def test_a_stop_answers_what_is_in_flight_and_nothing_more() -> None:
    async def test() -> None:
        gate, poll = Gate(lambda request: MetadataResponse()), Gate(lambda request: FetchResponse())
        apis = [ServedApi(METADATA, gate), ServedApi(ApiKey.FETCH, poll, long_poll=True)]
        async with (
            listening(apis) as listener,
            peer(listener.port) as asking,
            peer(listener.port) as polling,
            peer(listener.port) as idle,
        ):
            asking.send(request_bytes(MetadataRequest(), 12, 1) + request_bytes(MetadataRequest(), 12, 2))
            polling.send(request_bytes(FetchRequest(), 12))
            await until(lambda: bool(gate.waiting and poll.waiting), "both have begun")
            stopping = asyncio.ensure_future(listener.stop(timeout_ms=60_000))
            assert await polling.closed() + await idle.closed() == b""
            with pytest.raises(OSError):
                async with peer(listener.port):
                    pass
            assert not stopping.done()
            gate.waiting[0].set_result(None)
            assert (await asking.response(METADATA, 12))[0] == 1
            assert await asking.closed() == b""
            await stopping
            assert len(gate.waiting) == 1

    run(test())


def test_a_stop_cuts_off_what_takes_too_long() -> None:
    async def test() -> None:
        gate = Gate(lambda request: MetadataResponse())
        async with listening([ServedApi(METADATA, gate)]) as listener, peer(listener.port) as asking:
            asking.send(request_bytes(MetadataRequest(), 12))
            await until(lambda: bool(gate.waiting), "it has begun")
            await listener.stop(timeout_ms=10)
            assert await asking.closed() == b""
            gate.waiting[0].set_result(None)

    run(test())


def test_the_defaults_are_kafkas() -> None:
    limits = Limits()
    assert limits.request_bytes_max == 104_857_600
    assert limits.unauthenticated_request_bytes_max == 524_288
    assert limits.idle_ms_max == 600_000
