"""Heartbeat (key 12): a member of a classic group is there.

v1 throttle time · v3 static members (KIP-345) · v4 flexible

Authorised by READ on the group.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.group_requests import authorize_group, refuse_empty_id
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.heartbeat_response import HeartbeatResponse
from odradek.security.resources import Operation

API = Api(ApiKey.HEARTBEAT)


async def handle(ctx: Context, request: HeartbeatRequest) -> HeartbeatResponse:
    authorize_group(ctx, Operation.READ, request.group_id)
    refuse_empty_id(request.group_id)
    try:
        response: HeartbeatResponse = await ctx.groups.write(request.group_id, lambda shard: shard.heartbeat(request))
    except ApiError as error:
        if error.code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            raise
        return HeartbeatResponse()  # sessions begin anew when the group is loaded
    return response
