"""AlterClientQuotas (key 49): quotas of users, clients and addresses.

v0 KIP-546 · v1 flexible

Authorised by ALTER_CONFIGS on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest
from odradek.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse
from odradek.security.resources import Operation

API = Api(ApiKey.ALTER_CLIENT_QUOTAS, listeners=(ListenerRole.CONTROLLER,), pipelined=True, forwarded_by=FORWARDED)


async def handle(ctx: Context, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    ctx.authorize(Operation.ALTER_CONFIGS)
    return cast(AlterClientQuotasResponse, await ctx.controller.handle(request))
