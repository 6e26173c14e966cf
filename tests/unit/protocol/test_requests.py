import pytest

from odradek.common.failures import ProtocolError
from odradek.protocol.api_keys import APIS, ApiKey, ListenerRole, accepted_versions
from odradek.protocol.codec import decode, encode
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.api_versions_response import ApiVersionsResponse
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.metadata_response import MetadataResponse
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.messages.response_header import ResponseHeader
from odradek.protocol.registry import request_class, response_class
from odradek.protocol.requests import (
    parse_request,
    parse_response,
    request_header_version,
    request_parts,
    response_header_version,
    response_parts,
)

BROKER = accepted_versions(ListenerRole.BROKER)
CONTROLLER = accepted_versions(ListenerRole.CONTROLLER)


def header(key: int, version: int, client_id: str | None = "me") -> RequestHeader:
    return RequestHeader(request_api_key=key, request_api_version=version, correlation_id=7, client_id=client_id)


def test_request_with_and_without_tagged_fields_in_its_header() -> None:
    for version, header_bytes in ((8, "0003 0008 00000007 0002 6d65"), (9, "0003 0009 00000007 0002 6d65 00")):
        body = MetadataRequest(topics=None)
        whole = b"".join(request_parts(header(3, version), body))
        assert whole.hex().startswith(header_bytes.replace(" ", ""))
        assert parse_request(whole, BROKER) == (header(3, version), body)


def test_records_of_a_parsed_request_are_ranges_of_the_frame() -> None:
    partition = PartitionProduceData(records=b"abc")
    body = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])
    frame = bytearray(b"".join(request_parts(header(0, 9), body)))
    parsed = parse_request(frame, BROKER).body
    assert isinstance(parsed, ProduceRequest)
    records = parsed.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview) and records.obj is frame


def test_bytes_behind_the_body_are_left_alone() -> None:
    """librdkafka sends some with Metadata, and Kafka answers."""
    whole = b"".join(request_parts(header(3, 13), MetadataRequest(topics=None))) + bytes(3)
    assert parse_request(whole, BROKER) == (header(3, 13), MetadataRequest(topics=None))


def test_a_null_client_id_is_an_empty_one() -> None:
    whole = b"".join(request_parts(header(18, 0, None), ApiVersionsRequest()))
    assert parse_request(whole, BROKER).header.client_id == ""


@pytest.mark.parametrize("version", [-1, 5, 99, 32767])
def test_api_versions_of_an_unknown_version_is_not_parsed(version: int) -> None:
    flexible = 2 if version > 0 else 1
    whole = encode(header(18, version), flexible) + b"whatever follows"
    parsed = parse_request(whole, BROKER)
    assert parsed.header == header(18, version)
    assert parsed.body is None


def test_the_answer_to_api_versions_always_has_the_oldest_header() -> None:
    answer = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    whole = b"".join(response_parts(ResponseHeader(correlation_id=7), answer, 3))
    assert whole == (7).to_bytes(4, "big") + encode(answer, 3)
    assert parse_response(whole, 18, 3) == (ResponseHeader(correlation_id=7), answer)


def test_a_response_comes_back() -> None:
    for version in (8, 9):
        answer = MetadataResponse(controller_id=4)
        whole = b"".join(response_parts(ResponseHeader(correlation_id=9), answer, version))
        assert parse_response(whole, 3, version) == (ResponseHeader(correlation_id=9), answer)


@pytest.mark.parametrize(
    ("key", "version"), [(0, 0), (0, 2), (0, 14), (3, 14), (3, -1), (4, 0), (7, 0), (-1, 0), (52, 0)]
)
def test_what_a_broker_does_not_take(key: int, version: int) -> None:
    """Old Produce versions are advertised and refused; raft's Vote (52) belongs to the other listener."""
    whole = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + bytes(20)
    with pytest.raises(ProtocolError, match=f"API key {key} "):
        parse_request(whole, BROKER)


@pytest.mark.parametrize("size", range(8))
def test_a_header_that_is_cut_off(size: int) -> None:
    whole = b"".join(request_parts(header(3, 9), MetadataRequest()))
    with pytest.raises(ProtocolError):
        parse_request(whole[:size], BROKER)


@pytest.mark.parametrize("listener", ListenerRole)
def test_every_accepted_version_has_both_messages_and_their_headers(listener: ListenerRole) -> None:
    for key, versions in accepted_versions(listener).items():
        for version in range(versions.first, versions.last + 1):
            request, response = request_class(key), response_class(key)
            assert request.VERSIONS[0] <= version <= request.VERSIONS[1]
            assert response.VERSIONS[0] <= version <= response.VERSIONS[1]
            flexible = version >= request.FLEXIBLE_FROM
            assert request_header_version(key, version) == (2 if flexible else 1)
            assert response_header_version(key, version) == (1 if flexible and key != 18 else 0)


def test_listeners() -> None:
    assert APIS[ApiKey.PRODUCE].advertised(ListenerRole.BROKER) == (0, 13)
    assert APIS[ApiKey.PRODUCE].advertised(ListenerRole.CONTROLLER) is None
    assert BROKER[ApiKey.PRODUCE] == (3, 13)
    assert ApiKey.PRODUCE not in CONTROLLER
    assert CONTROLLER[ApiKey.VOTE] == (0, 2)
    assert ApiKey.VOTE not in BROKER
    assert str(BROKER[ApiKey.PRODUCE]) == "3-13"
    assert list(APIS) == sorted(APIS)


def test_flags_of_error_codes() -> None:
    not_leader = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (not_leader.retriable, not_leader.refresh_metadata, not_leader.abortable) == (True, True, False)
    assert not ErrorCode.NONE.retriable
    assert ErrorCode.TRANSACTION_ABORTABLE.abortable
    assert ErrorCode(-1) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert all(code.message for code in ErrorCode)


def test_a_header_does_not_copy_what_follows_it() -> None:
    long = encode(header(0, 9), 2) + bytes(100)
    assert decode(RequestHeader, 2, long[:-100]) == header(0, 9)
