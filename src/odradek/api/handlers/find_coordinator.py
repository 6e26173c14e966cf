"""FindCoordinator (key 10): which broker coordinates a group, a transactional id, or a partition of a share group.

v1 kinds of keys, throttle time and error message · v3 flexible · v4 many keys (KIP-699) · v5 TRANSACTION_ABORTABLE
(KIP-890) · v6 share groups (KIP-932)

The coordinator is the leader of the key's partition of an internal topic, which is made when it is first asked for:
that takes moments, and a client that is told to come again only does so after a second, so the first answer waits.
Authorised by DESCRIBE on the group or the transactional id, CLUSTER_ACTION for share groups.
"""

import asyncio
from typing import Final

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.dispatch.services import Node
from odradek.common.failures import ApiError
from odradek.common.ids import uuid_from_text
from odradek.coordinator.runtime.keys import partition_for
from odradek.metadata.internal_topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from odradek.metadata.listener_view import NO_NODE
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from odradek.security.resources import REFUSALS, Operation, Resource, ResourceType

API = Api(ApiKey.FIND_COORDINATOR, long_poll=True)

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_TOPICS = {_GROUP: CONSUMER_OFFSETS, _TRANSACTION: TRANSACTION_STATE, _SHARE: SHARE_GROUP_STATE}
_RESOURCES = {_GROUP: ResourceType.GROUP, _TRANSACTION: ResourceType.TRANSACTIONAL_ID}

_FIRST_VERSION_WITH_MANY = 4
_FIRST_VERSION_WITH_SHARE = 6

#: How often an answer looks for the internal topic, half a second in all. Where it cannot be made clients come again.
_LOOKS: Final = 25
_LOOK_AGAIN_S: Final = 0.02

_NOBODY = Node(NO_NODE, "", -1)


async def handle(ctx: Context, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    was_there = _is_there(ctx, request)
    response = _respond(ctx, request)
    codes = [response.error_code, *(coordinator.error_code for coordinator in response.coordinators)]
    if was_there or ErrorCode.COORDINATOR_NOT_AVAILABLE not in codes:
        return response
    for _ in range(_LOOKS):
        await asyncio.sleep(_LOOK_AGAIN_S)
        if _is_there(ctx, request):
            return _respond(ctx, request)
    return response


def _is_there(ctx: Context, request: FindCoordinatorRequest) -> bool:
    return _TOPICS.get(request.key_type) in ctx.services.image().topics.by_name


def _respond(ctx: Context, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if ctx.api_version >= _FIRST_VERSION_WITH_MANY:
        return FindCoordinatorResponse(
            coordinators=[_coordinator(ctx, request.key_type, key) for key in request.coordinator_keys]
        )
    coordinator = _coordinator(ctx, request.key_type, request.key)
    code = ErrorCode(coordinator.error_code)
    return FindCoordinatorResponse(
        error_code=code,
        error_message=code.message if code else code.name,
        node_id=coordinator.node_id,
        host=coordinator.host,
        port=coordinator.port,
    )


def _coordinator(ctx: Context, key_type: int, key: str) -> Coordinator:
    """Raises ApiError for what is wrong with all keys."""
    resource_type = _RESOURCES.get(key_type)
    if resource_type is not None and not ctx.may(Operation.DESCRIBE, Resource(resource_type, key)):
        return _answer(key, _NOBODY, REFUSALS[resource_type])
    if key_type == _SHARE:
        if ctx.api_version < _FIRST_VERSION_WITH_SHARE:
            return _answer(key, _NOBODY, ErrorCode.INVALID_REQUEST)
        ctx.authorize(Operation.CLUSTER_ACTION)
        if not _is_share_key(key):
            return _answer(key, _NOBODY, ErrorCode.INVALID_REQUEST)
    topic = _TOPICS.get(key_type)
    if topic is None:
        raise ApiError(f"Unknown coordinator type received: {key_type}", ErrorCode.INVALID_REQUEST)
    node = _leader(ctx, topic, key)
    return _answer(key, node, ErrorCode.COORDINATOR_NOT_AVAILABLE if node is _NOBODY else ErrorCode.NONE)


def _leader(ctx: Context, topic_name: str, key: str) -> Node:
    image = ctx.services.image()
    topic = image.topics.by_name.get(topic_name)
    if topic is None:
        ctx.services.create_internal_topic(topic_name)
        return _NOBODY
    partition = topic.partitions.get(partition_for(key, len(topic.partitions)))
    broker = None if partition is None else image.cluster.brokers.get(partition.leader)
    endpoint = None if broker is None or broker.fenced else broker.listeners.get(ctx.listener_name)
    return _NOBODY if broker is None or endpoint is None else Node(broker.id, endpoint.host, endpoint.port)


def _is_share_key(key: str) -> bool:
    """Group, topic id and partition; the group may have colons in its name."""
    group, topic_id, partition = ("", "", *key.rsplit(":", 2))[-3:]
    try:
        uuid_from_text(topic_id)
        return bool(group.strip()) and int(partition) >= 0
    except ValueError:
        return False


def _answer(key: str, node: Node, code: ErrorCode, message: str = "") -> Coordinator:
    return Coordinator(key=key, node_id=node.id, host=node.host, port=node.port, error_code=code, error_message=message)
