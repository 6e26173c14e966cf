"""LeaveGroup (key 13): members leave a classic group, or are made to.

v1 throttle time · v3 many members, static ones by their instance id (KIP-345) · v4 flexible · v5 reason (KIP-800)

Authorised by READ on the group.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.group_requests import authorize_group, refuse_empty_id
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from odradek.security.resources import Operation

API = Api(ApiKey.LEAVE_GROUP)

_BATCH_VERSION = 3


async def handle(ctx: Context, request: LeaveGroupRequest) -> LeaveGroupResponse:
    authorize_group(ctx, Operation.READ, request.group_id)
    refuse_empty_id(request.group_id)
    if ctx.api_version < _BATCH_VERSION:
        request.members = [MemberIdentity(member_id=request.member_id)]
    response = await _leave(ctx, request)
    if ctx.api_version < _BATCH_VERSION:
        return LeaveGroupResponse(error_code=response.members[0].error_code)
    return response


async def _leave(ctx: Context, request: LeaveGroupRequest) -> LeaveGroupResponse:
    try:
        response: LeaveGroupResponse = await ctx.groups.write(request.group_id, lambda shard: shard.leave(request))
    except ApiError as error:
        if error.code != ErrorCode.UNKNOWN_MEMBER_ID:
            raise
        return LeaveGroupResponse(  # there is no such group
            members=[
                MemberResponse(
                    member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=error.code
                )
                for member in request.members
            ]
        )
    return response
