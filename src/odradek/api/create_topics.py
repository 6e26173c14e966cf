"""CreateTopics (key 19): topics come into being.

v2 throttle time · v4 -1 for the default number of partitions and replicas (KIP-464) · v5 flexible, the new topic's
settings in the answer (KIP-525) · v6 may be refused for a quota (KIP-599) · v7 topic ids (KIP-516)

Authorised by CREATE on the cluster or on each topic; its settings are shown to those with DESCRIBE_CONFIGS on it.
"""

from typing import cast

from odradek.api.context import Context
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.create_topics_response import CreateTopicsResponse


async def handle(ctx: Context, request: CreateTopicsRequest) -> CreateTopicsResponse:
    deadline_ms = ctx.deadline_ms(request.timeout_ms)
    return cast(CreateTopicsResponse, await ctx.controller.handle(request, deadline_ms=deadline_ms))
