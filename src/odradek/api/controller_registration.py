"""ControllerRegistration (key 70): a controller tells its endpoints and features to the active one.

v0 KIP-919

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.context import Context
from odradek.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from odradek.protocol.messages.controller_registration_response import ControllerRegistrationResponse


async def handle(ctx: Context, request: ControllerRegistrationRequest) -> ControllerRegistrationResponse:
    return cast(ControllerRegistrationResponse, await ctx.controller.handle(request))
