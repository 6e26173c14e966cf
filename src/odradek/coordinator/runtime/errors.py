"""Errors of a coordinator, and the mapping of errors of its log."""

from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode


class CoordinatorLoadInProgress(ApiError):
    code = 14


class CoordinatorNotAvailable(ApiError):
    """The internal topic is not there yet, or cannot be written to for now."""

    code = 15


class NotCoordinator(ApiError):
    """Another broker leads the partition: the client looks for it again."""

    code = 16


_UNAVAILABLE = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
)
_NOT_HERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR)
_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE)


def of_log_error(error: ApiError) -> ApiError:
    """Clients know what to do about a coordinator that is elsewhere or not available, not about its log."""
    if error.code == ErrorCode.NETWORK_EXCEPTION:
        # The transaction coordinator could not be reached to verify a transaction. Clients retry this error without
        # looking for the group's coordinator again.
        return CoordinatorLoadInProgress(error.message)
    if error.code in _UNAVAILABLE:
        return CoordinatorNotAvailable(error.message)
    if error.code in _NOT_HERE:
        return NotCoordinator(error.message)
    if error.code in _TOO_LARGE:
        return ApiError(error.message, ErrorCode.UNKNOWN_SERVER_ERROR)
    return error
