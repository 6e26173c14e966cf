"""IncrementalAlterConfigs (key 44): changes of single settings.

v0 KIP-339 · v1 flexible

Authorised by ALTER_CONFIGS on each topic or group, and on the cluster for brokers and metrics subscriptions.
"""

from typing import cast

from odradek.api.context import Context
from odradek.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from odradek.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse


async def handle(ctx: Context, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    return cast(IncrementalAlterConfigsResponse, await ctx.controller.handle(request))
