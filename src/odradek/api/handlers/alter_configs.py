"""AlterConfigs (key 33): all settings of a resource at once: those that are not named go back to their defaults.

v0 KIP-133 · v1 throttle after the response (KIP-219) · v2 flexible

Authorised by ALTER_CONFIGS on each topic or group, and on the cluster for brokers and metrics subscriptions.
"""

from copy import copy
from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED_CONFIGS, Api
from odradek.api.shared.config_authorization import split_changes
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.alter_configs_request import AlterConfigsRequest
from odradek.protocol.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse

API = Api(ApiKey.ALTER_CONFIGS, listeners=(ListenerRole.CONTROLLER,), pipelined=True, forwarded_by=FORWARDED_CONFIGS)


async def handle(ctx: Context, request: AlterConfigsRequest) -> AlterConfigsResponse:
    forwarded = copy(request)
    forwarded.resources, rejected = split_changes(ctx, request.resources)
    response = cast(AlterConfigsResponse, await ctx.controller.handle(forwarded))
    response.responses += [
        AlterConfigsResourceResponse(
            error_code=error.code,
            error_message=error.message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for resource, error in rejected
    ]
    return response
