"""ConsumerGroupDescribe (key 69): members of consumer groups, what they have and should have (KIP-848).

v1 which protocol a member speaks (KIP-1099)

Authorised by DESCRIBE on each group; a group with topics that may not be described is refused.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.group_requests import authorize_group, group_resource, refuse_empty_id
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from odradek.protocol.messages.consumer_group_describe_response import (
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.CONSUMER_GROUP_DESCRIBE)


async def handle(ctx: Context, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    groups = [await _describe(ctx, group_id) for group_id in request.group_ids]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = ctx.authorized_operations(group_resource(group.group_id))
    return ConsumerGroupDescribeResponse(groups=groups)


async def _describe(ctx: Context, group_id: str) -> DescribedGroup:
    try:
        authorize_group(ctx, Operation.DESCRIBE, group_id)
        refuse_empty_id(group_id)
        described: DescribedGroup = await ctx.groups.read(
            group_id, lambda shard: shard.describe_consumer_group(group_id)
        )
    except ApiError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
    names = [
        topic.topic_name
        for member in described.members
        for assignment in (member.assignment, member.target_assignment)
        for topic in assignment.topic_partitions
    ]
    allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    if any(name not in allowed for name in names):
        return DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message="The described group uses topics that the client is not authorized to describe.",
        )
    return described
