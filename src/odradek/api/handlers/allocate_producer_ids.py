"""AllocateProducerIds (key 67): a broker gets a block of producer ids.

v0 KIP-730

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from odradek.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from odradek.security.resources import Operation

API = Api(ApiKey.ALLOCATE_PRODUCER_IDS, listeners=(ListenerRole.CONTROLLER,), pipelined=True)


async def handle(ctx: Context, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(AllocateProducerIdsResponse, await ctx.controller.handle(request))
