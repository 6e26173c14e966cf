"""Helpers of the handlers of transaction requests."""

from odradek.api.dispatch.context import Context
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.security.resources import Resource, ResourceType


def transactional_id(name: str) -> Resource:
    return Resource(ResourceType.TRANSACTIONAL_ID, name)


def check_id(name: str | None) -> None:
    if not name:
        raise ApiError("A transactional id must not be empty.", ErrorCode.INVALID_REQUEST)


def for_old_clients(ctx: Context, error: ApiError, first_version: int) -> ApiError:
    """Return the error with INVALID_PRODUCER_EPOCH instead of PRODUCER_FENCED for versions before `first_version`."""
    if error.code == ErrorCode.PRODUCER_FENCED and ctx.api_version < first_version:
        return ApiError(error.message, ErrorCode.INVALID_PRODUCER_EPOCH)
    return error
