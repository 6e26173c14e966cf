"""Metadata (key 3): which brokers there are, and where the partitions of topics are. What every client asks first.

v1 rack, controller, internal topics; null for all topics · v2 cluster id · v3 throttle time · v4 the client says
whether a missing topic may be made · v5 offline replicas · v6 LISTENER_NOT_FOUND where the leader does not have the
listener · v7 leader epochs (KIP-320) · v8 authorised operations (KIP-430) · v9 flexible · v10 topic ids in the answer
(KIP-516) · v11 no cluster operations · v12 topics by id · v13 an error for the whole answer (KIP-1102)

A topic that is not there is made, where the client and `auto.create.topics.enable` want it; the answer does not wait
for that and says UNKNOWN_TOPIC_OR_PARTITION, so that the client asks again.

Where no broker is alive, as when the last one stops, the broker that answers names itself. Apache Kafka names nobody
then, which its own clients ignore, but librdkafka from 2.10 on forgets every broker that is not named, and those it was
given at first as well: it never finds the cluster again.

Authorised by DESCRIBE on each topic, and CREATE for one that is to be made.
"""

from collections.abc import Container, Iterable
from typing import NamedTuple

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.authorized_operations import cluster_operations, topic_operations
from odradek.api.shared.topic_errors import unknown_topic_error
from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.metadata.image.topics import TopicImage
from odradek.metadata.internal_topics import INTERNAL_TOPICS
from odradek.metadata.listener_view import NO_NODE, ListenerView
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.security.resources import CLUSTER, Operation, ResourceType

API = Api(ApiKey.METADATA)

_FIRST_VERSION_WITH_LISTENER_ERROR = 6
_FIRST_VERSION_BY_ID = 12
#: The cluster's operations were asked for here from 8 on, and moved to DescribeCluster.
_LAST_VERSION_WITH_CLUSTER_OPERATIONS = 10


def handle(ctx: Context, request: MetadataRequest) -> MetadataResponse:
    view = ListenerView(ctx.services.image(), ctx.listener_name, ctx.services.node_id)
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
            for broker, endpoint in view.brokers() or view.this_broker()
        ],
        cluster_id=ctx.services.cluster_id,
        controller_id=view.controller_id(),
        topics=_topics(ctx, view, request),
    )
    if request.include_topic_authorized_operations:
        for topic in response.topics:
            if topic.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED and topic.name is not None:
                topic.topic_authorized_operations = topic_operations(ctx, topic.name)
    if request.include_cluster_authorized_operations and ctx.api_version <= _LAST_VERSION_WITH_CLUSTER_OPERATIONS:
        response.cluster_authorized_operations = cluster_operations(ctx)
    return response


def _topics(ctx: Context, view: ListenerView, request: MetadataRequest) -> list[MetadataResponseTopic]:
    topic_responses = _Answer(view, ctx.api_version)
    if request.topics is None or (ctx.api_version == 0 and not request.topics):
        visible = _visible(ctx, view.image.topics.by_name)
        return [
            topic_responses.topic(topic) for name, topic in sorted(view.image.topics.by_name.items()) if name in visible
        ]
    _check(request.topics, ctx.api_version)
    ids = dict.fromkeys(topic.topic_id for topic in request.topics if topic.topic_id != ZERO_UUID)
    if ids:
        return _by_id(ctx, view, topic_responses, ids)
    names = dict.fromkeys(topic.name for topic in request.topics if topic.name is not None)
    return _by_name(ctx, view, topic_responses, names, may_create=request.allow_auto_topic_creation)


def _check(topics: Iterable[MetadataRequestTopic], version: int) -> None:
    if version >= _FIRST_VERSION_BY_ID:
        return
    for topic in topics:
        if topic.name is None:
            raise ApiError(f"Topic name can not be null for version {version}", ErrorCode.INVALID_REQUEST)
        if topic.topic_id != ZERO_UUID:
            raise ApiError(f"Topic IDs are not supported in requests for version {version}", ErrorCode.INVALID_REQUEST)


def _visible(ctx: Context, names: Iterable[str]) -> Container[str]:
    return ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)


def _by_id(ctx: Context, view: ListenerView, answer: "_Answer", ids: Iterable[bytes]) -> list[MetadataResponseTopic]:
    """Return topics by id: names in a request with ids are ignored."""
    by_id = view.image.topics.by_id
    visible = _visible(ctx, (by_id[topic_id].name for topic_id in ids if topic_id in by_id))
    responses = []
    for topic_id in ids:
        topic = by_id.get(topic_id)
        if topic is None:
            responses.append(MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id))
        elif topic.name not in visible:
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            responses.append(MetadataResponseTopic(error_code=code, name=None, topic_id=topic_id))
        else:
            responses.append(answer.topic(topic))
    return responses


def _by_name(
    ctx: Context, view: ListenerView, answer: "_Answer", names: Iterable[str], *, may_create: bool
) -> list[MetadataResponseTopic]:
    visible, creator = _visible(ctx, names), ctx.services.topic_creator
    responses, missing = [], []
    for name in names:
        topic = view.image.topics.by_name.get(name)
        if name not in visible:
            responses.append(MetadataResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name))
        elif topic is not None:
            responses.append(answer.topic(topic))
        else:
            missing.append(name)
    errors = {name: unknown_topic_error(name) for name in missing}
    if missing and may_create and creator is not None:
        errors |= _refused_to_make(ctx, missing)
        to_make = [name for name, error in errors.items() if error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        creator.create(to_make, ctx.principal, ctx.session.client_address)
    for name, error in errors.items():
        responses.append(MetadataResponseTopic(error_code=error, name=name, is_internal=name in INTERNAL_TOPICS))
    return responses


def _refused_to_make(ctx: Context, names: list[str]) -> dict[str, ErrorCode]:
    if ctx.may(Operation.CREATE, CLUSTER):
        return {}
    allowed = ctx.allowed(Operation.CREATE, ResourceType.TOPIC, names)
    return {name: ErrorCode.TOPIC_AUTHORIZATION_FAILED for name in names if name not in allowed}


class _Placement(NamedTuple):
    """Leader and replicas of a partition: everything in the response except its index and leader epoch."""

    error_code: int
    leader: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]


class _Answer:
    """Topics of one answer. Of ten thousand partitions most are placed as another one: each placement is worked out
    once, and its lists are shared."""

    def __init__(self, view: ListenerView, version: int) -> None:
        self._view = view
        self._version = version
        #: By leader and by which tuples the partition has; an image has each tuple of equal content once, mostly.
        self._placements: dict[tuple[int, int, int, int], _Placement] = {}

    def topic(self, topic: TopicImage) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=[self._partition(*numbered) for numbered in sorted(topic.partitions.items())],
        )

    def _partition(self, number: int, partition: PartitionRegistration) -> MetadataResponsePartition:
        key = (partition.leader, id(partition.replicas), id(partition.isr), id(partition.directories))
        placement = self._placements.get(key)
        if placement is None:
            placement = self._placements[key] = self._placement(partition)
        error_code, leader, replicas, isr, offline_replicas = placement
        return MetadataResponsePartition(
            error_code=error_code,
            partition_index=number,
            leader_id=leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=offline_replicas,
        )

    def _placement(self, partition: PartitionRegistration) -> _Placement:
        view, leader, error = self._view, self._view.leader(partition), ErrorCode.NONE
        if leader == NO_NODE:
            error = ErrorCode.LEADER_NOT_AVAILABLE
            if self._version >= _FIRST_VERSION_WITH_LISTENER_ERROR and partition.leader in view.image.cluster.brokers:
                error = ErrorCode.LISTENER_NOT_FOUND
        replicas, isr = list(partition.replicas), list(partition.isr)
        if self._version == 0:
            # Its clients look every replica up among the brokers, and fail on one that is not there.
            replicas, isr = view.reachable(partition.replicas), view.reachable(partition.isr)
            is_complete = len(replicas) == len(partition.replicas) and len(isr) == len(partition.isr)
            if leader != NO_NODE and not is_complete:
                error = ErrorCode.REPLICA_NOT_AVAILABLE
        return _Placement(error, leader, replicas, isr, view.offline_replicas(partition))
