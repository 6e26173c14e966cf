"""A node finds the active controller, whatever happens to the one it talks to."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.envelope_codec import client_address_of, principal_of
from odradek.api.dispatch.services import Node
from odradek.common.failures import ApiError
from odradek.errors import Disconnected, RequestTimedOut, VersionsDiffer
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from odradek.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from odradek.protocol.messages.envelope_request import EnvelopeRequest
from odradek.protocol.messages.envelope_response import EnvelopeResponse
from odradek.server.links.controller_channel import ControllerChannel
from support.fakes.controllers import FakeQuorum, break_connections, controller_listener
from support.processes.network import each_loop, run, until
from support.processes.ports import free_ports

__all__ = ["each_loop"]

PATIENCE_MS = 60_000


def answers(broker_epoch: int, seen: list[int] | None = None) -> dict[ApiKey, Any]:
    """A controller that is told apart by the epoch that it asks for."""

    def handle(ctx: Context, request: BrokerHeartbeatRequest) -> Message:
        if seen is not None:
            seen.append(request.broker_epoch)
        is_right = request.broker_epoch in (broker_epoch, -1)
        return BrokerHeartbeatResponse(error_code=0 if is_right else ErrorCode.NOT_CONTROLLER, is_caught_up=True)

    return {ApiKey.BROKER_HEARTBEAT: handle}


async def hang(ctx: Context, request: Any) -> Message:
    await asyncio.Event().wait()
    raise AssertionError


def with_channel(test: Callable[[FakeQuorum, ControllerChannel], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        quorum = FakeQuorum()
        channel = ControllerChannel(quorum, "a test", **options)
        try:
            await test(quorum, channel)
        finally:
            await channel.close()

    run(main())


def free_port() -> int:
    """Not one that the system gives to an outgoing connection meanwhile."""
    return free_ports(1)[0]


def test_it_asks_the_leader() -> None:
    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        assert channel.controller_versions is None
        async with controller_listener(answers(1)) as listener:
            quorum.lead(listener)
            response = await channel.send(BrokerHeartbeatRequest(broker_epoch=1), PATIENCE_MS)
            assert response.is_caught_up
            assert channel.controller_versions is not None
            assert set(channel.controller_versions) == {ApiKey.API_VERSIONS, ApiKey.BROKER_HEARTBEAT}

    with_channel(test)


def test_it_waits_for_a_leader() -> None:
    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        async with controller_listener(answers(1)) as listener:
            asked = asyncio.ensure_future(channel.send(BrokerHeartbeatRequest(broker_epoch=1), PATIENCE_MS))
            await asyncio.sleep(0)
            assert not asked.done()
            quorum.lead(listener)
            assert (await asked).error_code == 0

    with_channel(test)


def test_without_a_leader_it_gives_up_in_time() -> None:
    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        with pytest.raises(RequestTimedOut, match="no controller is active"):
            await channel.send(BrokerHeartbeatRequest(), 120)

    with_channel(test)


def test_it_goes_on_to_the_next_leader_when_one_says_that_it_is_none() -> None:
    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        seen: list[int] = []
        async with controller_listener(answers(1, seen)) as first, controller_listener(answers(2)) as second:
            quorum.lead(first, 1)
            asked = asyncio.ensure_future(channel.send(BrokerHeartbeatRequest(broker_epoch=2), PATIENCE_MS))
            await until(lambda: len(seen) >= 2, "the first one was asked again")
            assert not asked.done()
            quorum.lead(second, 2)
            assert (await asked).error_code == 0
            assert len(second.endpoint.connections) == 1
            await until(lambda: not first.endpoint.connections, "the old connection is closed")

    with_channel(test)


def test_it_tries_again_when_nobody_listens_yet() -> None:
    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        port = free_port()
        quorum.active = Node(1, "127.0.0.1", port)
        asked = asyncio.ensure_future(channel.send(BrokerHeartbeatRequest(), PATIENCE_MS))
        await asyncio.sleep(0.01)
        assert not asked.done()
        async with controller_listener(answers(-1), port):
            assert (await asked).error_code == 0

    with_channel(test)


def test_a_request_whose_connection_breaks_is_sent_again() -> None:
    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        seen: list[Any] = []

        async def first_never(ctx: Context, request: Any) -> Message:
            seen.append(ctx.session)
            if len(seen) == 1:
                await asyncio.Event().wait()
            return BrokerHeartbeatResponse()

        async with controller_listener({ApiKey.BROKER_HEARTBEAT: first_never}) as listener:
            quorum.lead(listener)
            asked = asyncio.ensure_future(channel.send(BrokerHeartbeatRequest(), PATIENCE_MS))
            await until(lambda: bool(seen), "asked")
            break_connections(listener)
            assert (await asked).error_code == 0
            assert len(seen) == 2

    with_channel(test)


def test_a_leader_that_hangs_is_left_when_another_one_takes_over() -> None:
    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        silent = {ApiKey.BROKER_HEARTBEAT: hang}
        async with controller_listener(silent) as first, controller_listener(answers(1)) as second:
            quorum.lead(first, 1)
            asked = asyncio.ensure_future(channel.send(BrokerHeartbeatRequest(broker_epoch=1), PATIENCE_MS))
            await until(lambda: first.endpoint.requests_total == 2, "asked, after its versions")
            quorum.lead(second, 2)
            assert (await asked).error_code == 0

    with_channel(test, request_timeout_ms=10 * PATIENCE_MS)


def test_a_leader_that_hangs_is_asked_again_on_a_new_connection() -> None:
    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        async with controller_listener({ApiKey.BROKER_HEARTBEAT: hang}) as listener:
            quorum.lead(listener)
            asked = asyncio.ensure_future(channel.send(BrokerHeartbeatRequest(), PATIENCE_MS))
            await until(lambda: listener.endpoint.requests_total >= 4, "two connections, two requests")
            asked.cancel()
            await asyncio.wait([asked])

    with_channel(test, request_timeout_ms=100)


def test_a_controller_without_the_request_is_not_asked_for_ever() -> None:
    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        async with controller_listener(answers(1)) as listener:
            quorum.lead(listener)
            with pytest.raises(VersionsDiffer):
                await channel.send(AllocateProducerIdsRequest(), PATIENCE_MS)

    with_channel(test)


def test_other_errors_are_the_callers() -> None:
    def refuse(ctx: Context, request: Any) -> Message:
        return AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)

    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        async with controller_listener({ApiKey.ALLOCATE_PRODUCER_IDS: refuse}) as listener:
            quorum.lead(listener)
            response = await channel.send(AllocateProducerIdsRequest(), PATIENCE_MS)
            assert response.error_code == ErrorCode.STALE_BROKER_EPOCH

    with_channel(test)


def test_a_request_is_passed_on_in_an_envelope() -> None:
    seen: list[EnvelopeRequest] = []

    def handle(ctx: Context, request: EnvelopeRequest) -> Message:
        seen.append(request)
        if len(seen) == 1:
            return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
        return EnvelopeResponse(response_data=b"the answer")

    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        async with controller_listener({ApiKey.ENVELOPE: handle}) as listener:
            quorum.lead(listener)
            answer = await channel.forward(b"the request", "User:alice", "::1", PATIENCE_MS)
            assert answer == b"the answer"
        assert bytes(seen[1].request_data) == b"the request"
        assert (principal_of(seen[1]), client_address_of(seen[1])) == ("User:alice", "::1")

    with_channel(test)


def test_an_error_of_the_envelope_is_raised() -> None:
    def refuse(ctx: Context, request: Any) -> Message:
        return EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)

    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        async with controller_listener({ApiKey.ENVELOPE: refuse}) as listener:
            quorum.lead(listener)
            with pytest.raises(ApiError) as caught:
                await channel.forward(b"?", "User:alice", "127.0.0.1", PATIENCE_MS)
            assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION

    with_channel(test)


def test_a_broken_connection_is_told_at_once() -> None:
    told: list[str] = []

    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        async with controller_listener(answers(1)) as listener:
            quorum.lead(listener)
            await channel.send(BrokerHeartbeatRequest(), PATIENCE_MS)
            break_connections(listener)
            await until(lambda: bool(told), "told")

    with_channel(test, on_disconnect=told.append)


def test_who_waits_when_it_closes_is_told() -> None:
    async def test(quorum: FakeQuorum, channel: ControllerChannel) -> None:
        async with controller_listener({ApiKey.BROKER_HEARTBEAT: hang}) as listener:
            quorum.lead(listener)
            asked = asyncio.ensure_future(channel.send(BrokerHeartbeatRequest(), PATIENCE_MS))
            await until(lambda: listener.endpoint.requests_total == 2, "asked, after its versions")
            await channel.close()
            with pytest.raises(Disconnected):
                await asked

    with_channel(test)
