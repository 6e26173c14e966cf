"""DescribeQuorum (key 55): the state of the quorum as its leader knows it. A broker passes the request on to the
active controller.

v0 KIP-595 · v1 when a replica last fetched and was caught up (KIP-836) · v2 directory ids, endpoints and error
messages (KIP-853)

Authorised by DESCRIBE on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from odradek.protocol.messages.describe_quorum_response import DescribeQuorumResponse
from odradek.security.resources import Operation

API = Api(ApiKey.DESCRIBE_QUORUM, listeners=(ListenerRole.CONTROLLER,), forwarded_by=FORWARDED)


async def handle(ctx: Context, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    ctx.authorize(Operation.DESCRIBE)
    return cast(DescribeQuorumResponse, await ctx.quorum.handle(request, ctx.api_version, ctx.listener_name))
