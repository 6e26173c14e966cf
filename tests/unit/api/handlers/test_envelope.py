"""Envelope: a client's request on its way through a broker."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.envelope_codec import (
    FORWARDABLE,
    client_address_of,
    principal_bytes,
    principal_of,
    unwrap,
    wrap,
)
from odradek.api.dispatch.registry import Registry
from odradek.common.failures import ApiError, ProtocolError
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages import describe_quorum_response as described
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.create_acls_request import CreateAclsRequest
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from odradek.protocol.messages.elect_leaders_response import ElectLeadersResponse
from odradek.protocol.messages.envelope_request import EnvelopeRequest
from odradek.protocol.messages.envelope_response import EnvelopeResponse
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.protocol.requests import parse_response, request_parts
from support.builders.api import SpokenQuorum, ask, bench_services, session
from support.builders.controller import Bench, topic


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.add_broker(1)
    return made


def whole(request: Message, version: int, correlation_id: int = 99) -> bytes:
    header = RequestHeader(
        request_api_key=request.API_KEY,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id="client",
    )
    return b"".join(request_parts(header, request))


def forwarded(bench: Bench, request: Message, version: int, quorum: SpokenQuorum | None = None) -> EnvelopeResponse:
    envelope = wrap(whole(request, version), "User:alice", "10.0.0.7")
    response = ask(session(bench_services(bench, quorum)), envelope)
    assert isinstance(response, EnvelopeResponse)
    return response


@pytest.mark.parametrize("version", range(2, 8))
def test_the_answer_is_what_the_client_would_have_got(bench: Bench, version: int) -> None:
    response = forwarded(bench, CreateTopicsRequest(topics=[topic("a"), topic("/")]), version)
    header, body = parse_response(unwrap(response), ApiKey.CREATE_TOPICS, version)
    assert header.correlation_id == 99
    results: Any = body
    assert [(r.name, r.error_code) for r in results.topics] == [("a", 0), ("/", ErrorCode.INVALID_TOPIC_EXCEPTION)]


def test_a_refusal_of_the_whole_request_is_in_the_answer(bench: Bench) -> None:
    response = forwarded(bench, UnregisterBrokerRequest(broker_id=77), 0)
    _, body = parse_response(unwrap(response), ApiKey.UNREGISTER_BROKER, 0)
    assert body.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED  # type: ignore[attr-defined]


def test_an_answer_inside_that_cannot_be_written_is_an_unknown_server_error(bench: Bench) -> None:
    partitions = [TopicPartitions(topic="y" * 32_767, partitions=[0])]
    response = forwarded(bench, ElectLeadersRequest(timeout_ms=1_000, topic_partitions=partitions), 2)
    _, inside = parse_response(unwrap(response), ApiKey.ELECT_LEADERS, 2)
    assert isinstance(inside, ElectLeadersResponse)
    assert inside.replica_election_results[0].partition_result[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_that_another_controller_is_active_is_said_by_the_envelope(bench: Bench) -> None:
    bench.controller.leader_changed(LeaderAndEpoch(2, 2), 100)
    response = forwarded(bench, CreateTopicsRequest(topics=[topic("a")]), 7)
    assert response == EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    with pytest.raises(ApiError) as raised:
        unwrap(response)
    assert raised.value.code == ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize("at_the_top", [True, False])
def test_that_another_node_leads_the_quorum_is_said_by_the_envelope(bench: Bench, at_the_top: bool) -> None:
    code = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    partition = described.PartitionData(error_code=0 if at_the_top else code)
    answer = described.DescribeQuorumResponse(
        error_code=code if at_the_top else 0, topics=[described.TopicData(partitions=[partition])]
    )
    response = forwarded(bench, DescribeQuorumRequest(), 2, SpokenQuorum(answer))
    assert response == EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)


def test_the_request_inside_is_handled_for_who_sent_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Context] = []

    def note(ctx: Context, request: Any) -> Message:
        seen.append(ctx)
        return described.DescribeQuorumResponse()

    registry = Registry(ListenerRole.CONTROLLER)
    monkeypatch.setattr(registry.entry(ApiKey.DESCRIBE_QUORUM), "handle", note)
    asking = session(bench_services(bench))
    asking.registry = registry
    assert ask(asking, wrap(whole(DescribeQuorumRequest(), 1), "Robot:r2:d2", "::1")).error_code == 0
    (ctx,) = seen
    assert (ctx.principal, ctx.session.principal) == ("Robot:r2:d2", "Robot:r2:d2")
    assert (ctx.session.client_address, ctx.client_id) == ("::1", "client")
    assert (ctx.api_key, ctx.api_version, ctx.correlation_id) == (ApiKey.DESCRIBE_QUORUM, 1, 99)
    assert asking.principal == "User:ANONYMOUS", "the broker stays who it is"


@pytest.mark.parametrize(
    ("flaw", "code"),
    [
        ({"request_principal": None}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b"\0"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b"\0\1" + b"\0" * 9}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": principal_bytes("User:alice") + b"!"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"client_host_address": b"12345"}, ErrorCode.INVALID_REQUEST),
        ({"client_host_address": b""}, ErrorCode.INVALID_REQUEST),
        ({"request_data": b""}, ErrorCode.UNSUPPORTED_VERSION),
        ({"request_data": b"\0"}, ErrorCode.UNSUPPORTED_VERSION),
        ({"request_data": b"\x7f\xff" + b"\0" * 20}, ErrorCode.UNSUPPORTED_VERSION),
        ({"request_data": whole(CreateTopicsRequest(), 7)[:-1]}, ErrorCode.UNSUPPORTED_VERSION),
        ({"request_data": b"\0\x13\0\x63" + b"\0" * 20}, ErrorCode.UNSUPPORTED_VERSION),
        ({"request_data": whole(VoteRequest(), 2)}, ErrorCode.INVALID_REQUEST),
        ({"request_data": whole(EnvelopeRequest(), 0)}, ErrorCode.INVALID_REQUEST),
        (
            {"request_data": whole(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 4)},
            ErrorCode.INVALID_REQUEST,
        ),
    ],
    ids=lambda value: value.name if isinstance(value, ErrorCode) else next(iter(value)),
)
def test_envelopes_that_are_not_opened(bench: Bench, flaw: dict[str, Any], code: ErrorCode) -> None:
    envelope = wrap(whole(CreateTopicsRequest(topics=[topic("a")]), 7), "User:alice", "10.0.0.7")
    for name, value in flaw.items():
        setattr(envelope, name, value)
    assert ask(session(bench_services(bench)), envelope) == EnvelopeResponse(error_code=code)
    assert not bench.controller.controls.registry.topics


def test_what_we_do_not_serve_yet_is_a_version_that_we_do_not_have(bench: Bench) -> None:
    assert ApiKey.CREATE_ACLS in FORWARDABLE
    assert forwarded(bench, CreateAclsRequest(), 3).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("principal", ["User:ANONYMOUS", "User:", "User:CN=a,OU=b:c", "Robot:Ünï"])
@pytest.mark.parametrize("address", ["127.0.0.1", "255.255.255.255", "::1", "2001:db8::7"])
def test_who_and_where_come_through(principal: str, address: str) -> None:
    envelope = wrap(b"request", principal, address)
    assert (principal_of(envelope), client_address_of(envelope)) == (principal, address)
    assert envelope.request_data == b"request"


def test_the_principal_is_written_as_kafka_writes_it() -> None:
    """Two bytes of version, then DefaultPrincipalData: two compact strings, a boolean, no tagged fields."""
    assert principal_bytes("User:alice") == b"\0\0" + b"\x05User" + b"\x06alice" + b"\0" + b"\0"


def test_an_envelope_with_nothing_in_it() -> None:
    with pytest.raises(ProtocolError):
        unwrap(EnvelopeResponse())


@settings(max_examples=150, deadline=None)
@given(
    data=st.one_of(
        st.binary(max_size=60),
        st.tuples(st.sampled_from(FORWARDABLE), st.integers(0, 8), st.binary(max_size=60)).map(
            lambda parts: parts[0].to_bytes(2, "big") + parts[1].to_bytes(2, "big") + parts[2]
        ),
    ),
    principal=st.none() | st.binary(max_size=20),
    address=st.binary(max_size=17),
)
def test_any_envelope_has_an_answer(data: bytes, principal: bytes | None, address: bytes) -> None:
    quorum = SpokenQuorum(ApiError("not now", ErrorCode.REQUEST_TIMED_OUT))
    envelope = wrap(data, "User:alice", "10.0.0.7")
    asking = session(bench_services(Bench(), quorum))
    response = ask(asking, envelope)
    assert (response.error_code == 0) == (response.response_data is not None)
    envelope.request_principal, envelope.client_host_address = principal, address
    assert ask(asking, envelope).error_code != ErrorCode.UNKNOWN_SERVER_ERROR
