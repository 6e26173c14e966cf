"""What an application is told of its group, beside what a coordinator says itself (`Refused`)."""

from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode


class CommitFailed(ApiError):
    """Somebody else may have the partitions by now: what was not committed will be handled again."""

    code = ErrorCode.ILLEGAL_GENERATION


class RebalanceInProgress(ApiError):
    """Not now: poll, so that the rebalance comes to its end, and commit again."""

    code = ErrorCode.REBALANCE_IN_PROGRESS


class NoGroup(ApiError):
    """The consumer has no `group.id`, and nobody to commit to."""

    code = ErrorCode.INVALID_GROUP_ID
