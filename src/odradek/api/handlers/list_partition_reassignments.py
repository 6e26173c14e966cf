"""ListPartitionReassignments (key 46): which partitions are moving. The time-out of the request says nothing: the
answer is at hand.

v0 KIP-455

Authorised by DESCRIBE on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from odradek.protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from odradek.security.resources import Operation

API = Api(
    ApiKey.LIST_PARTITION_REASSIGNMENTS, listeners=(ListenerRole.CONTROLLER,), pipelined=True, forwarded_by=FORWARDED
)


async def handle(ctx: Context, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    ctx.authorize(Operation.DESCRIBE)
    return cast(ListPartitionReassignmentsResponse, await ctx.controller.handle(request))
