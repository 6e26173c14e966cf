"""AssignReplicasToDirs (key 73): a broker says in which of its log directories replicas live.

v0 KIP-858

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from odradek.protocol.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from odradek.security.resources import Operation

API = Api(ApiKey.ASSIGN_REPLICAS_TO_DIRS, listeners=(ListenerRole.CONTROLLER,), pipelined=True)


async def handle(ctx: Context, request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(AssignReplicasToDirsResponse, await ctx.controller.handle(request))
