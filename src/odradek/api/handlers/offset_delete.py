"""OffsetDelete (key 47): forget committed offsets of a group (KIP-496).

v0

Authorised by DELETE on the group and READ on each topic.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.group_requests import authorize_group, partition_error, refuse_empty_id
from odradek.api.shared.topic_lists import merge, sort_out
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.offset_delete_request import OffsetDeleteRequest
from odradek.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.OFFSET_DELETE)


async def handle(ctx: Context, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    authorize_group(ctx, Operation.DELETE, request.group_id)
    refuse_empty_id(request.group_id)
    allowed = ctx.allowed(Operation.READ, ResourceType.TOPIC, (topic.name for topic in request.topics))
    rejected, request.topics = sort_out(
        request.topics, lambda topic, index: partition_error(ctx, allowed, topic.name, index)
    )
    # The group is asked even if nothing is left: it may not be there at all.
    response: OffsetDeleteResponse = await ctx.groups.write(
        request.group_id, lambda shard: shard.delete_offsets(request)
    )
    responses = [
        OffsetDeleteResponseTopic(
            name=rejected_topic.topic.name,
            partitions=[
                OffsetDeleteResponsePartition(partition_index=index, error_code=code)
                for index, code in rejected_topic.errors
            ],
        )
        for rejected_topic in rejected
    ]
    return OffsetDeleteResponse(topics=merge(responses, response.topics))
