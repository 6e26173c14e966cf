"""OffsetCommit (key 8): how far a group has read.

v2 retention · v3 throttle time · v5 retention is the broker's affair · v6 leader epoch (KIP-320) · v7 static members
(KIP-345) · v8 flexible · v9 member epochs (KIP-848) · v10 topic ids (KIP-848)

Authorised by READ on the group and on each topic.
"""

from collections.abc import Container, Iterable

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.group_requests import authorize_group, partition_error
from odradek.api.shared.topic_lists import Refused, all_refused, merge, sort_out
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestTopic
from odradek.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.OFFSET_COMMIT, pipelined=True)

_TOPIC_ID_VERSION = 10


async def handle(ctx: Context, request: OffsetCommitRequest) -> OffsetCommitResponse:
    authorize_group(ctx, Operation.READ, request.group_id)
    _complete_names(ctx, request.topics)
    allowed = ctx.allowed(Operation.READ, ResourceType.TOPIC, (topic.name for topic in request.topics))
    rejected, request.topics = sort_out(request.topics, lambda topic, index: _error(ctx, allowed, topic, index))
    responses = _answers(rejected)
    if request.topics:
        merge(responses, await _commit(ctx, request))
    return OffsetCommitResponse(topics=responses)


def _complete_names(ctx: Context, topics: Iterable[OffsetCommitRequestTopic]) -> None:
    """Whichever of name and id was given, the other is looked up; it stays empty for a topic that is not there."""
    topics_image = ctx.services.image().topics
    for topic in topics:
        if ctx.api_version >= _TOPIC_ID_VERSION:
            topic.name = ctx.topic_name(topic.topic_id) or ""
        elif topic.name in topics_image.by_name:
            topic.topic_id = topics_image.by_name[topic.name].id


def _error(ctx: Context, allowed: Container[str], topic: OffsetCommitRequestTopic, index: int) -> ErrorCode:
    if not topic.name and ctx.api_version >= _TOPIC_ID_VERSION:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return partition_error(ctx, allowed, topic.name, index)


async def _commit(ctx: Context, request: OffsetCommitRequest) -> list[OffsetCommitResponseTopic]:
    try:
        response: OffsetCommitResponse = await ctx.groups.write(
            request.group_id, lambda shard: shard.commit_offsets(request, ctx.api_version)
        )
    except ApiError as error:
        return _answers(all_refused(request.topics, error.code))
    return response.topics


def _answers(refused: Iterable[Refused[OffsetCommitRequestTopic]]) -> list[OffsetCommitResponseTopic]:
    return [
        OffsetCommitResponseTopic(
            name=rejected_topic.topic.name,
            topic_id=rejected_topic.topic.topic_id,
            partitions=[
                OffsetCommitResponsePartition(partition_index=index, error_code=code)
                for index, code in rejected_topic.errors
            ],
        )
        for rejected_topic in refused
    ]
