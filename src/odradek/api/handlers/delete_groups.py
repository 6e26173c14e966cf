"""DeleteGroups (key 42): delete groups that have no members, with their offsets (KIP-229).

v1 throttle after the response · v2 flexible · v3 error messages (KIP-1043)

Authorised by DELETE on each group.
"""

from functools import partial

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.dispatch.replies import answers
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.delete_groups_request import DeleteGroupsRequest
from odradek.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.DELETE_GROUPS)


async def handle(ctx: Context, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    group_ids = list(dict.fromkeys(request.groups_names))
    allowed = ctx.allowed(Operation.DELETE, ResourceType.GROUP, group_ids)
    results = await answers(partial(_delete, ctx), [allowed_id for allowed_id in group_ids if allowed_id in allowed])
    rejected = [
        DeletableGroupResult(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        for group_id in group_ids
        if group_id not in allowed
    ]
    return DeleteGroupsResponse(results=[*results, *rejected])


async def _delete(ctx: Context, group_id: str) -> DeletableGroupResult:
    try:
        await ctx.groups.write(group_id, lambda shard: shard.delete_group(group_id))
    except ApiError as error:
        return DeletableGroupResult(group_id=group_id, error_code=error.code)
    return DeletableGroupResult(group_id=group_id)
