"""ElectLeaders (key 43): another leader for partitions, or for all of them.

v0 preferred leaders (KIP-183) · v1 unclean elections, an error for the whole (KIP-460) · v2 flexible

Authorised by ALTER on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest
from odradek.protocol.messages.elect_leaders_response import ElectLeadersResponse
from odradek.security.resources import Operation

API = Api(ApiKey.ELECT_LEADERS, listeners=(ListenerRole.CONTROLLER,), pipelined=True, forwarded_by=FORWARDED)


async def handle(ctx: Context, request: ElectLeadersRequest) -> ElectLeadersResponse:
    ctx.authorize(Operation.ALTER)
    return cast(
        ElectLeadersResponse, await ctx.controller.handle(request, deadline_ms=ctx.deadline_ms(request.timeout_ms))
    )
