"""IncrementalAlterConfigs (key 44) on a controller: changes of single settings; levels of the loggers of this node.

v0 KIP-339 · v1 flexible

Authorised by ALTER_CONFIGS on each topic or group, and on the cluster for brokers and metrics subscriptions.
"""

from copy import copy
from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.shared.broker_loggers import Change, change_levels
from odradek.api.shared.config_authorization import split_changes
from odradek.common.failures import ApiError
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)


async def handle(ctx: Context, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    asked = copy(request)
    allowed, refused = split_changes(ctx, request.resources)
    asked.resources = [each for each in allowed if each.resource_type != ConfigResourceType.BROKER_LOGGER]
    loggers = [each for each in allowed if each.resource_type == ConfigResourceType.BROKER_LOGGER]
    response = cast(IncrementalAlterConfigsResponse, await ctx.controller.handle(asked))
    response.responses += [_response(resource, error.code, error.message) for resource, error in refused]
    response.responses += [_of_loggers(ctx, resource, request.validate_only) for resource in loggers]
    return response


def _of_loggers(ctx: Context, resource: AlterConfigsResource, validate_only: bool) -> AlterConfigsResourceResponse:
    changes = [Change(config.name, config.config_operation, config.value) for config in resource.configs]
    try:
        change_levels(ctx.services.node_id, resource.resource_name, changes, validate_only=validate_only)
    except ApiError as error:
        return _response(resource, error.code, str(error))
    return _response(resource, ErrorCode.NONE, None)


def _response(resource: AlterConfigsResource, code: int, message: str | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
