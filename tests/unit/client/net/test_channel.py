"""The outgoing channel: connecting, versions, pipelining, time-outs, and what breaks."""

import asyncio
import gc
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from odradek.api.dispatch.registry import ServedApi
from odradek.client.net.channel import Channel, ChannelConfig
from odradek.client.net.channel_pool import ChannelPool
from odradek.errors import Disconnected, RequestTimedOut, VersionsDiffer
from odradek.network.limits import Limits
from odradek.network.listener import Listener
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.codec import encode
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.framing import FrameReader, frame
from odradek.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.metadata_response import MetadataResponse
from odradek.protocol.messages.produce_request import ProduceRequest
from odradek.protocol.messages.produce_response import ProduceResponse
from odradek.protocol.schema import Versions
from support.processes.network import Gate, each_loop, listening, run, until  # noqa: F401
from support.processes.ports import free_ports

METADATA = ApiKey.METADATA

LONG_MS = 60_000


@asynccontextmanager
async def channel_to(port: int, **parts: Any) -> AsyncIterator[Channel]:
    config = ChannelConfig(**{"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 20, **parts.pop("config", {})})
    channel = Channel("127.0.0.1", port, config, **parts)
    try:
        yield channel
    finally:
        await channel.close()


def metadata_api(name: str = "cluster", **options: Any) -> ServedApi:
    return ServedApi(METADATA, lambda ctx, request: MetadataResponse(cluster_id=name), **options)


def gated() -> tuple[Gate, ServedApi]:
    gate = Gate(lambda request: MetadataResponse(cluster_id=request.topics[0].name))
    return gate, ServedApi(METADATA, gate, pipelined=True)


def about(topic: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=topic)])


@asynccontextmanager
async def scripted(answer: Callable[[int, bytes], list[bytes] | None]) -> AsyncIterator[tuple[int, list[int]]]:
    """A peer that answers each frame (its number on the connection, its bytes) as the test says; None hangs up."""
    connections: list[int] = []
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        connections.append(0)
        frames = FrameReader()
        try:
            while data := await reader.read(65536):
                for received in frames.feed(data):
                    said = answer(connections[-1], bytes(received))
                    connections[-1] += 1
                    if said is None:
                        return
                    writer.writelines(said)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], connections
    finally:
        server.close()
        await server.wait_closed()
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def api_versions_frame(request: bytes, version: int, response: ApiVersionsResponse) -> bytes:
    return b"".join(frame([request[4:8], encode(response, version)]))


def versions_answer(request: bytes) -> list[bytes]:
    keys = [ApiVersion(api_key=METADATA, min_version=4, max_version=9)]
    return [api_versions_frame(request, 4, ApiVersionsResponse(api_keys=keys))]


def test_a_channel_connects_when_it_is_needed_and_learns_the_versions() -> None:
    async def test() -> None:
        async with listening([metadata_api(versions=Versions(5, 9))]) as listener, channel_to(listener.port) as channel:
            assert not channel.connected
            response = await channel.send(MetadataRequest(), LONG_MS)
            assert isinstance(response, MetadataResponse) and response.cluster_id == "cluster"
            assert channel.connected
            assert channel.api_versions == {METADATA: Versions(5, 9), ApiKey.API_VERSIONS: Versions(0, 4)}
            (connection,) = listener.endpoint.connections
            assert connection.session.client_software_name == "odradek"

    run(test())


def test_the_highest_common_version_is_taken_or_the_given_one() -> None:
    seen: list[int] = []

    def handle(ctx: Any, request: Any) -> MetadataResponse:
        seen.append(ctx.api_version)
        return MetadataResponse()

    async def test() -> None:
        apis = [ServedApi(METADATA, handle, versions=Versions(5, 9))]
        async with listening(apis) as listener, channel_to(listener.port) as channel:
            await channel.send(MetadataRequest(), LONG_MS)
            await channel.send(MetadataRequest(), LONG_MS, version=7)
            with pytest.raises(VersionsDiffer, match="has versions 5-9 of Metadata, and version 10 would be needed"):
                await channel.send(MetadataRequest(), LONG_MS, version=10)
            with pytest.raises(VersionsDiffer, match="has no version of Fetch"):
                await channel.send(FetchRequest(), LONG_MS)
            with pytest.raises(UnsupportedVersion):
                await channel.send(MetadataRequest(include_topic_authorized_operations=True), LONG_MS, version=6)
            await channel.send(MetadataRequest(), LONG_MS)

    run(test())
    assert seen == [9, 7, 9]


def test_a_peer_that_knows_only_older_versions_is_asked_again() -> None:
    asked: list[int] = []

    def answer(number: int, request: bytes) -> list[bytes]:
        version = int.from_bytes(request[2:4], "big")
        asked.append(version)
        if version > 2:
            keys = [ApiVersion(api_key=18, min_version=0, max_version=2)]
            return [api_versions_frame(request, 0, ApiVersionsResponse(error_code=35, api_keys=keys))]
        keys = [ApiVersion(api_key=METADATA, min_version=0, max_version=5)]
        return [api_versions_frame(request, version, ApiVersionsResponse(api_keys=keys))]

    async def test() -> None:
        async with scripted(answer) as (port, _), channel_to(port) as channel:
            await channel.connect()
            assert channel.api_versions == {METADATA: Versions(0, 5)}

    run(test())
    assert asked == [4, 2]


def test_a_peer_that_does_not_say_which_versions_it_knows_is_asked_in_version_0() -> None:
    def answer(number: int, request: bytes) -> list[bytes]:
        version = int.from_bytes(request[2:4], "big")
        return [api_versions_frame(request, 0, ApiVersionsResponse(error_code=35 if version else 0))]

    async def test() -> None:
        async with scripted(answer) as (port, _), channel_to(port) as channel:
            await channel.connect()
            assert channel.api_versions == {}

    run(test())


def test_requests_are_pipelined_and_find_their_answers() -> None:
    async def test() -> None:
        gate, api = gated()
        async with listening([api]) as listener, channel_to(listener.port) as channel:
            sent = [asyncio.ensure_future(channel.send(about(f"topic-{number}"), LONG_MS)) for number in range(5)]
            await until(lambda: len(gate.waiting) == 5, "all are there")
            for opened in reversed(gate.waiting):
                opened.set_result(None)
            answers = await asyncio.gather(*sent)
            assert [answer.cluster_id for answer in answers] == [f"topic-{number}" for number in range(5)]

    run(test())


def test_requests_in_flight_are_bounded_even_if_nobody_waits_for_the_answer() -> None:
    async def test() -> None:
        gate, api = gated()
        async with listening([api]) as listener, channel_to(listener.port, config={"in_flight_max": 2}) as channel:
            sent = [asyncio.ensure_future(channel.send(about(str(number)), LONG_MS)) for number in range(4)]
            await until(lambda: len(gate.waiting) == 2, "two are there")
            sent[0].cancel()
            await asyncio.wait([sent[0]])
            assert len(gate.waiting) == 2
            gate.waiting[0].set_result(None)
            await until(lambda: len(gate.waiting) == 3, "the answer made room")
            gate.waiting[1].set_result(None)
            gate.waiting[2].set_result(None)
            await until(lambda: len(gate.waiting) == 4, "the last is there")
            gate.waiting[3].set_result(None)
            assert [answer.cluster_id for answer in await asyncio.gather(*sent[1:])] == ["1", "2", "3"]

    run(test())


def test_a_time_out_closes_the_connection_and_fails_the_others_too() -> None:
    lost: list[str] = []

    async def test() -> None:
        gate, api = gated()
        async with listening([api]) as listener, channel_to(listener.port, on_disconnect=lost.append) as channel:
            await channel.connect()
            late = asyncio.ensure_future(channel.send(about("late"), 1_000))
            patient = asyncio.ensure_future(channel.send(about("patient"), LONG_MS))
            with pytest.raises(RequestTimedOut, match="no response to METADATA in time"):
                await late
            with pytest.raises(Disconnected):
                await patient
            assert not channel.connected
            again = asyncio.ensure_future(channel.send(about("again"), LONG_MS))
            await until(lambda: len(gate.waiting) == 3, "it is sent on another connection")
            gate.waiting[2].set_result(None)
            assert (await again).cluster_id == "again"
            for opened in gate.waiting[:2]:
                opened.set_result(None)

    run(test())
    assert lost == ["no response to METADATA in time"]


def test_a_broken_connection_fails_what_is_pending_and_is_reported_at_once() -> None:
    lost: list[str] = []

    async def test() -> None:
        gate, api = gated()
        async with listening([api]) as listener, channel_to(listener.port, on_disconnect=lost.append) as channel:
            sent = [asyncio.ensure_future(channel.send(about(str(number)), LONG_MS)) for number in range(3)]
            await until(lambda: len(gate.waiting) == 3, "all are there")
            for connection in list(listener.endpoint.connections):
                connection.abort()
            for result in await asyncio.gather(*sent, return_exceptions=True):
                assert isinstance(result, Disconnected)
            assert len(lost) == 1
            for opened in gate.waiting:
                opened.set_result(None)

    run(test())


def test_a_failure_that_nobody_waits_for_any_more_is_not_complained_about() -> None:
    complaints: list[str] = []

    async def test() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
        gate, api = gated()
        async with listening([api]) as listener, channel_to(listener.port) as channel:
            sent = asyncio.ensure_future(channel.send(about("it"), LONG_MS))
            await until(lambda: len(gate.waiting) == 1, "it is there")
            sent.cancel()
            await asyncio.wait([sent])
            await channel.close()
            gate.waiting[0].set_result(None)
        del sent
        gc.collect()

    run(test())
    assert complaints == []


def test_who_cannot_be_reached_fails_and_is_tried_again_when_it_is_there() -> None:
    async def test() -> None:
        (port,) = free_ports(1)
        lost: list[str] = []
        async with channel_to(port, on_disconnect=lost.append) as channel:
            for _ in range(3):
                with pytest.raises(Disconnected, match=f"127.0.0.1:{port}: connection refused") as caught:
                    await channel.send(MetadataRequest(), LONG_MS)
                assert caught.value.refused
            async with listening([metadata_api()]) as other:
                listener = Listener(other.endpoint, "127.0.0.1", port)
                await listener.start()
                assert (await channel.send(MetadataRequest(), LONG_MS)).cluster_id == "cluster"
                assert not lost
                await listener.stop()

    run(test())


def test_the_first_refusal_fails_all_who_wait() -> None:
    async def test() -> None:
        (port,) = free_ports(1)
        config = {"reconnect_backoff_ms": LONG_MS, "reconnect_backoff_max_ms": LONG_MS}
        async with channel_to(port, config=config) as channel:
            waiting = [channel.send(MetadataRequest(), LONG_MS) for _ in range(4)]
            for result in await asyncio.gather(*waiting, return_exceptions=True):
                assert isinstance(result, Disconnected) and result.refused

    run(test())


@pytest.mark.parametrize("second", ["127.0.0.1", "127.0.0.3", "255.255.255.255"])
def test_a_host_refuses_only_if_all_its_addresses_do(second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first address refuses; the second one answers, refuses too, or is out of reach."""

    async def addresses(*asked: Any) -> list[tuple[int, str]]:
        return [(socket.AF_INET, "127.0.0.2"), (socket.AF_INET, second)]

    async def test() -> None:
        async with listening([metadata_api()]) as listener, channel_to(listener.port) as channel:
            if second == "127.0.0.1":
                await channel.connect()
            else:
                with pytest.raises(Disconnected) as caught:
                    await channel.connect()
                assert caught.value.refused is (second == "127.0.0.3")

    monkeypatch.setattr("odradek.client.net.channel._addresses", addresses)
    run(test())


def test_back_off_grows_to_its_limit_and_is_spread() -> None:
    async def test() -> None:
        (port,) = free_ports(1)
        config = ChannelConfig(reconnect_backoff_ms=100, reconnect_backoff_max_ms=1_000)
        channel = Channel("127.0.0.1", port, config, randomness=random.Random(7))
        waits = []
        for _ in range(6):
            channel._back_off(0.0)
            waits.append(channel._retry_at_s)
        for wait, middle in zip(waits, (0.1, 0.2, 0.4, 0.8, 1.0, 1.0), strict=True):
            assert 0.8 * middle <= wait <= 1.2 * middle
        assert len(set(waits)) == 6

    run(test())


def test_a_send_during_the_back_off_waits_for_it_but_not_longer_than_its_time() -> None:
    async def test() -> None:
        (port,) = free_ports(1)
        config = {"reconnect_backoff_ms": LONG_MS, "reconnect_backoff_max_ms": LONG_MS}
        async with channel_to(port, config=config) as channel:
            with pytest.raises(Disconnected):
                await channel.send(MetadataRequest(), LONG_MS)
            with pytest.raises(RequestTimedOut, match="not sent in time"):
                await channel.send(MetadataRequest(), 20)

    run(test())


def test_a_peer_that_never_answers_is_given_up() -> None:
    async def test() -> None:
        async with (
            scripted(lambda number, request: []) as (port, _),
            channel_to(port, config={"connect_timeout_ms": 50}) as channel,
        ):
            with pytest.raises(Disconnected, match=r"in 50 ms|in time") as caught:
                await channel.connect(LONG_MS)
            assert not caught.value.refused

    run(test())


def wrong_correlation(number: int, request: bytes) -> list[bytes]:
    if number == 0:
        return versions_answer(request)
    return [b"".join(frame([b"\x00\x00\x00\x63", encode(MetadataResponse(), 8)]))]


def unasked(number: int, request: bytes) -> list[bytes]:
    return [*versions_answer(request), *versions_answer(request)]


def nonsense(number: int, request: bytes) -> list[bytes]:
    return versions_answer(request) if number == 0 else [b"\xff\xff\xff\xff"]


def cut_short(number: int, request: bytes) -> list[bytes]:
    return versions_answer(request) if number == 0 else [b"".join(frame([request[4:8], b"\x00"]))]


def hang_up(number: int, request: bytes) -> list[bytes] | None:
    return versions_answer(request) if number == 0 else None


@pytest.mark.parametrize("answer", [wrong_correlation, unasked, nonsense, cut_short, hang_up])
def test_a_peer_that_breaks_the_protocol_is_disconnected(answer: Any) -> None:
    async def test() -> None:
        async with scripted(answer) as (port, _), channel_to(port) as channel:
            with pytest.raises(Disconnected):
                await channel.send(MetadataRequest(), LONG_MS)
            await until(lambda: not channel.connected, "the connection is given up")

    run(test())


def test_a_peer_that_refuses_api_versions_is_no_peer() -> None:
    def answer(number: int, request: bytes) -> list[bytes]:
        return [api_versions_frame(request, 4, ApiVersionsResponse(error_code=42))]

    async def test() -> None:
        async with scripted(answer) as (port, _), channel_to(port) as channel:
            with pytest.raises(Disconnected, match="rejected with error 42"):
                await channel.connect()

    run(test())


def test_a_request_without_a_response_is_not_waited_for() -> None:
    acks: list[int] = []

    def produce(ctx: Any, request: ProduceRequest) -> ProduceResponse | None:
        acks.append(request.acks)
        return ProduceResponse() if request.acks else None

    async def test() -> None:
        async with (
            listening([ServedApi(ApiKey.PRODUCE, produce), metadata_api()]) as listener,
            channel_to(listener.port) as channel,
        ):
            await channel.send_and_forget(ProduceRequest(acks=0), LONG_MS)
            await channel.send(ProduceRequest(acks=1), LONG_MS)
            assert (await channel.send(MetadataRequest(), LONG_MS)).cluster_id == "cluster"

    run(test())
    assert acks == [0, 1]


def test_requests_without_responses_wait_for_a_peer_that_does_not_read() -> None:
    """Ten thousand of 64 KiB each would not fit anywhere."""
    begun: list[int] = []

    async def test() -> None:
        gate, api = gated()

        def produce(ctx: Any, request: ProduceRequest) -> None:
            begun.append(request.acks)

        async with (
            listening([ServedApi(ApiKey.PRODUCE, produce), api], limits=Limits(in_flight_max=1)) as listener,
            channel_to(listener.port) as channel,
        ):
            waiting = asyncio.ensure_future(channel.send(about("blocks what follows"), LONG_MS))
            await until(lambda: bool(gate.waiting), "it is there")
            request = ProduceRequest(transactional_id="x" * 30_000, acks=0)
            with pytest.raises(RequestTimedOut, match="not sent in time"):
                for _ in range(10_000):
                    await channel.send_and_forget(request, 500)
            gate.waiting[0].set_result(None)
            await waiting
            await channel.send_and_forget(request, LONG_MS)
            await until(lambda: len(begun) > 1, "it goes on")
            doomed = [asyncio.ensure_future(channel.send_and_forget(request, LONG_MS)) for _ in range(3)]
            await channel.close()
            await asyncio.gather(*doomed, return_exceptions=True)

    run(test())


def test_a_send_that_has_no_time_left_does_not_take_the_connection_with_it() -> None:
    async def test() -> None:
        async with listening([metadata_api()]) as listener, channel_to(listener.port) as channel:
            await channel.connect()
            for timeout_ms in (0, -5):
                with pytest.raises(RequestTimedOut, match="not sent in time"):
                    await channel.send(MetadataRequest(), timeout_ms)
            assert channel.connected
            assert (await channel.send(MetadataRequest(), LONG_MS)).cluster_id == "cluster"

    run(test())


@pytest.mark.parametrize(("host", "port"), [("x" * 70, 9092), ("a\0b", 9092), ("127.0.0.1", 99_999), ("..", 1)])
def test_what_is_no_address_is_out_of_reach_and_nothing_worse(host: str, port: int) -> None:
    async def test() -> None:
        channel = Channel(host, port)
        with pytest.raises(Disconnected):
            await channel.connect()
        await channel.close()

    run(test())


def test_one_who_is_cancelled_while_the_channel_closes_stays_cancelled() -> None:
    async def test() -> None:
        async with scripted(lambda number, request: []) as (port, connections):
            channel = Channel("127.0.0.1", port)
            waiting = [asyncio.ensure_future(channel.send(about("x"), LONG_MS)) for _ in range(3)]
            await until(lambda: bool(connections), "it is connecting")
            closing = asyncio.ensure_future(channel.close())
            waiting[0].cancel()
            await asyncio.wait([*waiting, closing])
            assert waiting[0].cancelled()
            for each in waiting[1:]:
                assert isinstance(each.exception(), Disconnected)

    run(test())


def test_an_answer_to_a_request_that_was_given_up_is_no_flaw() -> None:
    async def test() -> None:
        gate, api = gated()
        async with listening([api]) as listener, channel_to(listener.port) as channel:
            first, second = (asyncio.ensure_future(channel.send(about(name), LONG_MS)) for name in "ab")
            await until(lambda: len(gate.waiting) == 2, "both are there")
            first.cancel()
            for opened in gate.waiting:
                opened.set_result(None)
            assert (await second).cluster_id == "b"
            assert channel.connected

    run(test())


def test_a_thousand_who_wait_for_a_dead_peer_are_told_once_each() -> None:
    async def test() -> None:
        (port,) = free_ports(1)
        config = {"reconnect_backoff_ms": LONG_MS, "reconnect_backoff_max_ms": LONG_MS, "in_flight_max": 1_000}
        async with channel_to(port, config=config) as channel:
            results = await asyncio.gather(
                *(channel.send(MetadataRequest(), LONG_MS) for _ in range(1_000)), return_exceptions=True
            )
            assert all(isinstance(result, Disconnected) and result.refused for result in results)

    run(test())


def test_a_closed_channel_fails_those_who_wait_and_those_who_come() -> None:
    lost: list[str] = []

    async def test() -> None:
        gate, api = gated()
        async with listening([api]) as listener:
            channel = Channel("127.0.0.1", listener.port, on_disconnect=lost.append)
            sent = asyncio.ensure_future(channel.send(about("x"), LONG_MS))
            await until(lambda: bool(gate.waiting), "it is there")
            await channel.close()
            for pending in (sent, channel.send(about("y"), LONG_MS)):
                with pytest.raises(Disconnected, match="the channel was closed"):
                    await pending
            gate.waiting[0].set_result(None)
        async with scripted(lambda number, request: []) as (port, connections):
            channel = Channel("127.0.0.1", port)
            sent = asyncio.ensure_future(channel.send(about("x"), LONG_MS))
            await until(lambda: bool(connections), "it is connecting")
            await channel.close()
            with pytest.raises(Disconnected, match="the channel was closed"):
                await sent

    run(test())
    assert not lost


def test_a_pool_has_one_channel_a_node_and_follows_its_address() -> None:
    lost: list[int] = []

    async def test() -> None:
        pool = ChannelPool(on_disconnect=lambda node_id, reason: lost.append(node_id))
        async with listening([metadata_api("one")]) as one, listening([metadata_api("two")]) as two:
            channel = pool.channel(1, "127.0.0.1", one.port)
            assert pool.channel(1, "127.0.0.1", one.port) is channel is pool.get(1)
            assert (await channel.send(MetadataRequest(), LONG_MS)).cluster_id == "one"
            moved = pool.channel(1, "127.0.0.1", two.port)
            assert (await moved.send(MetadataRequest(), LONG_MS)).cluster_id == "two"
            await until(lambda: not one.endpoint.connections, "the old one is closed")
            assert not lost
            for connection in list(two.endpoint.connections):
                connection.abort()
            await until(lambda: lost == [1], "it is reported")
            pool.remove(1)
            assert pool.get(1) is None
            await pool.channel(2, "127.0.0.1", two.port).connect()
            await pool.close()
            await until(lambda: not two.endpoint.connections, "all are closed")

    run(test())
