"""One error for a whole answer."""

from pathlib import Path

import pytest

from odradek.api.dispatch.error_responses import SILENT, error_response
from odradek.api.dispatch.registry import Registry
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.codec import decode, encode
from odradek.protocol.message import Message
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest
from odradek.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from odradek.protocol.messages.describe_cluster_response import DescribeClusterResponse
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest
from odradek.protocol.messages.elect_leaders_response import ElectLeadersResponse
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from odradek.protocol.messages.vote_response import VoteResponse
from odradek.protocol.registry import response_class
from support.builders.api import codes_in, full_request
from support.peers import jvm

JAVA = Path(__file__).parents[3] / "support" / "peers" / "KafkaErrorResponses.java"

NOT_CONTROLLER = ApiError("not here", code=41)


def served() -> list[tuple[int, int]]:
    """Every API and version that some listener serves."""
    found: dict[tuple[int, int], None] = {}
    for listener in ListenerRole:
        for key, versions in Registry(listener).accepted.items():
            found.update({(key, version): None for version in range(versions.first, versions.last + 1)})
    return sorted(found)


def test_an_api_error_becomes_its_code() -> None:
    assert error_response(ApiKey.VOTE, 1, ApiError("no", code=41)) == VoteResponse(error_code=41)


def test_a_message_goes_along_where_there_is_room_for_it() -> None:
    response = error_response(ApiKey.DESCRIBE_CLUSTER, 1, ApiError("not now", code=41))
    assert response == DescribeClusterResponse(error_code=41, error_message="not now")


def test_what_else_goes_wrong_tells_nothing() -> None:
    response = error_response(ApiKey.DESCRIBE_CLUSTER, 1, KeyError("secret"))
    assert response == DescribeClusterResponse(error_code=-1)
    response = error_response(
        ApiKey.CREATE_TOPICS, 7, KeyError("secret"), CreateTopicsRequest(topics=[CreatableTopic(name="a")])
    )
    assert response == CreateTopicsResponse(topics=[CreatableTopicResult(name="a", error_code=-1, error_message=None)])


def test_a_response_with_errors_per_topic_has_one_for_each_that_was_asked_for() -> None:
    request = CreateTopicsRequest(topics=[CreatableTopic(name="a"), CreatableTopic(name="b")])
    assert error_response(ApiKey.CREATE_TOPICS, 7, NOT_CONTROLLER, request) == CreateTopicsResponse(
        topics=[CreatableTopicResult(name=name, error_code=41, error_message="not here") for name in "ab"]
    )


def test_names_alone_are_enough() -> None:
    request = DeleteTopicsRequest(topic_names=["a", "b"])
    assert error_response(ApiKey.DELETE_TOPICS, 4, NOT_CONTROLLER, request) == DeleteTopicsResponse(
        responses=[DeletableTopicResult(name=name, error_code=41) for name in "ab"]
    )


def test_a_request_for_everything_has_an_answer_of_its_own() -> None:
    request = ElectLeadersRequest(topic_partitions=None)
    assert error_response(ApiKey.ELECT_LEADERS, 1, NOT_CONTROLLER, request) == ElectLeadersResponse(error_code=41)


def test_a_version_without_a_code_at_the_top_has_it_per_topic() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="a"), MetadataRequestTopic(name=None)])
    assert error_response(ApiKey.METADATA, 11, NOT_CONTROLLER, request) == MetadataResponse(
        topics=[MetadataResponseTopic(name=name, error_code=41) for name in ("a", "")]
    )


def test_what_cannot_be_said_is_not_said() -> None:
    assert error_response(ApiKey.LIST_OFFSETS, 7, NOT_CONTROLLER) is None
    assert error_response(ApiKey.CREATE_TOPICS, 7, NOT_CONTROLLER) is None, "nobody knows what was asked for"


@pytest.mark.parametrize(("key", "version"), served(), ids=lambda value: str(int(value)))
def test_every_api_that_is_served_can_fail_in_every_version(key: int, version: int) -> None:
    response = error_response(key, version, NOT_CONTROLLER, full_request(key, version))
    assert response is not None
    read = decode(response_class(key), version, encode(response, version))
    codes = codes_in(read)
    assert set(codes) - {0} == (set() if key in SILENT and version < 3 else {41})
    assert encode(read, version) == encode(response, version)


@pytest.mark.peer
@pytest.mark.slow
def test_apache_kafka_fails_in_the_same_words(tmp_path: Path) -> None:
    """Every field but the message: some of Kafka's requests have the sentence of the code there, and some have none."""
    requests = tmp_path / "requests"
    asked = {(key, version): full_request(key, version) for key, version in served()}
    requests.write_text("".join(f"{k} {v} {encode(body, v).hex()}\n" for (k, v), body in asked.items()))
    said = jvm.run(JAVA, str(requests))
    rows = [line.split(" ") for line in said.splitlines() if line.startswith("answer ")]
    assert len(rows) == len(asked)
    differing = {}
    for _, key_text, version_text, data in rows:
        key, version = int(key_text), int(version_text)
        kafkas = decode(response_class(key), version, bytes.fromhex(data))
        ours = error_response(key, version, NOT_CONTROLLER, asked[key, version])
        assert ours is not None
        if without_words(kafkas, version) != without_words(ours, version):
            differing[ApiKey(key).name, version] = (kafkas, ours)
    assert differing == {}


def without_words(message: Message, version: int) -> bytes:
    """All it says but for people."""

    def silence(one: Message) -> None:
        for name in one.field_names():
            value = getattr(one, name)
            if name == "error_message":
                setattr(one, name, getattr(type(one)(), name))
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, Message):
                    silence(inner)

    silence(message)
    return encode(message, version)
