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


def not_in_group(group_id: str) -> CommitFailed:
    return CommitFailed(
        f"this consumer is not in group {group_id} at the moment: it has been too slow, or was removed; its partitions"
        " may be another's already"
    )


def too_late(group_id: str) -> CommitFailed:
    return CommitFailed(
        f"the commit came too late: group {group_id} has gone on without this consumer; handle records faster, poll"
        " fewer of them at a time (max.poll.records), or raise max.poll.interval.ms"
    )


def rebalancing(group_id: str) -> RebalanceInProgress:
    return RebalanceInProgress(f"group {group_id} is rebalancing: poll until that is over, and commit again")
