"""AlterPartition (key 56): the leader of a partition says which replicas are in sync.

v2 topic ids · v3 with each replica's broker epoch (KIP-903)

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.alter_partition_request import AlterPartitionRequest
from odradek.protocol.messages.alter_partition_response import AlterPartitionResponse
from odradek.security.resources import Operation

API = Api(ApiKey.ALTER_PARTITION, listeners=(ListenerRole.CONTROLLER,), pipelined=True)


async def handle(ctx: Context, request: AlterPartitionRequest) -> AlterPartitionResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(AlterPartitionResponse, await ctx.controller.handle(request))
