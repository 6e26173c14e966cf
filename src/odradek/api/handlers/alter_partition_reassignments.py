"""AlterPartitionReassignments (key 45): partitions move to other brokers, or their move is taken back.

v0 KIP-455 · v1 the replication factor may be kept (KIP-860)

Authorised by ALTER on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from odradek.protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from odradek.security.resources import Operation

API = Api(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS, listeners=(ListenerRole.CONTROLLER,), pipelined=True, forwarded_by=FORWARDED
)


async def handle(ctx: Context, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
    ctx.authorize(Operation.ALTER)
    return cast(
        AlterPartitionReassignmentsResponse,
        await ctx.controller.handle(request, deadline_ms=ctx.deadline_ms(request.timeout_ms)),
    )
