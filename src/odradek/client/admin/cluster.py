"""The cluster from outside: its brokers, its features, their directories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from odradek import __version__
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, TopicPartition, by_topic, change
from odradek.client.errors import check_error, refusal
from odradek.errors import Refused, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.api_versions_response import ApiVersionsResponse
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_cluster_response import DescribeClusterResponse
from odradek.protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from odradek.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest

_BROKERS, _CONTROLLERS = 1, 2


@dataclass(frozen=True, slots=True)
class NodeDescription:
    id: int
    host: str
    port: int
    rack: str | None
    #: Registered, and neither leader nor in any ISR: it is down, or not yet caught up.
    is_fenced: bool


@dataclass(frozen=True, slots=True)
class NodesDescription:
    cluster_id: str
    #: Brokers name one of themselves; controllers name the one that leads.
    controller_id: int | None
    nodes: tuple[NodeDescription, ...]


@dataclass(frozen=True, slots=True)
class Feature:
    """`finalized` is the level that all nodes keep to; 0 is off."""

    name: str
    supported_min: int
    supported_max: int
    finalized: int


@dataclass(frozen=True, slots=True)
class Features:
    #: The offset in the metadata log as of which the levels are finalized.
    epoch: int
    features: tuple[Feature, ...]


@dataclass(frozen=True, slots=True)
class ReplicaInfo:
    size_bytes: int
    #: How far behind the partition's high watermark, or the other copy if this one is to take its place.
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDir:
    path: str
    error: Refused | None
    #: Of the volume; None where the broker does not know.
    total_bytes: int | None
    usable_bytes: int | None
    replicas: Mapping[TopicPartition, ReplicaInfo]


async def describe_nodes(cluster: ClusterRouter, *, include_fenced: bool = False) -> NodesDescription:
    """Brokers, or controllers where those are asked; by id."""
    request = DescribeClusterRequest(
        endpoint_type=_CONTROLLERS if cluster.are_controllers else _BROKERS, include_fenced_brokers=include_fenced
    )
    response: DescribeClusterResponse = await cluster.send_to_any(request)
    check_error(response.error_code, response.error_message)
    nodes = [
        NodeDescription(each.broker_id, each.host, each.port, each.rack or None, each.is_fenced)
        for each in response.brokers
    ]
    controller_id = None if response.controller_id < 0 else response.controller_id
    return NodesDescription(response.cluster_id, controller_id, tuple(sorted(nodes, key=lambda node: node.id)))


async def describe_features(cluster: ClusterRouter) -> Features:
    request = ApiVersionsRequest(client_software_name="odradek", client_software_version=__version__)
    response: ApiVersionsResponse = await cluster.send_to_any(request)
    check_error(response.error_code, None)
    finalized = {each.name: each.max_version_level for each in response.finalized_features}
    features = [
        Feature(each.name, each.min_version, each.max_version, finalized.get(each.name, 0))
        for each in sorted(response.supported_features, key=lambda each: each.name)
    ]
    return Features(response.finalized_features_epoch, tuple(features))


async def describe_log_dirs(
    cluster: ClusterRouter, broker_ids: Sequence[int] | None = None, partitions: Sequence[TopicPartition] | None = None
) -> Outcomes[int, tuple[LogDir, ...]]:
    """Of these brokers, or of all; with these partitions, or with all."""
    addresses = (await cluster.describe()).nodes
    topics = None
    if partitions is not None:
        asked = by_topic(partitions).items()
        topics = [DescribableLogDirTopic(topic=topic, partitions=indexes) for topic, indexes in asked]
    outcomes: dict[int, tuple[LogDir, ...] | Refused] = {}
    for broker_id in sorted(addresses) if broker_ids is None else broker_ids:
        if broker_id not in addresses:
            outcomes[broker_id] = Refused(f"there is no broker {broker_id} that runs", ErrorCode.BROKER_NOT_AVAILABLE)
            continue
        try:
            response: DescribeLogDirsResponse = await cluster.send_to(
                addresses[broker_id], DescribeLogDirsRequest(topics=topics)
            )
        except Unreachable as error:
            outcomes[broker_id] = Refused(error.message, error.code)
            continue
        outcomes[broker_id] = refusal(response.error_code) or tuple(
            _log_dir(result) for result in sorted(response.results, key=lambda each: each.log_dir)
        )
    return outcomes


async def unregister_broker(cluster: ClusterRouter, broker_id: int) -> None:
    """Raises Refused."""
    response = await change(cluster, UnregisterBrokerRequest(broker_id=broker_id), lambda r: [r.error_code])
    check_error(response.error_code, response.error_message)


def _log_dir(result: DescribeLogDirsResult) -> LogDir:
    replicas = {
        TopicPartition(topic.name, each.partition_index): ReplicaInfo(
            each.partition_size, each.offset_lag, each.is_future_key
        )
        for topic in sorted(result.topics, key=lambda topic: topic.name)
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    }
    total = None if result.total_bytes < 0 else result.total_bytes
    usable = None if result.usable_bytes < 0 else result.usable_bytes
    return LogDir(result.log_dir, refusal(result.error_code), total, usable, replicas)
