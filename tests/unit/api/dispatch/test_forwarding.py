"""Changes that a broker passes on: what the controller sees, what comes back, and which versions are told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from odradek.api.dispatch.context import Services
from odradek.api.dispatch.declaration import FORWARDED, FORWARDED_CONFIGS
from odradek.api.dispatch.forwarding import TIMEOUT_MS
from odradek.api.dispatch.handler_index import SERVED
from odradek.common.failures import ApiError
from odradek.errors import RequestTimedOut
from odradek.protocol.api_keys import APIS, ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.response_header import ResponseHeader
from odradek.protocol.registry import request_class, response_class
from odradek.protocol.requests import parse_request, response_parts
from odradek.protocol.schema import Versions
from support.builders.api import ToController, ask, bench_services, full_request, session
from support.builders.controller import Bench

FORWARDED_KEYS = [api.key for api in SERVED if api.handler in (FORWARDED, FORWARDED_CONFIGS)]
#: The others are looked at on the way.
AS_THEY_ARE = [api.key for api in SERVED if api.handler == FORWARDED]
PAIRS = [
    (key, version)
    for key in AS_THEY_ARE
    for version in range(APIS[key].versions.first, APIS[key].versions.last + 1)
    if version in (APIS[key].broker or ())
]


@dataclass
class Echo:
    """Answers with an empty response, and keeps what it saw."""

    seen: list[bytes] = field(default_factory=list)
    controller_versions: Mapping[int, Versions] | None = None

    async def forward(self, request: bytes, principal: str, client_address: str, timeout_ms: int) -> bytes:
        self.seen.append(request)
        key, version = int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big")
        correlation_id = int.from_bytes(request[4:8], "big")
        return b"".join(response_parts(ResponseHeader(correlation_id=correlation_id), response_class(key)(), version))

    async def send(self, request: Message, timeout_ms: int) -> Any:
        raise NotImplementedError


def broker(forwarder: Any) -> Any:
    return session(Services(forwarder=forwarder), ListenerRole.BROKER)


def test_what_kafka_brokers_pass_on_is_passed_on() -> None:
    """Of KafkaApis, but for ACLs, SCRAM credentials and tokens, which our controllers do not decide yet."""
    assert (
        sorted(
            [
                *(ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.ELECT_LEADERS),
                *(ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.ALTER_CLIENT_QUOTAS),
                *(ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS, ApiKey.UPDATE_FEATURES),
                *(ApiKey.UNREGISTER_BROKER, ApiKey.DESCRIBE_QUORUM, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER),
            ]
        )
        == FORWARDED_KEYS
    )


@pytest.mark.parametrize(("key", "version"), PAIRS)
def test_a_request_arrives_as_it_was_sent(key: ApiKey, version: int) -> None:
    forwarder = Echo()
    request = full_request(key, version)
    response = ask(broker(forwarder), request, version)
    accepted = {int(key): Versions(version, version)}
    header, body = parse_request(forwarder.seen[0], accepted)
    assert (header.request_api_key, header.request_api_version) == (key, version)
    assert (header.correlation_id, header.client_id) == (7, "test")
    assert isinstance(body, request_class(key))
    for name in request.field_names():
        assert getattr(body, name) == getattr(request, name)
    assert isinstance(response, response_class(key))


def test_the_controller_decides_and_the_client_is_answered() -> None:
    bench = Bench()
    bench.add_broker(1)
    forwarder = ToController(bench_services(bench))
    create = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=3, replication_factor=1)])
    (topic,) = ask(broker(forwarder), create).topics
    assert (topic.error_code, topic.num_partitions) == (0, 3)
    assert "t" in bench.controller.loader.image.topics.by_name
    assert forwarder.asked[0][1:] == ("User:ANONYMOUS", "127.0.0.1", TIMEOUT_MS)
    (deleted,) = ask(broker(forwarder), DeleteTopicsRequest(topics=[DeleteTopicState(name="t")])).responses
    assert deleted.error_code == 0
    assert not bench.controller.loader.image.topics.by_name


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RequestTimedOut("nobody"), ErrorCode.REQUEST_TIMED_OUT),
        (ApiError("another version", ErrorCode.UNSUPPORTED_VERSION), ErrorCode.UNSUPPORTED_VERSION),
        (ApiError("who?", ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE), ErrorCode.UNKNOWN_SERVER_ERROR),
        (ApiError("no", ErrorCode.CLUSTER_AUTHORIZATION_FAILED), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_request_that_cannot_be_passed_on_has_an_error_in_its_own_form(error: ApiError, code: ErrorCode) -> None:
    forwarder = ToController(Services(), error=error)
    create = CreateTopicsRequest(topics=[CreatableTopic(name="t"), CreatableTopic(name="u")])
    topics = ask(broker(forwarder), create).topics
    assert [(topic.name, topic.error_code) for topic in topics] == [("t", code), ("u", code)]


def told(forwarder: Any, listener: ListenerRole = ListenerRole.BROKER) -> dict[int, tuple[int, int]]:
    asking = session(Services(forwarder=forwarder), listener)
    request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
    return {each.api_key: (each.min_version, each.max_version) for each in ask(asking, request).api_keys}


def test_versions_are_those_that_the_controller_has_too() -> None:
    everything = told(None)
    assert told(ToController(Services())) == everything
    known = {
        **{int(key): Versions(0, 100) for key in FORWARDED_KEYS},
        int(ApiKey.CREATE_TOPICS): Versions(4, 6),
        int(ApiKey.DELETE_TOPICS): Versions(99, 100),
        int(ApiKey.METADATA): Versions(0, 1),
    }
    del known[ApiKey.UPDATE_FEATURES]
    forwarder = ToController(Services(), controller_versions=known)
    common = told(forwarder)
    gone = {ApiKey.DELETE_TOPICS, ApiKey.UPDATE_FEATURES}
    assert set(everything) - set(common) == gone
    changed = {key for key in common if common[key] != everything[key]}
    assert changed == {ApiKey.CREATE_TOPICS}
    assert common[ApiKey.CREATE_TOPICS] == (4, 6)
    assert told(forwarder, ListenerRole.CONTROLLER) == told(None, ListenerRole.CONTROLLER)
