"""DeleteTopics (key 20): topics go, by name or by id.

v1 throttle time · v3 TOPIC_DELETION_DISABLED · v4 flexible · v5 error messages, may be refused for a quota (KIP-599) ·
v6 topic ids (KIP-516)

Authorised by DELETE on the cluster or on each topic; names are shown to those with DESCRIBE on it.
"""

from typing import cast

from odradek.api.context import Context
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest
from odradek.protocol.messages.delete_topics_response import DeleteTopicsResponse

#: The setting that may forbid it.
DELETE_TOPIC_ENABLE = "delete.topic.enable"

FIRST_VERSION_WITH_DELETION_DISABLED = 3


async def handle(ctx: Context, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    if ctx.services.static_configs.get(DELETE_TOPIC_ENABLE, "true").strip().lower() == "false":
        raise _disabled(ctx.api_version)
    deadline_ms = ctx.deadline_ms(request.timeout_ms)
    return cast(DeleteTopicsResponse, await ctx.controller.handle(request, deadline_ms=deadline_ms))


def _disabled(version: int) -> ApiError:
    if version < FIRST_VERSION_WITH_DELETION_DISABLED:
        return ApiError("This version does not support topic deletion.", ErrorCode.INVALID_REQUEST)
    return ApiError(ErrorCode.TOPIC_DELETION_DISABLED.message, ErrorCode.TOPIC_DELETION_DISABLED)
