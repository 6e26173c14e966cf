"""Errors of replicas with Kafka's codes. Errors of the log itself are in `log.errors`."""

from odradek.common.failures import ApiError


class UnknownTopicOrPartition(ApiError):
    code = 3


class NotLeaderOrFollower(ApiError):
    """The metadata of the client is out of date, or that of this broker."""

    code = 6


class ReplicaNotAvailable(ApiError):
    code = 9


class NotEnoughReplicas(ApiError):
    """Fewer replicas are in sync than `min.insync.replicas`: nothing was appended."""

    code = 19


class PolicyViolation(ApiError):
    code = 44


class UnknownLeaderEpoch(ApiError):
    """The request has a later leader epoch than this broker."""

    code = 75


class OffsetNotAvailable(ApiError):
    """The high watermark has not reached the start of the leader's epoch yet."""

    code = 78


class UnknownTopicId(ApiError):
    code = 100
