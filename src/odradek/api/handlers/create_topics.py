"""CreateTopics (key 19): topics come into being.

v2 throttle time · v4 -1 for the default number of partitions and replicas (KIP-464) · v5 flexible, the new topic's
settings in the answer (KIP-525) · v6 may be refused for a quota (KIP-599) · v7 topic ids (KIP-516)

Authorised by CREATE on the cluster or on each topic; its settings are shown to those with DESCRIBE_CONFIGS on it.
"""

from collections import Counter
from copy import copy
from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.common.ids import METADATA_TOPIC
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from odradek.security.resources import CLUSTER, Operation, ResourceType

API = Api(ApiKey.CREATE_TOPICS, listeners=(ListenerRole.CONTROLLER,), pipelined=True, forwarded_by=FORWARDED)


async def handle(ctx: Context, request: CreateTopicsRequest) -> CreateTopicsResponse:
    names = _askable(request)
    rejected = _refused(ctx, names)
    describable = ctx.allowed(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, names)
    authorized = copy(request)
    authorized.topics = [topic for topic in request.topics if topic.name not in rejected]
    deadline_ms = ctx.deadline_ms(request.timeout_ms)
    response = cast(CreateTopicsResponse, await ctx.controller.handle(authorized, deadline_ms=deadline_ms))
    for result in response.topics:
        if result.error_code == ErrorCode.NONE and result.name not in describable:
            _hide(result)
    response.topics += [_refusal(name) for name in rejected]
    return response


def _askable(request: CreateTopicsRequest) -> list[str]:
    """Names that could be made at all: about others nobody has to be asked."""
    times = Counter(topic.name for topic in request.topics)
    return [name for name, count in times.items() if count == 1 and name != METADATA_TOPIC]


def _refused(ctx: Context, names: list[str]) -> list[str]:
    if ctx.may(Operation.CREATE, CLUSTER):
        return []
    allowed = ctx.allowed(Operation.CREATE, ResourceType.TOPIC, names)
    return [name for name in names if name not in allowed]


def _refusal(name: str) -> CreatableTopicResult:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return CreatableTopicResult(name=name, error_code=code, error_message="Authorization failed.")


def _hide(result: CreatableTopicResult) -> None:
    result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    result.num_partitions = result.replication_factor = -1
    result.configs = []
