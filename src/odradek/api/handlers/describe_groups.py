"""DescribeGroups (key 15): the members of classic groups and what each of them has.

v1 throttle time · v3 authorised operations (KIP-430) · v4 static members (KIP-345) · v5 flexible · v6 a group that is
not there is an error (KIP-1043)

Authorised by DESCRIBE on each group.
"""

from functools import partial

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.dispatch.replies import answers
from odradek.api.shared.group_requests import group_resource
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_groups_request import DescribeGroupsRequest
from odradek.protocol.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.DESCRIBE_GROUPS)


async def handle(ctx: Context, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.GROUP, request.groups)
    rejected = [
        DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        for group_id in request.groups
        if group_id not in allowed
    ]
    described = await answers(
        partial(_describe, ctx), [allowed_id for allowed_id in request.groups if allowed_id in allowed]
    )
    if request.include_authorized_operations:
        for group in described:
            if not group.error_code:
                group.authorized_operations = ctx.authorized_operations(group_resource(group.group_id))
    return DescribeGroupsResponse(groups=[*rejected, *described])


async def _describe(ctx: Context, group_id: str) -> DescribedGroup:
    try:
        described: DescribedGroup = await ctx.groups.read(
            group_id, lambda shard: shard.describe_group(group_id, ctx.api_version)
        )
    except ApiError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    return described
