"""Vote (key 52): a candidate asks for a vote, or whether it would get one.

v0 KIP-595 · v1 voters by directory id (KIP-853) · v2 pre-votes (KIP-996)

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.protocol.messages.vote_response import VoteResponse
from odradek.security.resources import Operation

API = Api(ApiKey.VOTE, listeners=(ListenerRole.CONTROLLER,))


async def handle(ctx: Context, request: VoteRequest) -> VoteResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(VoteResponse, await ctx.quorum.handle(request, ctx.api_version, ctx.listener_name))
