"""DescribeTopicPartitions (key 75): partitions page by page, with their eligible leaders (KIP-966).

v0 KIP-966

Topics come in the order of their names. An answer holds no more partitions than the client and
`max.request.partition.size.limit` allow, and a cursor to go on from.

Authorised by DESCRIBE on each topic.
"""

from odradek.api.dispatch.context import Context
from odradek.api.shared.authorized_operations import topic_operations
from odradek.api.shared.topic_errors import unknown_topic_error
from odradek.common.failures import ApiError
from odradek.metadata.configs.definitions import definitions
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.metadata.image.topics import TopicImage
from odradek.metadata.internal_topics import INTERNAL_TOPICS
from odradek.metadata.listener_view import ListenerView
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from odradek.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from odradek.security.resources import Operation, ResourceType

_LIMIT_CONFIG = "max.request.partition.size.limit"


def handle(ctx: Context, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    view = ListenerView(ctx.services.image(), ctx.listener_name, ctx.services.node_id)
    wants_all = not request.topics
    names = list(view.image.topics.by_name) if wants_all else [topic.name for topic in request.topics]
    _check_cursor(request, names, wants_all=wants_all)
    cursor = request.cursor or Cursor()
    names = sorted(dict.fromkeys(name for name in names if name >= cursor.topic_name))
    visible = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    response = _page(ctx, view, request, [name for name in names if name in visible])
    if not wants_all:
        response.topics += [_refused(name) for name in names if name not in visible]
    return response


def _page(
    ctx: Context, view: ListenerView, request: DescribeTopicPartitionsRequest, names: list[str]
) -> DescribeTopicPartitionsResponse:
    cursor = request.cursor or Cursor()
    response = DescribeTopicPartitionsResponse()
    left = max(min(_limit(ctx), request.response_partition_limit), 1)
    for name in names:
        if left == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = view.image.topics.by_name.get(name)
        if topic is None:
            response.topics.append(_missing(ctx, name))
            continue
        first = cursor.partition_index if name == cursor.topic_name else 0
        end = max(first, min(len(topic.partitions), first + left))
        response.topics.append(_described(ctx, view, topic, range(first, end)))
        if end < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=end)
            break
        left -= end - first
    return response


def _check_cursor(request: DescribeTopicPartitionsRequest, names: list[str], *, wants_all: bool) -> None:
    cursor = request.cursor
    if cursor is None:
        return
    if not wants_all and cursor.topic_name not in names:
        raise ApiError(
            f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {cursor.topic_name}",
            ErrorCode.INVALID_REQUEST,
        )
    if cursor.partition_index < 0:
        raise ApiError(
            f"DescribeTopicPartitionsRequest cursor partition must be valid: {cursor.partition_index}",
            ErrorCode.INVALID_REQUEST,
        )


def _limit(ctx: Context) -> int:
    given = ctx.services.static_configs.get(_LIMIT_CONFIG)
    return int(given or definitions(ConfigResourceType.BROKER)[_LIMIT_CONFIG].default or 0)


def _missing(ctx: Context, name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=unknown_topic_error(name),
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=topic_operations(ctx, name),
    )


def _refused(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name)


def _described(
    ctx: Context, view: ListenerView, topic: TopicImage, numbers: range
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(view, number, topic.partitions[number]) for number in numbers],
        topic_authorized_operations=topic_operations(ctx, topic.name),
    )


def _partition(
    view: ListenerView, number: int, partition: PartitionRegistration
) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        partition_index=number,
        leader_id=view.leader(partition),
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=view.offline_replicas(partition),
    )
