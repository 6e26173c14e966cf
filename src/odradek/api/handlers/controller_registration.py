"""ControllerRegistration (key 70): a controller tells its endpoints and features to the active one.

v0 KIP-919

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from odradek.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from odradek.security.resources import Operation

API = Api(ApiKey.CONTROLLER_REGISTRATION, listeners=(ListenerRole.CONTROLLER,), pipelined=True)


async def handle(ctx: Context, request: ControllerRegistrationRequest) -> ControllerRegistrationResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(ControllerRegistrationResponse, await ctx.controller.handle(request))
