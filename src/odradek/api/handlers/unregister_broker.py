"""UnregisterBroker (key 64): a broker that is gone for good is taken out of the cluster.

v0 KIP-631

Authorised by ALTER on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from odradek.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from odradek.security.resources import Operation

API = Api(ApiKey.UNREGISTER_BROKER, listeners=(ListenerRole.CONTROLLER,), pipelined=True, forwarded_by=FORWARDED)


async def handle(ctx: Context, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    ctx.authorize(Operation.ALTER)
    return cast(UnregisterBrokerResponse, await ctx.controller.handle(request))
