"""What a replica refuses, each with Kafka's code. Refusals of the log itself are in `log.errors`."""

from odradek.common.failures import ApiError


class UnknownTopicOrPartition(ApiError):
    code = 3


class NotLeaderOrFollower(ApiError):
    """The asker's metadata is old, or this broker's is."""

    code = 6


class ReplicaNotAvailable(ApiError):
    code = 9


class NotEnoughReplicas(ApiError):
    """Fewer in sync than `min.insync.replicas`: nothing was appended."""

    code = 19


class PolicyViolation(ApiError):
    code = 44


class UnknownLeaderEpoch(ApiError):
    """The asker knows of a later leader epoch than this broker."""

    code = 75


class OffsetNotAvailable(ApiError):
    """The high watermark has not reached the start of the leader's epoch yet."""

    code = 78


class UnknownTopicId(ApiError):
    code = 100
