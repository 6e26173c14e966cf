"""DeleteTopics (key 20): topics go, by name or by id.

v1 throttle time · v3 TOPIC_DELETION_DISABLED · v4 flexible · v5 error messages, may be refused for a quota (KIP-599) ·
v6 topic ids (KIP-516)

Authorised by DELETE on the cluster or on each topic; names are shown to those with DESCRIBE on it.
"""

from collections import Counter
from copy import copy
from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest
from odradek.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from odradek.security.resources import CLUSTER, Operation, ResourceType, refusal

API = Api(ApiKey.DELETE_TOPICS, listeners=(ListenerRole.CONTROLLER,), pipelined=True, forwarded_by=FORWARDED)

#: The setting that may forbid it.
DELETE_TOPIC_ENABLE = "delete.topic.enable"

FIRST_VERSION_WITH_DELETION_DISABLED = 3


async def handle(ctx: Context, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    if ctx.services.static_configs.get(DELETE_TOPIC_ENABLE, "true").strip().lower() == "false":
        raise _disabled(ctx.api_version)
    authorized, rejected = copy(request), list[DeletableTopicResult]()
    if not ctx.may(Operation.DELETE, CLUSTER):
        permissions = _Permissions(ctx, request)
        authorized.topics = [topic for topic in request.topics if not permissions.refuse(topic.name, topic.topic_id)]
        authorized.topic_names = [name for name in request.topic_names if not permissions.refuse(name, ZERO_UUID)]
        rejected = permissions.refused
    deadline_ms = ctx.deadline_ms(request.timeout_ms)
    response = cast(DeleteTopicsResponse, await ctx.controller.handle(authorized, deadline_ms=deadline_ms))
    response.responses += rejected
    return response


class _Permissions:
    """Permissions of a principal that may not delete every topic. The controller rejects topics that are named twice,
    and unknown topic ids."""

    def __init__(self, ctx: Context, request: DeleteTopicsRequest) -> None:
        self._ctx = ctx
        self._times = Counter([(topic.name, topic.topic_id) for topic in request.topics])
        self._times.update((name, ZERO_UUID) for name in request.topic_names)
        names = [name for topic_ref in self._times if (name := self._name(*topic_ref)) is not None]
        self._describable = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
        self._deletable = ctx.allowed(Operation.DELETE, ResourceType.TOPIC, names)
        self.refused: list[DeletableTopicResult] = []

    def refuse(self, asked_name: str | None, topic_id: bytes) -> bool:
        """The answer says no more than whoever asks may see: not the name of an id, nor that there is no such topic."""
        name = self._name(asked_name, topic_id)
        if name is None or self._times[asked_name, topic_id] > 1:
            return False
        is_visible, is_refused = name in self._describable, name not in self._deletable
        if asked_name is not None:
            is_there = name in self._ctx.services.image().topics.by_name
            is_refused = not is_visible or (is_there and is_refused)
        if is_refused:
            error, shown = refusal(ResourceType.TOPIC), name if is_visible else asked_name
            self.refused.append(
                DeletableTopicResult(name=shown, topic_id=topic_id, error_code=error.code, error_message=error.message)
            )
        return is_refused

    def _name(self, asked_name: str | None, topic_id: bytes) -> str | None:
        if topic_id == ZERO_UUID:
            return asked_name
        return self._ctx.topic_name(topic_id) if asked_name is None else None


def _disabled(version: int) -> ApiError:
    if version < FIRST_VERSION_WITH_DELETION_DISABLED:
        return ApiError("This version does not support topic deletion.", ErrorCode.INVALID_REQUEST)
    return ApiError(ErrorCode.TOPIC_DELETION_DISABLED.message, ErrorCode.TOPIC_DELETION_DISABLED)
