"""The admin client where a cluster does not answer at once and in one piece. What it says when all is well is tested
on real nodes, ours and Kafka's, in tests/system/test_cli_admin.py."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from helpers.fake_quorum import CLUSTER_ID, FakeQuorum, running
from helpers.ports import free_ports
from odradek.client.admin.cluster import describe_log_dirs, unregister_broker
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.configs import ConfigChange, ConfigResource, alter_configs
from odradek.client.admin.outcomes import TopicPartition
from odradek.client.admin.partitions import OffsetAndTimestamp, delete_records, list_offsets
from odradek.client.admin.topics import NewTopic, TopicDescription, create_topics, describe_topics
from odradek.client.net.channel import ChannelConfig
from odradek.client.net.config import ClientConfig
from odradek.common.addresses import HostPort
from odradek.common.special_timestamps import LATEST
from odradek.errors import Refused, Unreachable
from odradek.protocol import api_keys
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.config_kinds import ConfigOp, ConfigResourceType
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

PATIENT_MS = 60_000
ORDERS = TopicPartition("orders", 0)


class Brokers(FakeQuorum):
    """They know each other, and a topic `orders` whose partitions the given brokers lead."""

    listener = api_keys.Listener.BROKER

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


def on(
    brokers: Brokers, work: Callable[[ClusterRouter], Awaitable[Any]], count: int = 1, api_timeout_ms: int = PATIENT_MS
) -> Any:
    async def main() -> Any:
        channel = ChannelConfig(reconnect_backoff_ms=1, reconnect_backoff_max_ms=10)
        config = ClientConfig(channel, api_timeout_ms=api_timeout_ms)
        async with running(brokers, count), ClusterRouter([brokers.addresses[1]], config) as cluster:
            return await work(cluster)

    return asyncio.run(main())


def test_a_change_is_sent_again_if_it_was_not_this_controllers_to_decide() -> None:
    brokers = Brokers()

    def create(_: int, request: CreateTopicsRequest) -> CreateTopicsResponse:
        first = len(brokers.asked_for(CreateTopicsRequest)) == 1
        code = ErrorCode.NOT_CONTROLLER if first else ErrorCode.NONE
        return CreateTopicsResponse(topics=[CreatableTopicResult(name="orders", error_code=code, num_partitions=4)])

    brokers.handlers[ApiKey.CREATE_TOPICS] = create
    outcomes = on(brokers, lambda cluster: create_topics(cluster, [NewTopic("orders")]))
    assert outcomes["orders"].partitions == 4
    assert len(brokers.asked_for(CreateTopicsRequest)) == 2


def test_outcomes_stand_in_the_order_of_the_question() -> None:
    brokers = Brokers()
    brokers.handlers[ApiKey.CREATE_TOPICS] = lambda _, request: CreateTopicsResponse(
        topics=[CreatableTopicResult(name=topic.name) for topic in reversed(request.topics)]
    )
    outcomes = on(brokers, lambda cluster: create_topics(cluster, [NewTopic(name) for name in "bac"]))
    assert list(outcomes) == ["b", "a", "c"]


def test_a_change_whose_connection_breaks_is_not_sent_again() -> None:
    brokers = Brokers()

    def unregister(node_id: int, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
        brokers.break_connections(node_id)
        return UnregisterBrokerResponse()

    brokers.handlers[ApiKey.UNREGISTER_BROKER] = unregister
    with pytest.raises(Unreachable):
        on(brokers, lambda cluster: unregister_broker(cluster, 3))
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


def test_the_leader_of_each_partition_is_asked_and_followed_where_it_goes() -> None:
    brokers = Brokers(leaders=[1, 2, 2])

    def answer(node_id: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        if node_id == 2:
            brokers.leaders = [1, 3, 3]
            return offsets_of(request, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        return offsets_of(request, ErrorCode.NONE, 100 * node_id)

    brokers.handlers[ApiKey.LIST_OFFSETS] = answer
    asked = {TopicPartition("orders", index): LATEST for index in range(3)}
    outcomes = on(brokers, lambda cluster: list_offsets(cluster, asked), 3)
    assert [outcomes[each].offset for each in asked] == [100, 300, 300]
    assert brokers.asked_for(ListOffsetsRequest) == [1, 2, 3], "those with one leader are asked about together"


def test_each_partition_has_its_own_error() -> None:
    brokers = Brokers()
    brokers.handlers[ApiKey.LIST_OFFSETS] = lambda _, request: offsets_of(request, ErrorCode.NONE, 7)
    asked = dict.fromkeys([ORDERS, TopicPartition("orders", 5), TopicPartition("nowhere", 0)], LATEST)
    outcomes = on(brokers, lambda cluster: list_offsets(cluster, asked))
    assert outcomes[ORDERS] == OffsetAndTimestamp(7, None, 2)
    for each in list(asked)[1:]:
        assert outcomes[each].code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(brokers.asked_for(MetadataRequest)) == 1, "what is not there does not come by waiting"


def test_a_partition_without_a_leader_is_given_up_when_the_time_is_over() -> None:
    outcomes = on(Brokers(leaders=[-1]), lambda cluster: list_offsets(cluster, {ORDERS: LATEST}), api_timeout_ms=1)
    assert outcomes[ORDERS].code == ErrorCode.LEADER_NOT_AVAILABLE


def test_a_leader_that_cannot_be_reached_is_looked_up_again() -> None:
    brokers = Brokers(leaders=[9])

    def metadata(node_id: int, request: MetadataRequest) -> MetadataResponse:
        first = len(brokers.asked_for(MetadataRequest)) == 1
        brokers.leaders = [9 if first else 1]
        return brokers._metadata(node_id, request)

    def delete(_: int, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
        result = DeleteRecordsPartitionResult(partition_index=0, low_watermark=request.topics[0].partitions[0].offset)
        return DeleteRecordsResponse(topics=[DeleteRecordsTopicResult(name="orders", partitions=[result])])

    brokers.handlers |= {ApiKey.METADATA: metadata, ApiKey.DELETE_RECORDS: delete}

    async def work(cluster: ClusterRouter) -> Any:
        brokers.registered = {**brokers.addresses, 9: HostPort("127.0.0.1", free_ports(1)[0])}
        return await delete_records(cluster, {ORDERS: 12})

    assert on(brokers, work) == {ORDERS: 12}


def test_a_long_description_is_put_together() -> None:
    """The broker cuts where it likes, also within a topic."""
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
    outcomes = on(brokers, lambda cluster: describe_topics(cluster, ["b", "a"]))
    counts = {name: len(each.partitions) for name, each in outcomes.items() if isinstance(each, TopicDescription)}
    assert counts == {"a": 3, "b": 1}
    asked = [request for _, request in brokers.asked if isinstance(request, DescribeTopicPartitionsRequest)]
    assert [[topic.name for topic in each.topics] for each in asked] == [["a", "b"], ["a", "b"], ["b"]]
    assert asked[1].cursor is not None and asked[1].cursor.partition_index == 2


def test_settings_of_a_broker_go_to_that_broker() -> None:
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
    changes = {each: [ConfigChange("num.io.threads", ConfigOp.SET, "4")] for each in resources}
    outcomes = on(brokers, lambda cluster: alter_configs(cluster, changes), 2)
    assert sorted(brokers.asked_for(IncrementalAlterConfigsRequest)) == [1, 2]
    assert [outcomes[each] for each in resources[:3]] == [None, None, None]
    assert isinstance(outcomes[resources[3]], Refused) and "no broker 9" in outcomes[resources[3]].message


def test_a_broker_that_is_gone_does_not_keep_the_others_from_telling() -> None:
    brokers = Brokers()
    brokers.handlers[ApiKey.DESCRIBE_LOG_DIRS] = lambda _, request: DescribeLogDirsResponse(
        results=[DescribeLogDirsResult(log_dir="/b"), DescribeLogDirsResult(log_dir="/a", error_code=56)]
    )

    async def work(cluster: ClusterRouter) -> Any:
        brokers.registered = {**brokers.addresses, 9: HostPort("127.0.0.1", free_ports(1)[0])}
        return await describe_log_dirs(cluster)

    outcomes = on(brokers, work)
    failed, well = outcomes[1]
    assert (failed.path, failed.error.code, well.path, well.error) == ("/a", ErrorCode.KAFKA_STORAGE_ERROR, "/b", None)
    assert "connection refused" in outcomes[9].message
    assert brokers.asked_for(DescribeLogDirsRequest) == [1]
