"""Every API that is served asks who may use it, and tells the others what Apache Kafka tells them and no more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from odradek.api.dispatch.context import Services, Session
from odradek.api.dispatch.handler_index import SERVED
from odradek.api.dispatch.registry import Registry
from odradek.api.handlers.produce_quick import quick
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.security.authorizer import ALLOW_ALL, Action, Authorizer
from odradek.security.resources import Operation, ResourceType
from support.builders.api import ToController, ask, bench_services, codes_in, session
from support.builders.controller import Bench, bootstrap_records, topic
from support.builders.replica import Cluster, partition_record
from unit.api.authorization_rows import CLIENT, Refusing, request, row, topic_of

REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED

PAIRS = [(api.key, listener) for listener in ListenerRole for api in SERVED if api.served_on(listener)]
ABOUT_TOPICS = [
    (key, listener) for key, listener in PAIRS if any(asked.endswith(" TOPIC") for asked in row(key, listener, 0).asked)
]


class NoShards:
    """`facades.Coordinator` of nothing, which is only ever asked what it has."""

    async def read_all(self, operation: Any) -> list[Any]:
        return []


class World:
    """A broker and a controller that know these topics, with two partitions each."""

    def __init__(self, authorizer: Authorizer, topics: Iterable[str] = ("a",)) -> None:
        self.bench = Bench()
        self.bench.add_broker(0)
        self.cluster = Cluster()
        self.cluster.replay(*(record.message for record in bootstrap_records()))
        self.topic_ids = {name: self.bench.create(name, [[0], [0]]) for name in topics}
        for name, topic_id in self.topic_ids.items():
            partitions = [partition_record([0], number=number, topic_id=topic_id) for number in range(2)]
            self.cluster.replay(TopicRecord(name=name, topic_id=topic_id), *partitions)
        self._services = {
            ListenerRole.CONTROLLER: bench_services(self.bench, authorizer=authorizer),
            ListenerRole.BROKER: Services(
                replicas=self.cluster.brokers[0].replicas,
                image=lambda: self.cluster.image,
                forwarder=ToController(bench_services(self.bench, authorizer=authorizer)),
                authorizer=authorizer,
                groups=NoShards(),  # type: ignore[arg-type]
                transactions=NoShards(),  # type: ignore[arg-type]
                node_id=0,
            ),
        }

    def session(self, listener: ListenerRole) -> Session:
        return session(self._services[listener], listener)

    def ask(self, listener: ListenerRole, asked: Message, version: int) -> Any:
        return ask(self.session(listener), asked, version, CLIENT)


def versions(key: ApiKey, listener: ListenerRole) -> range:
    accepted = Registry(listener).accepted[key]
    return range(accepted.first, accepted.last + 1)


def parts(response: Message, topic_ids: dict[str, bytes]) -> dict[str, list[Message]]:
    """Of each topic: the elements of the answer that are about it."""
    found: dict[str, list[Message]] = {name: [] for name in topic_ids}
    for name in response.field_names():
        value = getattr(response, name)
        for element in value if isinstance(value, list) else ():
            about = topic_of(element, topic_ids) if isinstance(element, Message) else None
            if about is not None:
                found[about].append(element)
    return found


@pytest.mark.parametrize(("key", "listener"), PAIRS)
def test_who_may_do_nothing_is_refused_as_by_kafka(key: ApiKey, listener: ListenerRole) -> None:
    for version in versions(key, listener):
        expected = row(key, listener, version)
        world = World(authorizer := Refusing())
        before = world.bench.controller.next_write_offset
        response = world.ask(listener, request(key, version, world.topic_ids), version)
        assert authorizer.questions == expected.asked, f"v{version}"
        codes = {expected.code} if expected.code is not None and version >= expected.silent_before else set()
        assert set(codes_in(response)) - {0} == codes, f"v{version}"
        assert world.bench.controller.next_write_offset == before, "something was changed"


@pytest.mark.parametrize(("key", "listener"), ABOUT_TOPICS)
def test_who_may_do_nothing_on_one_topic_is_refused_only_that(key: ApiKey, listener: ListenerRole) -> None:
    for version in versions(key, listener):
        world, free = World(Refusing(topics=["b"]), ["a", "b"]), World(ALLOW_ALL, ["a", "b"])
        refused = parts(world.ask(listener, request(key, version, world.topic_ids), version), world.topic_ids)
        usual = parts(free.ask(listener, request(key, version, free.topic_ids), version), free.topic_ids)
        assert refused["a"] == usual["a"] != [], f"v{version}"
        assert {code for part in refused["b"] for code in codes_in(part)} - {0} == {REFUSED}, f"v{version}"
        assert REFUSED not in {code for part in usual["b"] for code in codes_in(part)}


@pytest.mark.parametrize(("key", "listener"), ABOUT_TOPICS)
def test_a_refusal_does_not_tell_whether_the_topic_is_there(key: ApiKey, listener: ListenerRole) -> None:
    there, missing = World(Refusing(topics=["b"]), ["a", "b"]), World(Refusing(topics=["b"]), ["a"])
    for version in versions(key, listener):
        asked = request(key, version, there.topic_ids)
        if not _is_by_name(asked):
            continue
        answers = [world.ask(listener, asked, version) for world in (there, missing)]
        first, second = (parts(answer, there.topic_ids)["b"] for answer in answers)
        assert first == second != [], f"v{version}"


def _is_by_name(asked: Message) -> bool:
    """Ids are no secret: who knows one is told that it is not allowed."""
    ids = [getattr(element, "topic_id", None) for name in asked.field_names() for element in _list(asked, name)]
    return not any(topic_id is not None and any(topic_id) for topic_id in ids)


def _list(message: Message, name: str) -> list[Any]:
    value = getattr(message, name)
    return value if isinstance(value, list) else []


# What is particular to one API.


class Creator:
    def __init__(self) -> None:
        self.made: list[str] = []

    def create(self, names: Iterable[str], principal: str, client_address: str) -> None:
        self.made += names


@dataclass
class Allowing:
    """`CLIENT` may do this and nothing else: operations by the name of a resource."""

    actions: Mapping[str, tuple[Operation, ...]]

    def authorize(self, principal: str, host: str, actions: Iterable[Action]) -> list[bool]:
        return [operation in self.actions.get(resource.name, ()) for operation, resource in actions]

    def authorize_by_resource_type(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        return any(operation in operations for operations in self.actions.values())


def names(*wanted: str, **fields: Any) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in wanted], **fields)


def test_all_topics_are_those_that_may_be_seen() -> None:
    world = World(Refusing(topics=["b"]), ["a", "b", "c"])
    everything = world.ask(ListenerRole.BROKER, MetadataRequest(topics=None), 13)
    assert [topic.name for topic in everything.topics] == ["a", "c"]
    described = world.ask(ListenerRole.BROKER, DescribeTopicPartitionsRequest(response_partition_limit=100), 0)
    assert [topic.name for topic in described.topics] == ["a", "c"]


def test_only_who_may_create_a_topic_has_it_made() -> None:
    may = dict.fromkeys(("a", "x", "y"), (Operation.DESCRIBE,)) | {"x": (Operation.DESCRIBE, Operation.CREATE)}
    world, creator = World(Allowing(may)), Creator()
    world.session(ListenerRole.BROKER).services.topic_creator = creator
    response = world.ask(ListenerRole.BROKER, names("a", "x", "y", "z", allow_auto_topic_creation=True), 13)
    codes = {topic.name: topic.error_code for topic in response.topics}
    assert codes == {"a": 0, "x": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "y": REFUSED, "z": REFUSED}
    assert creator.made == ["x"]


def test_operations_are_those_that_are_allowed() -> None:
    world = World(Allowing({"a": (Operation.DESCRIBE, Operation.READ)}), ["a", "b"])
    response = world.ask(ListenerRole.BROKER, names("a", "b", include_topic_authorized_operations=True), 13)
    told = {topic.name: topic.topic_authorized_operations for topic in response.topics}
    assert told == {"a": 1 << 8 | 1 << 3, "b": -(2**31)}
    cluster = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert world.ask(ListenerRole.BROKER, cluster, 2).cluster_authorized_operations == 0


def test_a_producer_needs_any_topic_to_write_to_or_the_cluster() -> None:
    asked = InitProducerIdRequest(transactional_id=None)
    world = World(Allowing({}))
    assert world.ask(ListenerRole.BROKER, asked, 5).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    async def next_id() -> int:
        return 7

    for may in ({"some": (Operation.WRITE,)}, {"kafka-cluster": (Operation.IDEMPOTENT_WRITE,)}):
        world = World(Allowing(may))
        world.session(ListenerRole.BROKER).services.new_producer_id = next_id
        assert world.ask(ListenerRole.BROKER, asked, 5).producer_id == 7


def test_a_follower_needs_the_cluster() -> None:
    for may, code in (("a", REFUSED), ("kafka-cluster", ErrorCode.UNKNOWN_LEADER_EPOCH)):
        world = World(Allowing({may: (Operation.READ, Operation.CLUSTER_ACTION)}))
        asked = request(ApiKey.FETCH, 12, world.topic_ids)
        asked.replica_id = 3
        assert set(codes_in(world.ask(ListenerRole.BROKER, asked, 12))) - {0} == {code}


def test_a_new_topic_is_described_to_those_who_may_see_its_settings() -> None:
    create = CreateTopicsRequest(topics=[topic("x"), topic("y")])
    may = {"x": (Operation.CREATE,), "y": (Operation.CREATE, Operation.DESCRIBE_CONFIGS)}
    hidden, shown = World(Allowing(may)).ask(ListenerRole.CONTROLLER, create, 7).topics
    assert (hidden.error_code, hidden.topic_config_error_code, hidden.num_partitions) == (0, REFUSED, -1)
    assert (hidden.replication_factor, hidden.configs) == (-1, [])
    assert (shown.error_code, shown.topic_config_error_code, shown.num_partitions) == (0, 0, 1)
    assert shown.configs


@pytest.mark.parametrize(("may_see", "shown"), [(True, "a"), (False, None)])
def test_an_id_is_not_given_its_name_by_a_refusal(may_see: bool, shown: str | None) -> None:
    world = World(Allowing({"a": (Operation.DESCRIBE,)} if may_see else {}))
    delete = DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=world.topic_ids["a"])])
    (result,) = world.ask(ListenerRole.CONTROLLER, delete, 6).responses
    assert (result.name, result.topic_id, result.error_code) == (shown, world.topic_ids["a"], REFUSED)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ConfigResourceType.TOPIC, REFUSED),
        (ConfigResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (ConfigResourceType.BROKER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (ConfigResourceType.CLIENT_METRICS, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
@pytest.mark.parametrize("key", [ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS])
def test_settings_of_each_kind_are_refused_by_their_own_code(key: ApiKey, kind: int, code: ErrorCode) -> None:
    world = World(Allowing({}))
    asked = request(key, 1, world.topic_ids)
    asked.resources[0].resource_type = kind
    assert set(codes_in(world.ask(ListenerRole.CONTROLLER, asked, 1))) == {code}


def test_the_short_way_to_produce_is_for_nodes_without_an_authoriser() -> None:
    world = World(Refusing())
    assert quick(world.session(ListenerRole.BROKER), bytearray(b"never looked at")) is None
