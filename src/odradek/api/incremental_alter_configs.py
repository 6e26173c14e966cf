"""IncrementalAlterConfigs (key 44): changes of single settings.

v0 KIP-339 · v1 flexible

Authorised by ALTER_CONFIGS on each topic or group, and on the cluster for brokers and metrics subscriptions.
"""

from copy import copy
from typing import cast

from odradek.api.config_authorization import split_changes
from odradek.api.context import Context
from odradek.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from odradek.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)


async def handle(ctx: Context, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    asked = copy(request)
    asked.resources, refused = split_changes(ctx, request.resources)
    response = cast(IncrementalAlterConfigsResponse, await ctx.controller.handle(asked))
    response.responses += [
        AlterConfigsResourceResponse(
            error_code=code,
            error_message=code.message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for resource, code in refused
    ]
    return response
