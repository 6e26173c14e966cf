"""Admin operations on a cluster whose leaders move, whose nodes are unavailable, or whose responses come in parts.

Responses of real nodes, of Odradek and of Apache Kafka, are tested in tests/system/test_cli_admin.py.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.configs import ConfigChange, ConfigResource
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.partitions import OffsetAndTimestamp
from odradek.client.admin.topics import NewTopic, TopicDescription
from odradek.client.net.channel import ChannelConfig
from odradek.client.net.config import ClientConfig
from odradek.client.types import TopicPartition
from odradek.common.addresses import HostPort
from odradek.common.list_offsets_timestamps import LATEST
from odradek.errors import Refused, Unreachable
from odradek.protocol import api_keys
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.config_types import ConfigOp, ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from odradek.protocol.messages.delete_records_request import DeleteRecordsRequest
from odradek.protocol.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from odradek.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from odradek.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from odradek.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from odradek.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from odradek.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from odradek.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.list_offsets_request import ListOffsetsRequest
from odradek.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from odradek.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from support.fakes.quorum import CLUSTER_ID, FakeQuorum, running
from support.processes.ports import free_ports

PATIENT_MS = 60_000
ORDERS = TopicPartition("orders", 0)


class Brokers(FakeQuorum):
    """Brokers with a topic `orders`, whose partitions have the given leaders."""

    listener = api_keys.ListenerRole.BROKER

    def __init__(self, leaders: list[int] | None = None) -> None:
        super().__init__()
        self.leaders = [1] if leaders is None else leaders
        self.handlers[ApiKey.METADATA] = self._metadata
        self.handlers[ApiKey.DESCRIBE_CLUSTER] = self._brokers

    def _brokers(self, _: int, request: DescribeClusterRequest) -> DescribeClusterResponse:
        nodes = [DescribeClusterBroker(broker_id=each, host=a.host, port=a.port) for each, a in self.registered.items()]
        return DescribeClusterResponse(cluster_id=CLUSTER_ID, controller_id=1, brokers=nodes)

    def _metadata(self, _: int, request: MetadataRequest) -> MetadataResponse:
        partitions = [
            MetadataResponsePartition(partition_index=index, leader_id=leader)
            for index, leader in enumerate(self.leaders)
        ]
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=each, host=a.host, port=a.port) for each, a in self.registered.items()
            ],
            topics=[
                MetadataResponseTopic(name="orders", partitions=partitions)
                if topic.name == "orders"
                else MetadataResponseTopic(name=topic.name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                for topic in request.topics or ()
            ],
        )


def run_on(
    brokers: Brokers,
    work: Callable[[AdminOperations], Awaitable[Any]],
    count: int = 1,
    api_timeout_ms: int = PATIENT_MS,
) -> Any:
    async def main() -> Any:
        channel = ChannelConfig(reconnect_backoff_ms=1, reconnect_backoff_max_ms=10)
        config = ClientConfig(channel, api_timeout_ms=api_timeout_ms)
        async with running(brokers, count), ClusterRouter([brokers.addresses[1]], config) as router:
            return await work(AdminOperations(router))

    return asyncio.run(main())


def test_a_change_is_sent_again_if_the_node_is_not_the_active_controller() -> None:
    brokers = Brokers()

    def create(_: int, request: CreateTopicsRequest) -> CreateTopicsResponse:
        first = len(brokers.asked_for(CreateTopicsRequest)) == 1
        code = ErrorCode.NOT_CONTROLLER if first else ErrorCode.NONE
        return CreateTopicsResponse(topics=[CreatableTopicResult(name="orders", error_code=code, num_partitions=4)])

    brokers.handlers[ApiKey.CREATE_TOPICS] = create
    outcomes = run_on(brokers, lambda admin: admin.topics.create([NewTopic("orders")]))
    assert outcomes["orders"].partitions == 4
    assert len(brokers.asked_for(CreateTopicsRequest)) == 2


def test_outcomes_are_in_the_order_of_the_request() -> None:
    brokers = Brokers()
    brokers.handlers[ApiKey.CREATE_TOPICS] = lambda _, request: CreateTopicsResponse(
        topics=[CreatableTopicResult(name=topic.name) for topic in reversed(request.topics)]
    )
    outcomes = run_on(brokers, lambda admin: admin.topics.create([NewTopic(name) for name in "bac"]))
    assert list(outcomes) == ["b", "a", "c"]


def test_a_change_is_not_sent_again_after_a_broken_connection() -> None:
    brokers = Brokers()

    def unregister(node_id: int, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
        brokers.break_connections(node_id)
        return UnregisterBrokerResponse()

    brokers.handlers[ApiKey.UNREGISTER_BROKER] = unregister
    with pytest.raises(Unreachable):
        run_on(brokers, lambda admin: admin.cluster.unregister_broker(3))
    assert len(brokers.asked_for(UnregisterBrokerRequest)) == 1


def offsets_of(request: ListOffsetsRequest, code: int, offset: int) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=each.partition_index, error_code=code, offset=offset, leader_epoch=2
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def test_requests_go_to_the_leader_of_each_partition_and_follow_it() -> None:
    brokers = Brokers(leaders=[1, 2, 2])

    def list_offsets(node_id: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        if node_id == 2:
            brokers.leaders = [1, 3, 3]
            return offsets_of(request, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        return offsets_of(request, ErrorCode.NONE, 100 * node_id)

    brokers.handlers[ApiKey.LIST_OFFSETS] = list_offsets
    timestamps = {TopicPartition("orders", index): LATEST for index in range(3)}
    outcomes = run_on(brokers, lambda admin: admin.partitions.list_offsets(timestamps), 3)
    assert [outcomes[partition].offset for partition in timestamps] == [100, 300, 300]
    assert brokers.asked_for(ListOffsetsRequest) == [1, 2, 3], "partitions with the same leader share a request"


def test_each_partition_has_its_own_error() -> None:
    brokers = Brokers()
    brokers.handlers[ApiKey.LIST_OFFSETS] = lambda _, request: offsets_of(request, ErrorCode.NONE, 7)
    timestamps = dict.fromkeys([ORDERS, TopicPartition("orders", 5), TopicPartition("nowhere", 0)], LATEST)
    outcomes = run_on(brokers, lambda admin: admin.partitions.list_offsets(timestamps))
    assert outcomes[ORDERS] == OffsetAndTimestamp(7, None, 2)
    for partition in list(timestamps)[1:]:
        assert outcomes[partition].code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(brokers.asked_for(MetadataRequest)) == 1, "an unknown partition is not retried"


def test_a_partition_without_a_leader_fails_after_the_api_timeout() -> None:
    outcomes = run_on(
        Brokers(leaders=[-1]), lambda admin: admin.partitions.list_offsets({ORDERS: LATEST}), api_timeout_ms=1
    )
    assert outcomes[ORDERS].code == ErrorCode.LEADER_NOT_AVAILABLE


def test_an_unreachable_leader_is_looked_up_again() -> None:
    brokers = Brokers(leaders=[9])

    def metadata(node_id: int, request: MetadataRequest) -> MetadataResponse:
        first = len(brokers.asked_for(MetadataRequest)) == 1
        brokers.leaders = [9 if first else 1]
        return brokers._metadata(node_id, request)

    def delete(_: int, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
        result = DeleteRecordsPartitionResult(partition_index=0, low_watermark=request.topics[0].partitions[0].offset)
        return DeleteRecordsResponse(topics=[DeleteRecordsTopicResult(name="orders", partitions=[result])])

    brokers.handlers |= {ApiKey.METADATA: metadata, ApiKey.DELETE_RECORDS: delete}

    async def work(admin: AdminOperations) -> Any:
        brokers.registered = {**brokers.addresses, 9: HostPort("127.0.0.1", free_ports(1)[0])}
        return await admin.partitions.delete_records({ORDERS: 12})

    assert run_on(brokers, work) == {ORDERS: 12}


def test_a_description_in_several_responses_is_merged() -> None:
    """A broker may end a response within a topic."""
    pages = [
        ("a", [0, 1], Cursor(topic_name="a", partition_index=2)),
        ("a", [2], Cursor(topic_name="b")),
        ("b", [0], None),
    ]
    brokers = Brokers()

    def describe(_: int, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
        name, indexes, cursor = pages[len(brokers.asked_for(DescribeTopicPartitionsRequest)) - 1]
        partitions = [DescribeTopicPartitionsResponsePartition(partition_index=index) for index in indexes]
        topic = DescribeTopicPartitionsResponseTopic(name=name, partitions=partitions)
        return DescribeTopicPartitionsResponse(topics=[topic], next_cursor=cursor)

    brokers.handlers[ApiKey.DESCRIBE_TOPIC_PARTITIONS] = describe
    outcomes = run_on(brokers, lambda admin: admin.topics.describe(["b", "a"]))
    counts = {name: len(topic.partitions) for name, topic in outcomes.items() if isinstance(topic, TopicDescription)}
    assert counts == {"a": 3, "b": 1}
    requests = [request for _, request in brokers.asked if isinstance(request, DescribeTopicPartitionsRequest)]
    assert [[topic.name for topic in request.topics] for request in requests] == [["a", "b"], ["a", "b"], ["b"]]
    assert requests[1].cursor is not None and requests[1].cursor.partition_index == 2


def test_changes_of_a_brokers_settings_go_to_that_broker() -> None:
    brokers = Brokers()

    def alter(_: int, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        return IncrementalAlterConfigsResponse(
            responses=[
                AlterConfigsResourceResponse(resource_type=each.resource_type, resource_name=each.resource_name)
                for each in request.resources
            ]
        )

    brokers.handlers[ApiKey.INCREMENTAL_ALTER_CONFIGS] = alter
    resources = [
        ConfigResource(ConfigResourceType.BROKER, "2"),
        ConfigResource(ConfigResourceType.BROKER, ""),
        ConfigResource(ConfigResourceType.TOPIC, "orders"),
        ConfigResource(ConfigResourceType.BROKER, "9"),
    ]
    changes = {resource: [ConfigChange("num.io.threads", ConfigOp.SET, "4")] for resource in resources}
    outcomes = run_on(brokers, lambda admin: admin.configs.alter(changes), 2)
    assert sorted(brokers.asked_for(IncrementalAlterConfigsRequest)) == [1, 2]
    assert [outcomes[resource] for resource in resources[:3]] == [None, None, None]
    assert isinstance(outcomes[resources[3]], Refused) and "broker 9 is not running" in outcomes[resources[3]].message


def test_log_dirs_of_other_brokers_are_returned_if_one_is_unreachable() -> None:
    brokers = Brokers()
    brokers.handlers[ApiKey.DESCRIBE_LOG_DIRS] = lambda _, request: DescribeLogDirsResponse(
        results=[DescribeLogDirsResult(log_dir="/b"), DescribeLogDirsResult(log_dir="/a", error_code=56)]
    )

    async def work(admin: AdminOperations) -> Any:
        brokers.registered = {**brokers.addresses, 9: HostPort("127.0.0.1", free_ports(1)[0])}
        return await admin.log_dirs.describe()

    outcomes = run_on(brokers, work)
    failed, good = outcomes[1]
    assert (failed.path, failed.error.code, good.path, good.error) == ("/a", ErrorCode.KAFKA_STORAGE_ERROR, "/b", None)
    assert "connection refused" in outcomes[9].message
    assert brokers.asked_for(DescribeLogDirsRequest) == [1]
