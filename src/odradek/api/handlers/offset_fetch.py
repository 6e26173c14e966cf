"""OffsetFetch (key 9): how far groups have read.

v2 all topics; an error for the whole group · v3 throttle time · v5 leader epoch (KIP-320) · v6 flexible · v7 stable
offsets only (KIP-447) · v8 many groups (KIP-709) · v9 member epochs (KIP-848) · v10 topic ids (KIP-848)

Authorised by DESCRIBE on each group and each topic.
"""

import asyncio

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.group_requests import group_resource
from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.OFFSET_FETCH)

_GROUP_ERROR_VERSION = 2
_BATCH_VERSION = 8
_TOPIC_ID_VERSION = 10


async def handle(ctx: Context, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if ctx.api_version >= _BATCH_VERSION:
        fetches = [_group(ctx, group, request.require_stable) for group in request.groups]
        return OffsetFetchResponse(groups=list(await asyncio.gather(*fetches)))
    return _of_one_group(await _group(ctx, _only_group(request), request.require_stable))


def _only_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = request.topics
    return OffsetFetchRequestGroup(
        group_id=request.group_id,
        topics=None
        if topics is None
        else [OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes) for topic in topics],
    )


def _of_one_group(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        metadata=partition.metadata,
                        error_code=partition.error_code,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )


async def _group(ctx: Context, group: OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup:
    if not ctx.may(Operation.DESCRIBE, group_resource(group.group_id)):
        return _group_error(ctx, group, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    try:
        if group.topics is None:
            return await _all_topics(ctx, group, require_stable)
        return await _some_topics(ctx, group, group.topics, require_stable)
    except ApiError as error:
        # Consumers of many versions look for another coordinator, but do not wait for this one.
        is_unavailable = require_stable and error.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        return _group_error(ctx, group, ErrorCode.NOT_COORDINATOR if is_unavailable else error.code)


async def _all_topics(ctx: Context, group: OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup:
    group_response = await _fetch(ctx, group, require_stable)
    allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, (topic.name for topic in group_response.topics))
    group_response.topics = [topic for topic in group_response.topics if topic.name in allowed]
    if ctx.api_version >= _TOPIC_ID_VERSION:
        topics_by_name = ctx.services.image().topics.by_name
        group_response.topics = [topic for topic in group_response.topics if topic.name in topics_by_name]
        for topic in group_response.topics:
            topic.topic_id = topics_by_name[topic.name].id
    return group_response


async def _some_topics(
    ctx: Context, group: OffsetFetchRequestGroup, topics: list[OffsetFetchRequestTopics], require_stable: bool
) -> OffsetFetchResponseGroup:
    uses_ids = ctx.api_version >= _TOPIC_ID_VERSION
    for topic in topics:
        if uses_ids and topic.topic_id != ZERO_UUID:
            topic.name = ctx.topic_name(topic.topic_id) or ""
    allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, (topic.name for topic in topics))
    unknown = [topic for topic in topics if uses_ids and not topic.name]
    hidden = [topic for topic in topics if topic not in unknown and topic.name not in allowed]
    group.topics = [topic for topic in topics if topic not in unknown and topic not in hidden]
    group_response = await _fetch(ctx, group, require_stable)
    group_response.topics += [_topic_error(topic, ErrorCode.UNKNOWN_TOPIC_ID) for topic in unknown]
    group_response.topics += [_topic_error(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for topic in hidden]
    return group_response


async def _fetch(ctx: Context, group: OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup:
    group_response: OffsetFetchResponseGroup = await ctx.groups.read(
        group.group_id, lambda shard: shard.fetch_offsets(group, require_stable)
    )
    return group_response


def _group_error(ctx: Context, group: OffsetFetchRequestGroup, code: int) -> OffsetFetchResponseGroup:
    if ctx.api_version >= _GROUP_ERROR_VERSION:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
    topics = [_topic_error(topic, code) for topic in group.topics or ()]
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)


def _topic_error(topic: OffsetFetchRequestTopics, code: int) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, metadata="", error_code=code)
            for index in topic.partition_indexes
        ],
    )
