"""EndQuorumEpoch (key 54): a leader of the quorum steps down and says who should follow it.

v0 KIP-595 · v1 flexible, successors by directory id, the leader's endpoints (KIP-853)

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from odradek.protocol.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from odradek.security.resources import Operation

API = Api(ApiKey.END_QUORUM_EPOCH, listeners=(ListenerRole.CONTROLLER,))


async def handle(ctx: Context, request: EndQuorumEpochRequest) -> EndQuorumEpochResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(EndQuorumEpochResponse, await ctx.quorum.handle(request, ctx.api_version, ctx.listener_name))
