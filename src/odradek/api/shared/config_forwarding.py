"""AlterConfigs and IncrementalAlterConfigs on a broker: what concerns this broker is judged here, the rest is passed on
to the controller, and the answer is put together from both.

Authorised by the controller, as the principal that the broker vouches for; loggers by ALTER_CONFIGS on the cluster.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any

from odradek.api.dispatch import forwarding
from odradek.api.dispatch.context import Context
from odradek.api.shared.config_preprocessing import Outcome, Request, preprocess
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages import alter_configs_response as alter
from odradek.protocol.messages import incremental_alter_configs_response as incremental
from odradek.protocol.messages.alter_configs_request import AlterConfigsRequest

#: The controller said nothing about a resource that it was asked to change.
_FORGOTTEN = Outcome(ErrorCode.UNKNOWN_SERVER_ERROR, None)


async def handle(ctx: Context, request: Request) -> Message:
    outcomes = preprocess(ctx, request)
    remaining: Any = copy(request)
    remaining.resources = [
        resource for resource, outcome in zip(request.resources, outcomes, strict=True) if outcome is None
    ]
    answered: dict[tuple[int, str], Outcome] = {}
    if remaining.resources:
        response: Any = await forwarding.handle(ctx, remaining)
        for resource_response in response.responses:
            answered[resource_response.resource_type, resource_response.resource_name] = Outcome(
                resource_response.error_code, resource_response.error_message
            )
    return _whole_response(request, outcomes, answered)


def _whole_response(
    request: Any, outcomes: list[Outcome | None], answered: Mapping[tuple[int, str], Outcome]
) -> Message:
    """In the order of the request."""
    is_legacy = isinstance(request, AlterConfigsRequest)
    response: Any = alter.AlterConfigsResponse() if is_legacy else incremental.IncrementalAlterConfigsResponse()
    result: Any = alter.AlterConfigsResourceResponse if is_legacy else incremental.AlterConfigsResourceResponse
    for resource, outcome in zip(request.resources, outcomes, strict=True):
        key = (resource.resource_type, resource.resource_name)
        result_of_resource = outcome or answered.get(key, _FORGOTTEN)
        response.responses.append(
            result(
                error_code=result_of_resource.code,
                error_message=result_of_resource.message,
                resource_type=key[0],
                resource_name=key[1],
            )
        )
    typed_response: Message = response
    return typed_response
