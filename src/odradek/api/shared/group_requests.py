"""Helpers of the handlers of group requests."""

from collections.abc import Container

from odradek.api.dispatch.context import Context
from odradek.common.failures import ApiError
from odradek.coordinator.group.values import RequestContext
from odradek.metadata.image.topics import TopicImage
from odradek.protocol.error_codes import ErrorCode
from odradek.security.resources import Operation, Resource, ResourceType


def authorize_group(ctx: Context, operation: Operation, group_id: str) -> None:
    """Raises ApiError."""
    ctx.authorize(operation, group_resource(group_id))


def group_resource(group_id: str) -> Resource:
    return Resource(ResourceType.GROUP, group_id)


def refuse_empty_id(group_id: str) -> None:
    """Raises ApiError: only offsets may belong to a group without a name, as those of very old clients do."""
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID.message, ErrorCode.INVALID_GROUP_ID)


def request_context(ctx: Context) -> RequestContext:
    return RequestContext(ctx.api_version, ctx.client_id, f"/{ctx.session.client_address}")


def partition_error(ctx: Context, allowed: Container[str], topic: str, partition: int) -> ErrorCode:
    """Why offsets of a partition cannot be written by whoever asks; NONE if they can."""
    if topic not in allowed:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topic_image: TopicImage | None = ctx.services.image().topics.by_name.get(topic)
    is_there = topic_image is not None and partition in topic_image.partitions
    return ErrorCode.NONE if is_there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
