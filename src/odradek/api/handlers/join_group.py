"""JoinGroup (key 11): become a member of a classic group, or stay one through a rebalance.

v1 rebalance time-out apart from the session's · v2 throttle time · v4 the member id comes first (KIP-394) · v5 static
members (KIP-345) · v6 flexible · v7 protocol type (KIP-559) · v8 reason (KIP-800) · v9 skip the assignment (KIP-814)

The answer waits until all members have joined. Authorised by READ on the group.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.dispatch.replies import answer
from odradek.api.shared.group_requests import authorize_group, refuse_empty_id, request_context
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.join_group_request import JoinGroupRequest
from odradek.protocol.messages.join_group_response import JoinGroupResponse
from odradek.security.resources import Operation

API = Api(ApiKey.JOIN_GROUP, long_poll=True)

#: The first version in which a protocol may have no name.
_NAMELESS_VERSION = 7


async def handle(ctx: Context, request: JoinGroupRequest) -> JoinGroupResponse:
    authorize_group(ctx, Operation.READ, request.group_id)
    refuse_empty_id(request.group_id)
    if ctx.api_version == 0:
        request.rebalance_timeout_ms = request.session_timeout_ms
    context = request_context(ctx)
    reply = await ctx.groups.write(request.group_id, lambda shard: shard.join(context, request))
    response: JoinGroupResponse = await answer(reply)
    if not response.protocol_name:
        response.protocol_name = None if ctx.api_version >= _NAMELESS_VERSION else ""
    return response
