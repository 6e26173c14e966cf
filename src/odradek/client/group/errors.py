"""Messages of the errors of a consumer group that the client itself raises."""

from odradek.errors import CommitFailed, RebalanceInProgress


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
