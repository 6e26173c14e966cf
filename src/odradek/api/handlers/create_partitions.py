"""CreatePartitions (key 37): topics get more partitions.

v0 KIP-195 · v1 throttle after the response (KIP-219) · v2 flexible · v3 may be refused for a quota (KIP-599)

Authorised by ALTER on each topic.
"""

from collections import Counter
from copy import copy
from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.create_partitions_request import CreatePartitionsRequest
from odradek.protocol.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.CREATE_PARTITIONS, listeners=(ListenerRole.CONTROLLER,), pipelined=True, forwarded_by=FORWARDED)


async def handle(ctx: Context, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    rejected = _refused(ctx, request)
    authorized = copy(request)
    authorized.topics = [topic for topic in request.topics if topic.name not in rejected]
    deadline_ms = ctx.deadline_ms(request.timeout_ms)
    response = cast(CreatePartitionsResponse, await ctx.controller.handle(authorized, deadline_ms=deadline_ms))
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    response.results += [CreatePartitionsTopicResult(name=name, error_code=code) for name in rejected]
    return response


def _refused(ctx: Context, request: CreatePartitionsRequest) -> list[str]:
    """A name that is there twice is the controller's to refuse."""
    times = Counter(topic.name for topic in request.topics)
    names = [name for name, count in times.items() if count == 1]
    allowed = ctx.allowed(Operation.ALTER, ResourceType.TOPIC, names)
    return [name for name in names if name not in allowed]
