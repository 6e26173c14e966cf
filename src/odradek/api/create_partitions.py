"""CreatePartitions (key 37): topics get more partitions.

v0 KIP-195 · v1 throttle after the response (KIP-219) · v2 flexible · v3 may be refused for a quota (KIP-599)

Authorised by ALTER on each topic.
"""

from typing import cast

from odradek.api.context import Context
from odradek.protocol.messages.create_partitions_request import CreatePartitionsRequest
from odradek.protocol.messages.create_partitions_response import CreatePartitionsResponse


async def handle(ctx: Context, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    return cast(
        CreatePartitionsResponse, await ctx.controller.handle(request, deadline_ms=ctx.deadline_ms(request.timeout_ms))
    )
