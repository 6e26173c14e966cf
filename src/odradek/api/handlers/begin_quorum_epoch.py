"""BeginQuorumEpoch (key 53): a new leader of the quorum says that it is one.

v0 KIP-595 · v1 flexible, voters by directory id, the leader's endpoints (KIP-853)

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.protocol.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from odradek.security.resources import Operation

API = Api(ApiKey.BEGIN_QUORUM_EPOCH, listeners=(ListenerRole.CONTROLLER,))


async def handle(ctx: Context, request: BeginQuorumEpochRequest) -> BeginQuorumEpochResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(BeginQuorumEpochResponse, await ctx.quorum.handle(request, ctx.api_version, ctx.listener_name))
