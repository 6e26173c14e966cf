"""SyncGroup (key 14): the leader of a classic group brings the assignment, and every member fetches its own.

v1 throttle time · v3 static members (KIP-345) · v4 flexible · v5 protocol type and name (KIP-559)

The answer waits until the assignment is written. Authorised by READ on the group.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.dispatch.replies import answer
from odradek.api.shared.group_requests import authorize_group, refuse_empty_id
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.sync_group_request import SyncGroupRequest
from odradek.protocol.messages.sync_group_response import SyncGroupResponse
from odradek.security.resources import Operation

API = Api(ApiKey.SYNC_GROUP, long_poll=True)

_PROTOCOL_VERSION = 5


async def handle(ctx: Context, request: SyncGroupRequest) -> SyncGroupResponse:
    if ctx.api_version >= _PROTOCOL_VERSION and (request.protocol_type is None or request.protocol_name is None):
        code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        raise ApiError(code.message, code)
    authorize_group(ctx, Operation.READ, request.group_id)
    refuse_empty_id(request.group_id)
    reply = await ctx.groups.write(request.group_id, lambda shard: shard.sync(request))
    response: SyncGroupResponse = await answer(reply)
    return response
