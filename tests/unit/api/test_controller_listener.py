"""The controller's listener: what it serves, what it passes on to whom, and what it does with any request at all."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.api.dispatch.registry import Registry
from odradek.common.failures import ApiError
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.protocol.api_keys import APIS, ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.create_partitions_request import CreatePartitionsRequest
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from odradek.protocol.messages.vote_response import VoteResponse
from odradek.protocol.registry import request_class, response_class
from support.builders.api import BenchController, SpokenQuorum, ask, bench_services, codes_in, full_request, session
from support.builders.controller import CLUSTER_ID, Bench, registration, topic
from support.builders.protocol import messages

CONTROLLER = Registry(ListenerRole.CONTROLLER)

RAFT = (
    *(ApiKey.FETCH, ApiKey.VOTE, ApiKey.BEGIN_QUORUM_EPOCH, ApiKey.END_QUORUM_EPOCH, ApiKey.DESCRIBE_QUORUM),
    *(ApiKey.FETCH_SNAPSHOT, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER, ApiKey.UPDATE_RAFT_VOTER),
)

#: What Kafka's controllers have and ours do not: SASL, ACLs, delegation tokens and SCRAM credentials.
NOT_YET = (
    *(ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE),
    *(ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS),
    *(ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN),
    *(ApiKey.DESCRIBE_DELEGATION_TOKEN, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
)

DECIDED = tuple(
    ApiKey(key)
    for key in CONTROLLER.accepted
    if key not in (*RAFT, ApiKey.API_VERSIONS, ApiKey.ENVELOPE, ApiKey.DESCRIBE_CLUSTER, ApiKey.DESCRIBE_CONFIGS)
)


def test_kafkas_versions_of_kafkas_apis() -> None:
    kafkas = {int(api.key): api.controller for api in APIS.values() if api.controller is not None}
    assert CONTROLLER.advertised == {key: versions for key, versions in kafkas.items() if key not in NOT_YET}


@pytest.mark.parametrize("key", RAFT, ids=lambda key: key.name)
def test_raft_is_asked_with_version_and_listener(key: ApiKey) -> None:
    versions = CONTROLLER.accepted[key]
    for version in range(versions.first, versions.last + 1):
        quorum = SpokenQuorum(response_class(key)())
        request = full_request(key, version)
        ask(session(bench_services(Bench(), quorum)), request, version)
        ((_, asked_version, listener),) = quorum.asked
        assert (asked_version, listener) == (version, "CONTROLLER")


def test_what_raft_refuses_is_answered() -> None:
    quorum = SpokenQuorum(ApiError("the node stops", ErrorCode.BROKER_NOT_AVAILABLE))
    response = ask(session(bench_services(Bench(), quorum)), full_request(ApiKey.VOTE, 2))
    assert response == VoteResponse(error_code=ErrorCode.BROKER_NOT_AVAILABLE)


@pytest.mark.parametrize("key", DECIDED, ids=lambda key: key.name)
def test_a_controller_that_is_not_active_says_so_in_every_version(key: ApiKey) -> None:
    bench = Bench()
    bench.controller.leader_changed(LeaderAndEpoch(2, 2), 100)
    versions = CONTROLLER.accepted[key]
    for version in range(versions.first, versions.last + 1):
        response = ask(session(bench_services(bench)), full_request(key, version), version)
        assert set(codes_in(response)) - {0} == {ErrorCode.NOT_CONTROLLER}


@pytest.mark.parametrize(
    "request_",
    [
        CreateTopicsRequest(timeout_ms=700),
        DeleteTopicsRequest(timeout_ms=700),
        CreatePartitionsRequest(timeout_ms=700),
        ElectLeadersRequest(timeout_ms=700, topic_partitions=[]),
        AlterPartitionReassignmentsRequest(timeout_ms=700),
    ],
    ids=lambda request: type(request).__name__,
)
def test_time_outs_of_requests_become_deadlines(request_: Message) -> None:
    bench = Bench()
    services = bench_services(bench)
    ask(session(services), request_)
    assert isinstance(services.controller, BenchController)
    assert [deadline_ms for _, deadline_ms in services.controller.asked] == [bench.clock.now_ms + 700]


@pytest.mark.parametrize(("version", "code"), [(1, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)])
def test_deletion_may_be_forbidden(version: int, code: ErrorCode) -> None:
    bench = Bench()
    bench.add_broker(1)
    bench.create("a")
    services = bench_services(bench, static_configs={"delete.topic.enable": "False"})
    response = ask(session(services), DeleteTopicsRequest(topic_names=["a"]), version)
    assert [(r.name, r.error_code) for r in response.responses] == [("a", code)]
    assert bench.controller.controls.registry.topics


def test_from_registration_to_a_topic_over_the_wire() -> None:
    bench = Bench()
    asking = session(bench_services(bench))
    epoch = ask(asking, registration(1)).broker_epoch
    beat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=epoch)
    assert ask(asking, beat).is_fenced is False
    created = ask(asking, CreateTopicsRequest(topics=[topic("a", num_partitions=3)])).topics[0]
    assert (created.error_code, created.num_partitions, created.replication_factor) == (0, 3, 1)
    assert ask(asking, UnregisterBrokerRequest(broker_id=1)).error_code == 0
    assert ask(asking, UnregisterBrokerRequest(broker_id=1)).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


@st.composite
def requests(draw: Any) -> tuple[Message, int]:
    key = draw(st.sampled_from(DECIDED))
    version = draw(st.integers(*CONTROLLER.accepted[key]))
    return draw(messages(request_class(key), version)), version


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(requests(), st.integers(0, 1000))
def test_any_request_has_an_answer(asked: tuple[Message, int], seed: int) -> None:
    """Whatever it holds: a response that this version can write, and never a failure of ours."""
    request, version = asked
    bench = Bench()
    bench.add_broker(1)
    asking = session(bench_services(bench))
    topic_id = bench.create("a")
    ask(asking, request, version)
    near(request, topic_id, Random(seed))
    ask(asking, request, version)


def near(message: Message, topic_id: bytes, random: Random) -> None:
    """About what there is: the broker, its epoch, the topic, small numbers. Fields that say nothing stay: the version
    may not have them."""
    silent = type(message)()
    for name in message.field_names()[:-1]:
        value = getattr(message, name)
        if value == getattr(silent, name) or name == "port":
            continue
        if isinstance(value, list):
            value = [near_value(one, topic_id, random) for one in value]
        elif name == "cluster_id":
            value = CLUSTER_ID
        setattr(message, name, near_value(value, topic_id, random))


def near_value(value: Any, topic_id: bytes, random: Random) -> Any:
    if isinstance(value, Message):
        near(value, topic_id, random)
    if isinstance(value, str):
        return random.choice(["a", "1", "user", "retention.ms", "metadata.version"])
    if isinstance(value, bytes) and len(value) == len(topic_id):
        return topic_id
    if isinstance(value, int) and not isinstance(value, bool):
        return random.choice([-1, 0, 1, 2, 9])
    return value
