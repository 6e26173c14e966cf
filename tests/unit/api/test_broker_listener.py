"""What clients learn of the cluster on a broker's listener, in every version, from the image of a real controller."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from odradek.api.dispatch.context import Services, Session
from odradek.protocol.api_keys import APIS, ApiKey
from odradek.protocol.api_keys import ListenerRole as Kind
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from odradek.protocol.messages.broker_registration_request import Listener
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from support.builders.api import ask, bench_services, session
from support.builders.controller import CLUSTER_ID, Bench

VERSIONS = range(APIS[ApiKey.METADATA].versions.last + 1)
#: Kafka's numbers of operations, as bits.
ALL_ON_CLUSTER, ALL_ON_TOPIC = 0b1_1111_1010_0000, 0b1101_1111_1000
#: Of a field that was not asked for.
NOT_SAID = -(2**31)


@dataclass
class Creator:
    asked: list[tuple[list[str], str, str]] = field(default_factory=list)

    def create(self, names: Iterable[str], principal: str, client_address: str) -> None:
        self.asked.append((list(names), principal, client_address))


def listeners(broker_id: int, *names: str) -> list[Listener]:
    return [
        Listener(name=name, host=f"{name.lower()}{broker_id}", port=9092 + at, security_protocol=0)
        for at, name in enumerate(names)
    ]


def cluster() -> Bench:
    """Brokers 1 to 3; 3 has only a listener that clients of PLAINTEXT cannot see."""
    bench = Bench()
    for broker_id in (1, 2):
        bench.add_broker(broker_id, rack=f"r{broker_id}", listeners=listeners(broker_id, "PLAINTEXT", "OTHER"))
    bench.add_broker(3, listeners=listeners(3, "OTHER"))
    return bench


def asking(bench: Bench, listener_name: str = "PLAINTEXT", **services: Any) -> Session:
    made: Services = bench_services(bench, **services)
    return replace(session(made, Kind.BROKER), listener_name=listener_name)


def names(*wanted: str, **fields: Any) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in wanted], **fields)


def fence(bench: Bench, broker_id: int) -> None:
    bench.ask(bench.beat(broker_id, want_fence=True))


# Metadata


@pytest.mark.parametrize("version", VERSIONS)
def test_brokers_are_told_where_they_are_on_the_same_listener(version: int) -> None:
    response = ask(asking(cluster()), names("none"), version)
    told = [(broker.node_id, broker.host, broker.port) for broker in response.brokers]
    assert told == [(1, "plaintext1", 9092), (2, "plaintext2", 9092)]
    assert [broker.rack for broker in response.brokers] == (["r1", "r2"] if version >= 1 else [None, None])
    assert response.controller_id == (1 if version >= 1 else -1)
    assert response.cluster_id == (CLUSTER_ID if version >= 2 else None)
    others = ask(asking(cluster(), "OTHER"), names("none"), version).brokers
    assert [(broker.node_id, broker.host, broker.port) for broker in others] == [
        (1, "other1", 9093),
        (2, "other2", 9093),
        (3, "other3", 9092),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_that_finds_nobody_alive_names_itself(version: int) -> None:
    """librdkafka forgets those that are not named, and never asks again once it has forgotten all."""
    bench = cluster()
    for broker_id in (1, 2, 3):
        fence(bench, broker_id)
    (told,) = ask(asking(bench), names("none"), version).brokers
    assert (told.node_id, told.host, told.port) == (1, "plaintext1", 9092)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_told_with_its_partitions(version: int) -> None:
    bench = cluster()
    topic_id = bench.create("t", [[1, 2], [2, 1]])
    (topic,) = ask(asking(bench), names("t"), version).topics
    assert (topic.error_code, topic.name) == (0, "t")
    assert topic.topic_id == (topic_id if version >= 10 else bytes(16))
    found = [(one.partition_index, one.leader_id, one.replica_nodes, one.isr_nodes) for one in topic.partitions]
    assert found == [(0, 1, [1, 2], [1, 2]), (1, 2, [2, 1], [2, 1])]
    assert {one.error_code for one in topic.partitions} == {0}
    assert {one.leader_epoch for one in topic.partitions} == ({0} if version >= 7 else {-1})


@pytest.mark.parametrize("version", VERSIONS)
def test_all_topics(version: int) -> None:
    bench = cluster()
    for name in ("b", "a", "__consumer_offsets"):
        bench.create(name, [[1]])
    everything = MetadataRequest(topics=[] if version == 0 else None)
    topics = ask(asking(bench), everything, version).topics
    assert [topic.name for topic in topics] == ["__consumer_offsets", "a", "b"]
    assert [topic.is_internal for topic in topics] == [version >= 1, False, False]


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_no_topics_since_version_1(version: int) -> None:
    bench = cluster()
    bench.create("a", [[1]])
    assert ask(asking(bench), names(), version).topics == []


@pytest.mark.parametrize("version", VERSIONS)
def test_missing_topics_have_their_error_and_are_made(version: int) -> None:
    bench, creator = cluster(), Creator()
    topics = ask(asking(bench, topic_creator=creator), names("a", "no good", "a", "b"), version).topics
    assert [(topic.name, topic.error_code) for topic in topics] == [
        ("a", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("no good", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert creator.asked == [(["a", "b"], "User:ANONYMOUS", "127.0.0.1")]


def test_missing_topics_are_not_made_where_the_client_or_the_node_does_not_want_it() -> None:
    bench, creator = cluster(), Creator()
    ask(asking(bench, topic_creator=creator), names("a", allow_auto_topic_creation=False))
    assert creator.asked == []
    assert ask(asking(bench), names("a")).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_topics_by_id() -> None:
    bench, creator = cluster(), Creator()
    topic_id = bench.create("t", [[1]])
    wanted = [MetadataRequestTopic(topic_id=each, name=None) for each in (topic_id, b"?" * 16)]
    known, unknown = ask(asking(bench, topic_creator=creator), MetadataRequest(topics=wanted)).topics
    assert (known.name, known.error_code, len(known.partitions)) == ("t", 0, 1)
    assert (unknown.name, unknown.topic_id, unknown.error_code) == (None, b"?" * 16, ErrorCode.UNKNOWN_TOPIC_ID)
    assert creator.asked == []


@pytest.mark.parametrize("version", [10, 11])
def test_ids_before_they_were_allowed(version: int) -> None:
    for topic in (MetadataRequestTopic(topic_id=b"?" * 16, name="t"), MetadataRequestTopic(name=None)):
        (answered,) = ask(asking(cluster()), MetadataRequest(topics=[topic]), version).topics
        assert answered.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", VERSIONS)
def test_a_leader_that_this_listener_does_not_reach(version: int) -> None:
    bench = cluster()
    bench.create("t", [[3, 1]])
    (partition,) = ask(asking(bench), names("t"), version).topics[0].partitions
    assert partition.error_code == (ErrorCode.LISTENER_NOT_FOUND if version >= 6 else ErrorCode.LEADER_NOT_AVAILABLE)
    assert partition.leader_id == -1
    assert partition.replica_nodes == ([3, 1] if version else [1])
    assert partition.offline_replicas == ([3] if version >= 5 else [])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partition_without_a_leader(version: int) -> None:
    bench = cluster()
    bench.create("t", [[2]])
    fence(bench, 2)
    response = ask(asking(bench), names("t"), version)
    (partition,) = response.topics[0].partitions
    assert [broker.node_id for broker in response.brokers] == [1]
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert partition.replica_nodes == ([2] if version else [])
    assert partition.offline_replicas == ([2] if version >= 5 else [])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_replica_that_is_away(version: int) -> None:
    bench = cluster()
    bench.create("t", [[1, 2]])
    fence(bench, 2)
    (partition,) = ask(asking(bench), names("t"), version).topics[0].partitions
    assert partition.leader_id == 1
    assert partition.error_code == (ErrorCode.REPLICA_NOT_AVAILABLE if version == 0 else 0)
    assert partition.replica_nodes == ([1, 2] if version else [1])
    assert partition.isr_nodes == [1]


def test_a_replica_in_a_lost_directory_is_offline() -> None:
    bench = cluster()
    lost, kept = b"d" * 16, b"e" * 16
    epoch = bench.add_broker(4, listeners=listeners(4, "PLAINTEXT"), log_dirs=[lost, kept])
    topic_id = bench.create("t", [[1, 4]])
    placed = TopicData(topic_id=topic_id, partitions=[PartitionData(partition_index=0)])
    directory = DirectoryData(id=lost, topics=[placed])
    bench.ask(AssignReplicasToDirsRequest(broker_id=4, broker_epoch=epoch, directories=[directory]))
    (partition,) = ask(asking(bench), names("t")).topics[0].partitions
    assert partition.offline_replicas == []
    bench.ask(bench.beat(4, offline_log_dirs=[lost]))
    response = ask(asking(bench), names("t"))
    (partition,) = response.topics[0].partitions
    assert 4 in [broker.node_id for broker in response.brokers]
    assert partition.offline_replicas == [4]


def test_who_takes_changes_is_a_live_broker() -> None:
    bench = cluster()
    assert ask(asking(bench), names()).controller_id == 1
    fence(bench, 1)
    assert ask(asking(bench), names()).controller_id == 2
    for broker_id in (2, 3):
        fence(bench, broker_id)
    assert ask(asking(bench), names()).controller_id == -1


@pytest.mark.parametrize("version", VERSIONS)
def test_operations_are_told_to_those_who_ask(version: int) -> None:
    bench = cluster()
    bench.create("t", [[1]])
    silent = ask(asking(bench), names("t"), version)
    assert silent.topics[0].topic_authorized_operations == NOT_SAID
    assert silent.cluster_authorized_operations == NOT_SAID
    if version < 8:
        return
    cluster_too = {"include_cluster_authorized_operations": True} if version <= 10 else {}
    told = ask(asking(bench), names("t", include_topic_authorized_operations=True, **cluster_too), version)
    assert told.topics[0].topic_authorized_operations == ALL_ON_TOPIC
    assert told.cluster_authorized_operations == (ALL_ON_CLUSTER if version <= 10 else NOT_SAID)


# DescribeCluster


@pytest.mark.parametrize("version", range(3))
def test_the_brokers_of_the_cluster(version: int) -> None:
    bench = cluster()
    fence(bench, 2)
    response = ask(asking(bench), DescribeClusterRequest(), version)
    assert (response.cluster_id, response.controller_id, response.error_code) == (CLUSTER_ID, 1, 0)
    assert [(one.broker_id, one.host, one.rack) for one in response.brokers] == [(1, "plaintext1", "r1")]
    assert response.cluster_authorized_operations == NOT_SAID
    told = ask(asking(bench), DescribeClusterRequest(include_cluster_authorized_operations=True), version)
    assert told.cluster_authorized_operations == ALL_ON_CLUSTER


def test_fenced_brokers_are_told_to_those_who_ask() -> None:
    bench = cluster()
    fence(bench, 2)
    response = ask(asking(bench), DescribeClusterRequest(include_fenced_brokers=True))
    assert [(one.broker_id, one.is_fenced) for one in response.brokers] == [(1, False), (2, True)]


def test_a_client_that_wants_controllers_is_told_that_it_asks_a_broker() -> None:
    response = ask(asking(cluster()), DescribeClusterRequest(endpoint_type=2))
    assert response.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


# DescribeTopicPartitions


def pages(asked: Session, limit: int, *wanted: str) -> list[list[tuple[str, int]]]:
    """Topic and partition, page by page; -1 for a topic in error."""
    found: list[list[tuple[str, int]]] = []
    cursor = None
    while cursor is not None or not found:
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in wanted], response_partition_limit=limit, cursor=cursor
        )
        response = ask(asked, request)
        found.append([])
        for topic in response.topics:
            found[-1] += [(topic.name, one.partition_index) for one in topic.partitions]
            found[-1] += [(topic.name, -1)] if topic.error_code else []
        following = response.next_cursor
        cursor = following and Cursor(topic_name=following.topic_name, partition_index=following.partition_index)
    return found


def test_partitions_come_page_by_page() -> None:
    bench = cluster()
    bench.create("b", [[1], [1], [1]])
    bench.create("a", [[1], [1]])
    asked = asking(bench)
    assert pages(asked, 100) == [[("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2)]]
    assert pages(asked, 2) == [[("a", 0), ("a", 1)], [("b", 0), ("b", 1)], [("b", 2)]]
    assert pages(asked, 3) == [[("a", 0), ("a", 1), ("b", 0)], [("b", 1), ("b", 2)]]
    assert pages(asked, 0) == [[("a", 0)], [("a", 1)], [("b", 0)], [("b", 1)], [("b", 2)]]
    limited = asking(bench, static_configs={"max.request.partition.size.limit": "4"})
    assert pages(limited, 100) == [[("a", 0), ("a", 1), ("b", 0), ("b", 1)], [("b", 2)]]


def test_missing_topics_have_their_place_among_the_others() -> None:
    bench = cluster()
    bench.create("b", [[1]])
    assert pages(asking(bench), 1, "c", "b", "a", "b") == [[("a", -1), ("b", 0)], [("c", -1)]]


def test_partitions_are_told_with_all_that_is_known() -> None:
    bench = cluster()
    topic_id = bench.create("t", [[1, 2, 3]], configs={"min.insync.replicas": "3"})
    fence(bench, 2)
    response = ask(asking(bench), DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t")]))
    (topic,) = response.topics
    (partition,) = topic.partitions
    assert (topic.topic_id, topic.topic_authorized_operations) == (topic_id, ALL_ON_TOPIC)
    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, [1, 2, 3], [1, 3])
    assert partition.eligible_leader_replicas == [2]
    assert partition.offline_replicas == [2, 3]


@pytest.mark.parametrize(
    "cursor", [Cursor(topic_name="zz", partition_index=0), Cursor(topic_name="t", partition_index=-1)]
)
def test_a_cursor_that_cannot_be_is_refused(cursor: Cursor) -> None:
    bench = cluster()
    bench.create("t", [[1]])
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t")], cursor=cursor)
    (topic,) = ask(asking(bench), request).topics
    assert (topic.name, topic.error_code) == ("t", ErrorCode.INVALID_REQUEST)


def test_a_cursor_beyond_the_end_goes_on_with_the_next_topic() -> None:
    bench = cluster()
    bench.create("a", [[1]])
    bench.create("b", [[1]])
    response = ask(asking(bench), DescribeTopicPartitionsRequest(cursor=Cursor(topic_name="a", partition_index=7)))
    assert [(topic.name, len(topic.partitions)) for topic in response.topics] == [("a", 0), ("b", 1)]


def test_a_broker_that_is_gone_leaves_its_replicas_behind() -> None:
    bench = cluster()
    bench.create("t", [[2, 1]])
    bench.ask(UnregisterBrokerRequest(broker_id=2))
    (partition,) = ask(asking(bench), names("t")).topics[0].partitions
    assert (partition.leader_id, partition.offline_replicas) == (1, [2])
