"""One connection: order, limits, failures."""

import asyncio
import logging
import socket
from typing import Any

import pytest

from odradek.api.dispatch.registry import ServedApi
from odradek.common.failures import ApiError, Fault, ProtocolError
from odradek.network.limits import Limits, RequestBudget
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.metadata_response import MetadataResponse
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.produce_response import ProduceResponse
from support.processes.network import (
    Gate,
    Peer,
    api_versions_bytes,
    each_loop,  # noqa: F401
    hasty,
    listening,
    peer,
    request_bytes,
    run,
    unknown_api_versions_bytes,
    until,
)

API_VERSIONS, METADATA, FETCH, PRODUCE = ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.FETCH, ApiKey.PRODUCE
DESCRIBE_CLUSTER = ApiKey.DESCRIBE_CLUSTER

#: More than a few reads take.
LARGE = bytes(range(256)) * 8_000


def metadata_bytes(correlation_id: int = 1) -> bytes:
    return request_bytes(MetadataRequest(), 12, correlation_id)


def fetch_bytes(correlation_id: int = 1) -> bytes:
    return request_bytes(FetchRequest(), 12, correlation_id)


def produce_bytes(correlation_id: int = 1, acks: int = 1) -> bytes:
    return request_bytes(ProduceRequest(acks=acks), 9, correlation_id)


def metadata_gate() -> Gate:
    return Gate(lambda request: MetadataResponse())


async def answered(asking: Peer, correlation_id: int = 77) -> None:
    asking.send(api_versions_bytes(correlation_id))
    assert (await asking.response(API_VERSIONS, 4))[0] == correlation_id


def test_requests_in_any_pieces_are_answered() -> None:
    async def test() -> None:
        async with listening() as listener, peer(listener.port) as asking:
            sent = b"".join(api_versions_bytes(number) for number in range(3))
            for position in range(0, len(sent), 7):
                asking.send(sent[position : position + 7])
                await asyncio.sleep(0)
            assert [(await asking.response(API_VERSIONS, 4))[0] for _ in range(3)] == [0, 1, 2]

    run(test())


def test_large_requests_are_read_whole_and_what_follows_them_too() -> None:
    sizes: list[int] = []

    async def test() -> None:
        def handle(ctx: Any, request: ProduceRequest) -> ProduceResponse:
            (records,) = (part.records for topic in request.topic_data for part in topic.partition_data)
            assert records is not None and bytes(records) == LARGE[: len(records)]
            sizes.append(len(records))
            return ProduceResponse()

        async with listening([ServedApi(PRODUCE, handle)]) as listener, peer(listener.port) as asking:
            for size in (40_000, len(LARGE), 70_000, 300_000):
                parts = [PartitionProduceData(records=LARGE[:size])]
                asking.send(
                    request_bytes(
                        ProduceRequest(acks=1, topic_data=[TopicProduceData(name="t", partition_data=parts)]), 9
                    )
                )
            for _ in range(4):
                await asking.response(PRODUCE, 9)
            await answered(asking)

    run(test())
    assert sizes == [40_000, len(LARGE), 70_000, 300_000]


def test_an_unknown_version_of_api_versions_is_answered_in_version_0_and_the_connection_stays() -> None:
    async def test() -> None:
        async with listening() as listener, peer(listener.port) as asking:
            asking.send(unknown_api_versions_bytes(5))
            correlation_id, response = await asking.response(API_VERSIONS, 0)
            assert (correlation_id, response.error_code) == (5, 35)  # type: ignore[attr-defined]
            await answered(asking)

    run(test())


def test_a_connection_handles_one_request_after_the_other() -> None:
    async def test() -> None:
        gate = metadata_gate()
        async with listening([ServedApi(METADATA, gate)]) as listener, peer(listener.port) as asking:
            asking.send(metadata_bytes(1) + metadata_bytes(2) + api_versions_bytes(3))
            await until(lambda: bool(gate.waiting), "the first has begun")
            async with peer(listener.port) as other:
                await answered(other)
            assert len(gate.waiting) == 1
            gate.waiting[0].set_result(None)
            assert (await asking.response(METADATA, 12))[0] == 1
            await until(lambda: len(gate.waiting) == 2, "the second has begun")
            gate.waiting[1].set_result(None)
            assert (await asking.response(METADATA, 12))[0] == 2
            assert (await asking.response(API_VERSIONS, 4))[0] == 3

    run(test())


def test_who_asks_for_little_is_served_among_those_who_ask_for_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.network.connection.SLICE_NS", 0)
    handled: list[int] = []

    async def test() -> None:
        def handle(ctx: Any, request: Any) -> MetadataResponse:
            if not handled:
                small.send(metadata_bytes(1_000))
            handled.append(ctx.correlation_id)
            return MetadataResponse()

        async with listening([ServedApi(METADATA, handle)]) as listener, peer(listener.port) as much:
            with socket.create_connection(("127.0.0.1", listener.port)) as small:
                await until(lambda: len(listener.endpoint.connections) == 2, "both are there")
                much.send(b"".join(map(metadata_bytes, range(100))))
                assert [(await much.response(METADATA, 12))[0] for _ in range(100)] == list(range(100))

    run(test())
    assert handled.index(1_000) < 50
    handled.remove(1_000)
    assert handled == list(range(100))


def test_pipelined_requests_run_together_and_are_answered_in_order() -> None:
    async def test() -> None:
        gate = metadata_gate()
        async with listening([ServedApi(METADATA, gate, pipelined=True)]) as listener, peer(listener.port) as asking:
            asking.send(b"".join(map(metadata_bytes, range(5))) + api_versions_bytes(5))
            await until(lambda: len(gate.waiting) == 5, "all have begun")
            for opened in reversed(gate.waiting):
                opened.set_result(None)
            assert [(await asking.response(METADATA, 12))[0] for _ in range(5)] == [0, 1, 2, 3, 4]
            assert (await asking.response(API_VERSIONS, 4))[0] == 5

    run(test())


def test_in_flight_requests_are_bounded_and_the_rest_is_not_lost() -> None:
    async def test() -> None:
        gate = metadata_gate()
        limits = Limits(in_flight_max=3)
        apis = [ServedApi(METADATA, gate, pipelined=True)]
        async with listening(apis, limits=limits) as listener, peer(listener.port) as asking:
            asking.send(b"".join(map(metadata_bytes, range(10))))
            for done in range(10):
                await until(lambda done=done: len(gate.waiting) > done, "it has begun")  # type: ignore[misc]
                assert len(gate.waiting) <= done + 3
                gate.waiting[done].set_result(None)
                assert (await asking.response(METADATA, 12))[0] == done

    run(test())


def test_the_node_bounds_its_requests_but_not_those_that_wait_for_data() -> None:
    async def test() -> None:
        gate, poll = metadata_gate(), Gate(lambda request: FetchResponse())
        budget = RequestBudget(requests_max=1)
        apis = [ServedApi(METADATA, gate), ServedApi(FETCH, poll, long_poll=True)]
        async with listening(apis, budget=budget) as listener:
            async with peer(listener.port) as first, peer(listener.port) as second, peer(listener.port) as third:
                third.send(fetch_bytes(1))
                await until(lambda: bool(poll.waiting), "a long poll takes no place")
                first.send(metadata_bytes(1))
                await until(lambda: bool(gate.waiting), "the first has begun")
                second.send(metadata_bytes(2))
                await until(lambda: budget.waiting == 1, "the second waits for its turn")
                poll.waiting[0].set_result(None)
                await third.response(FETCH, 12)
                third.send(fetch_bytes(2))
                await until(lambda: len(poll.waiting) == 2, "a long poll begins although the budget is spent")
                assert (len(gate.waiting), budget.requests) == (1, 1)
                gate.waiting[0].set_result(None)
                await until(lambda: len(gate.waiting) == 2, "it is the second one's turn")
                gate.waiting[1].set_result(None)
                assert (await second.response(METADATA, 12))[0] == 2
            assert (budget.requests, budget.bytes) == (0, 0)

    run(test())


def test_the_node_bounds_the_bytes_of_its_requests() -> None:
    async def test() -> None:
        gate = metadata_gate()
        budget = RequestBudget(bytes_max=1)
        async with (
            listening([ServedApi(METADATA, gate)], budget=budget) as listener,
            peer(listener.port) as first,
            peer(listener.port) as second,
        ):
            first.send(metadata_bytes(1))
            await until(lambda: bool(gate.waiting), "the first has begun")
            second.send(metadata_bytes(2))
            await until(lambda: budget.waiting == 1, "the second waits for its turn")
            assert len(gate.waiting) == 1
            gate.waiting[0].set_result(None)
            await until(lambda: len(gate.waiting) == 2, "the second has begun")
            gate.waiting[1].set_result(None)
            await second.response(METADATA, 12)

    run(test())


def test_a_request_without_a_response_leaves_no_gap() -> None:
    def produce(ctx: Any, request: ProduceRequest) -> ProduceResponse | None:
        return ProduceResponse() if request.acks else None

    async def test() -> None:
        async with listening([ServedApi(PRODUCE, produce)]) as listener, peer(listener.port) as asking:
            asking.send(produce_bytes(1, acks=0) + produce_bytes(2, acks=1) + produce_bytes(3, acks=0))
            assert (await asking.response(PRODUCE, 9))[0] == 2
            await answered(asking)

    run(test())


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x00",
        b"\x06\x40\x00\x01",
        b"\x7f\xff\xff\xff",
        b"\x00\x00\x00\x02\x00\x12",
        request_bytes(MetadataRequest(), 12),
        request_bytes(FetchRequest(), 12),
        b"\x00\x00\x00\x0a\x00\x12\x00\x03\x00\x00\x00\x00\xff\xff",
    ],
    ids=["length -1", "length 0", "100 MiB and 1", "2 GiB", "short", "not served", "not served either", "cut off"],
)
def test_what_is_no_request_closes_the_connection_with_one_line(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with listening() as listener, peer(listener.port) as good:
            async with peer(listener.port) as asking:
                asking.send(api_versions_bytes(9) + sent)
                assert (await asking.response(API_VERSIONS, 4))[0] == 9
                assert await asking.closed() == b""
            await answered(good)

    with caplog.at_level(logging.WARNING, "odradek.network"):
        run(test())
    assert len(caplog.records) == 1 and "closed" in caplog.text


#: The first record of a handshake, as OpenSSL sends it.
CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


@pytest.mark.parametrize(
    ("sent", "protocol", "expected"),
    [
        (
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "PLAINTEXT",
            "this looks like HTTP; listener PLAINTEXT speaks the Kafka protocol",
        ),
        (b"POST /topics HTTP/1.1\r\n\r\n", "SASL_PLAINTEXT", "this looks like HTTP; listener PLAINTEXT speaks"),
        (b"OPTIONS * HTTP/1.1\r\n\r\n", "PLAINTEXT", "this looks like HTTP"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PLAINTEXT", "this looks like HTTP"),
        (
            CLIENT_HELLO,
            "PLAINTEXT",
            "this looks like a TLS handshake; listener PLAINTEXT is PLAINTEXT, so the client must set "
            "security.protocol=PLAINTEXT",
        ),
        (CLIENT_HELLO, "SASL_PLAINTEXT", "the client must set security.protocol=SASL_PLAINTEXT"),
    ],
)
def test_a_peer_that_speaks_another_protocol_is_told_apart(
    sent: bytes, protocol: str, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with listening(security_protocol=protocol) as listener, peer(listener.port) as asking:
            asking.send(sent[:3])
            await asyncio.sleep(0)
            asking.send(sent[3:])
            assert await asking.closed() == b""

    with caplog.at_level(logging.WARNING, "odradek.network"):
        run(test())
    [message] = caplog.messages
    assert expected in message
    assert message.startswith("connection 127.0.0.1:") and "-127.0.0.1:" in message


def test_a_peer_that_comes_again_and_again_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with listening() as listener:
            for _ in range(20):
                async with peer(listener.port) as asking:
                    asking.send(b"GET / HTTP/1.1\r\n\r\n")
                    await asking.closed()

    with caplog.at_level(logging.WARNING, "odradek.network"):
        run(test())
    assert len(caplog.records) == 5


def test_before_authentication_little_is_allowed(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        apis = [ServedApi(METADATA, lambda ctx, request: MetadataResponse())]
        async with listening(apis, security_protocol="SASL_PLAINTEXT") as listener:
            async with peer(listener.port) as asking:
                await answered(asking)
                asking.send((512 * 1024 + 1).to_bytes(4, "big"))
                await asking.closed()
            async with peer(listener.port) as asking:
                asking.send(metadata_bytes())
                await asking.closed()

    run(test())
    assert "at most 524288" in caplog.text
    assert "before authentication" in caplog.text


def test_authentication_lifts_the_limits() -> None:
    async def test() -> None:
        limits = Limits(unauthenticated_request_bytes_max=100)
        large = request_bytes(ApiVersionsRequest(client_software_name="test", client_software_version="1" * 200), 4)
        async with listening(limits=limits, security_protocol="SASL_PLAINTEXT") as listener:
            for is_authenticated in (False, True):
                async with peer(listener.port) as asking:
                    await answered(asking)
                    (connection,) = listener.endpoint.connections
                    connection.session.authenticated = is_authenticated
                    # In the middle of a frame, and then beyond it.
                    asking.send(api_versions_bytes() + api_versions_bytes()[:10])
                    await asking.response(API_VERSIONS, 4)
                    asking.send(api_versions_bytes()[10:] + large)
                    if is_authenticated:
                        await asking.response(API_VERSIONS, 4)
                        await asking.response(API_VERSIONS, 4)
                    else:
                        await asking.closed()
                await until(lambda: not listener.endpoint.connections, "it is gone")

    run(test())


def raising(error: Exception) -> Any:
    def handle(ctx: Any, request: Any) -> None:
        raise error

    return handle


def raising_later(error: Exception) -> Any:
    async def handle(ctx: Any, request: Any) -> None:
        await asyncio.sleep(0)
        raise error

    return handle


@pytest.mark.parametrize("how", [raising, raising_later])
@pytest.mark.parametrize(
    ("error", "code"), [(ApiError("no", code=41), 41), (KeyError("bug"), -1), (Fault("the disk is gone"), -1)]
)
def test_what_a_handler_raises_is_answered(how: Any, error: Exception, code: int) -> None:
    faults: list[Fault] = []

    async def test() -> None:
        async with (
            listening([ServedApi(DESCRIBE_CLUSTER, how(error))], on_fault=faults.append) as listener,
            peer(listener.port) as asking,
        ):
            asking.send(request_bytes(DescribeClusterRequest(), 1))
            _, response = await asking.response(DESCRIBE_CLUSTER, 1)
            assert response.error_code == code  # type: ignore[attr-defined]
            await answered(asking)

    run(test())
    assert faults == ([error] if isinstance(error, Fault) else [])


@pytest.mark.parametrize("how", [raising, raising_later])
def test_a_failure_that_no_response_can_say_closes_the_connection(how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with (
            listening([ServedApi(METADATA, how(ValueError("bug")))]) as listener,
            peer(listener.port) as asking,
        ):
            asking.send(metadata_bytes())
            assert await asking.closed() == b""

    monkeypatch.setattr("odradek.network.connection.error_response", lambda *asked: None)
    run(test())


@pytest.mark.parametrize("how", [raising, raising_later])
def test_what_must_not_be_answered_closes_the_connection_with_one_line(
    how: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A Produce with acks=0 that fails: its client expects nothing, and would take any answer for the next one's."""

    async def test() -> None:
        async with (
            listening([ServedApi(PRODUCE, how(ProtocolError("no such partition")))]) as listener,
            peer(listener.port) as asking,
        ):
            asking.send(api_versions_bytes(9) + produce_bytes(1, acks=0) + api_versions_bytes(2))
            assert (await asking.response(API_VERSIONS, 4))[0] == 9
            assert await asking.closed() == b""

    with caplog.at_level(logging.WARNING, "odradek.network"):
        run(test())
    assert len(caplog.records) == 1 and "no such partition" in caplog.text


def test_an_answer_that_cannot_be_written_becomes_an_unknown_server_error(caplog: pytest.LogCaptureFixture) -> None:
    async def later(ctx: Any, request: Any) -> DescribeClusterResponse:
        await asyncio.sleep(0)
        return DescribeClusterResponse(error_message="x" * 40_000)

    async def test() -> None:
        wrong = DescribeClusterResponse(controller_id=2**40)
        for handle in (lambda ctx, request: wrong, later):
            async with (
                listening([ServedApi(DESCRIBE_CLUSTER, handle)]) as listener,
                peer(listener.port) as asking,
            ):
                asking.send(request_bytes(DescribeClusterRequest(), 1) * 2)
                for _ in range(2):
                    _, answer = await asking.response(DESCRIBE_CLUSTER, 1)
                    assert isinstance(answer, DescribeClusterResponse)
                    assert (answer.error_code, answer.error_message) == (-1, None)

    run(test())
    assert caplog.text.count("cannot be written") == 4


def test_an_answer_that_has_no_error_closes_the_connection(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        wrong = DescribeClusterResponse(controller_id=2**40)
        async with (
            listening([ServedApi(DESCRIBE_CLUSTER, lambda ctx, request: wrong)]) as listener,
            peer(listener.port) as asking,
        ):
            asking.send(request_bytes(DescribeClusterRequest(), 1) * 100)
            assert await asking.closed() == b""

    monkeypatch.setattr("odradek.network.connection.error_response", lambda *asked: None)
    run(test())
    assert caplog.text.count("cannot be written") == 1


def test_a_begun_request_ends_even_if_its_peer_goes_but_a_long_poll_is_dropped() -> None:
    async def test() -> None:
        gate, poll = metadata_gate(), Gate(lambda request: FetchResponse())
        budget = RequestBudget()
        apis = [ServedApi(METADATA, gate), ServedApi(FETCH, poll, long_poll=True)]
        async with listening(apis, budget=budget) as listener:
            async with peer(listener.port) as first, peer(listener.port) as second:
                first.send(metadata_bytes())
                second.send(fetch_bytes())
                await until(lambda: bool(gate.waiting and poll.waiting), "both have begun")
            await until(lambda: poll.cancelled == 1, "the long poll is dropped")
            await until(lambda: not listener.endpoint.connections, "both are gone")
            assert budget.requests == 1
            gate.waiting[0].set_result(None)
            await until(lambda: budget.requests == 0, "the other has ended")
            assert gate.cancelled == 0

    run(test())


def test_who_does_not_read_is_not_read_from() -> None:
    """A megabyte an answer: what is held for a peer that takes none is bounded, and others do not notice."""

    async def test() -> None:
        begun = 0
        brokers = [DescribeClusterBroker(broker_id=number, host="x" * 10_000) for number in range(100)]
        megabyte = DescribeClusterResponse(brokers=brokers)

        def handle(ctx: Any, request: Any) -> DescribeClusterResponse:
            nonlocal begun
            begun += 1
            return megabyte

        limits = hasty(unsent_bytes_max=100_000, send_buffer_bytes=200_000)
        async with (
            listening([ServedApi(DESCRIBE_CLUSTER, handle)], limits=limits) as listener,
            peer(listener.port) as lazy,
            peer(listener.port) as good,
        ):
            lazy.writer.transport.pause_reading()  # type: ignore[attr-defined]
            lazy.send(b"".join(request_bytes(DescribeClusterRequest(), 1, number) for number in range(1_000)))
            await until(lambda: begun > 0, "the first has begun")
            for _ in range(20):
                await answered(good)
            assert begun <= 10
            lazy.writer.transport.resume_reading()  # type: ignore[attr-defined]
            for number in range(begun + 2):
                assert (await lazy.response(DESCRIBE_CLUSTER, 1))[0] == number
            lazy.writer.transport.abort()

    run(test())


def test_all_are_told_of_the_end_whatever_one_of_them_does(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    def fail() -> None:
        told.append("fails")
        raise KeyError("bug")

    async def test() -> None:
        async with listening() as listener:
            async with peer(listener.port) as asking:
                await answered(asking)
                (connection,) = listener.endpoint.connections
                connection.session.on_close += [fail, lambda: told.append("works")]
            await until(lambda: told == ["fails", "works"], "both are told")
            assert not listener.endpoint.connections

    run(test())
    assert "what follows from its end failed" in caplog.text


def test_an_answer_of_nonsense_is_an_error_and_frees_its_place(caplog: pytest.LogCaptureFixture) -> None:
    async def handle(ctx: Any, request: Any) -> DescribeClusterResponse:
        await asyncio.sleep(0)
        return DescribeClusterResponse(brokers=[7])  # type: ignore[list-item]

    async def test() -> None:
        budget = RequestBudget()
        async with (
            listening([ServedApi(DESCRIBE_CLUSTER, handle)], budget=budget) as listener,
            peer(listener.port) as asking,
        ):
            asking.send(request_bytes(DescribeClusterRequest(), 1))
            _, answer = await asking.response(DESCRIBE_CLUSTER, 1)
            assert isinstance(answer, DescribeClusterResponse) and answer.error_code == -1
            assert (budget.requests, budget.bytes) == (0, 0)

    run(test())
    assert caplog.text.count("cannot be written") == 1


def test_a_handler_that_was_cancelled_ends_the_connection_behind_the_answers_before_it() -> None:
    async def test() -> None:
        gate, poll = metadata_gate(), Gate(lambda request: FetchResponse())
        apis = [ServedApi(METADATA, gate, pipelined=True), ServedApi(FETCH, poll, pipelined=True)]
        async with listening(apis) as listener, peer(listener.port) as asking:
            asking.send(metadata_bytes(1) + fetch_bytes(2) + metadata_bytes(3))
            await until(lambda: len(gate.waiting) == 2, "all have begun")
            poll.waiting[0].cancel()
            gate.waiting[1].set_result(None)
            await until(lambda: poll.cancelled == 1, "it was cancelled")
            gate.waiting[0].set_result(None)
            assert (await asking.response(METADATA, 12))[0] == 1
            assert await asking.closed() == b""

    run(test())


def test_a_drain_answers_what_came_before_a_long_poll() -> None:
    async def test() -> None:
        gate, poll = metadata_gate(), Gate(lambda request: FetchResponse())
        apis = [ServedApi(METADATA, gate, pipelined=True), ServedApi(FETCH, poll, pipelined=True, long_poll=True)]
        async with listening(apis) as listener, peer(listener.port) as asking:
            asking.send(metadata_bytes(1) + fetch_bytes(2) + metadata_bytes(3))
            await until(lambda: len(gate.waiting) == 2, "all have begun")
            (connection,) = listener.endpoint.connections
            draining = [asyncio.ensure_future(connection.drain()) for _ in range(2)]
            await until(lambda: poll.cancelled == 1, "the long poll is dropped")
            gate.waiting[1].set_result(None)
            gate.waiting[0].set_result(None)
            assert (await asking.response(METADATA, 12))[0] == 1
            assert await asking.closed() == b""
            await asyncio.gather(*draining)

    run(test())


def test_who_goes_while_it_waits_for_its_turn_leaves_nothing_behind() -> None:
    async def test() -> None:
        gate, budget = metadata_gate(), RequestBudget(requests_max=1)
        async with listening([ServedApi(METADATA, gate)], budget=budget) as listener, peer(listener.port) as first:
            first.send(metadata_bytes(1))
            await until(lambda: bool(gate.waiting), "the budget is spent")
            async with peer(listener.port) as second:
                second.send(metadata_bytes(2))
                await until(lambda: budget.waiting == 1, "it waits for its turn")
                for connection in list(listener.endpoint.connections)[1:]:
                    connection.abort()
                await until(lambda: budget.waiting == 0, "it is forgotten")
            gate.waiting[0].set_result(None)
            await first.response(METADATA, 12)
            assert len(gate.waiting) == 1

    run(test())


@pytest.mark.parametrize("how", ["half-closes", "breaks the protocol"])
def test_who_does_not_take_its_last_answers_is_not_waited_for(how: str, caplog: pytest.LogCaptureFixture) -> None:
    brokers = [DescribeClusterBroker(broker_id=number, host="x" * 30_000) for number in range(1_000)]
    huge = DescribeClusterResponse(brokers=brokers)

    async def test() -> None:
        apis = [ServedApi(DESCRIBE_CLUSTER, lambda ctx, request: huge)]
        async with (
            listening(apis, limits=hasty(first_request_ms_max=1_000, unsent_bytes_max=2**30)) as listener,
            peer(listener.port) as lazy,
        ):
            lazy.writer.transport.pause_reading()  # type: ignore[attr-defined]
            lazy.send(request_bytes(DescribeClusterRequest(), 1))
            if how == "half-closes":
                lazy.writer.write_eof()
            else:
                lazy.send(b"\xff\xff\xff\xff")
            await until(lambda: listener.endpoint.requests_total == 1, "it has begun")
            await until(lambda: not listener.endpoint.connections, "it is cut off")

    with caplog.at_level(logging.INFO, "odradek.network"):
        run(test())
    assert "its last answers not taken in 1000 ms" in caplog.text


def test_a_listener_keeps_dead_peers_from_staying() -> None:
    async def test() -> None:
        async with listening() as listener, peer(listener.port) as asking:
            await answered(asking)
            (connection,) = listener.endpoint.connections
            opened = connection._transport.get_extra_info("socket")
            assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    run(test())


@pytest.mark.parametrize("handle", ["there_is_no_such_module", lambda ctx, request: "not a response"])
def test_a_request_that_cannot_begin_ends_only_its_connection(handle: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        budget = RequestBudget()
        async with (
            listening([ServedApi(METADATA, handle)], budget=budget) as listener,
            peer(listener.port) as good,
            peer(listener.port) as asking,
        ):
            asking.send(metadata_bytes())
            assert await asking.closed() == b""
            await answered(good)
            assert budget.requests == 0

    run(test())
    assert caplog.text.count("a request could not begin") == 2
