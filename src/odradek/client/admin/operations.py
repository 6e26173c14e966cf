"""All operations on a cluster, grouped by subject, over one router.

Each group is imported when it is first used: together they need the messages of forty APIs, and a command of the
command line needs those of one or two.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from odradek.client.admin.cluster_router import ClusterRouter

if TYPE_CHECKING:
    from odradek.client.admin.cluster import ClusterOperations
    from odradek.client.admin.configs import ConfigOperations
    from odradek.client.admin.features import FeatureOperations
    from odradek.client.admin.group_offsets import GroupOffsetOperations
    from odradek.client.admin.groups import GroupOperations
    from odradek.client.admin.log_dirs import LogDirOperations
    from odradek.client.admin.partitions import PartitionOperations
    from odradek.client.admin.quorum import QuorumOperations
    from odradek.client.admin.quotas import QuotaOperations
    from odradek.client.admin.reassignments import ReassignmentOperations
    from odradek.client.admin.topics import TopicOperations
    from odradek.client.admin.transactions import TransactionOperations


class AdminOperations:
    """Operations on a cluster by subject. Those on several resources return an outcome for each of them."""

    def __init__(self, router: ClusterRouter) -> None:
        self.router = router

    @cached_property
    def topics(self) -> "TopicOperations":
        from odradek.client.admin.topics import TopicOperations

        return TopicOperations(self.router)

    @cached_property
    def partitions(self) -> "PartitionOperations":
        from odradek.client.admin.partitions import PartitionOperations

        return PartitionOperations(self.router)

    @cached_property
    def reassignments(self) -> "ReassignmentOperations":
        from odradek.client.admin.reassignments import ReassignmentOperations

        return ReassignmentOperations(self.router)

    @cached_property
    def log_dirs(self) -> "LogDirOperations":
        from odradek.client.admin.log_dirs import LogDirOperations

        return LogDirOperations(self.router)

    @cached_property
    def configs(self) -> "ConfigOperations":
        from odradek.client.admin.configs import ConfigOperations

        return ConfigOperations(self.router)

    @cached_property
    def quotas(self) -> "QuotaOperations":
        from odradek.client.admin.quotas import QuotaOperations

        return QuotaOperations(self.router)

    @cached_property
    def groups(self) -> "GroupOperations":
        from odradek.client.admin.groups import GroupOperations

        return GroupOperations(self.router)

    @cached_property
    def group_offsets(self) -> "GroupOffsetOperations":
        from odradek.client.admin.group_offsets import GroupOffsetOperations

        return GroupOffsetOperations(self.router)

    @cached_property
    def transactions(self) -> "TransactionOperations":
        from odradek.client.admin.transactions import TransactionOperations

        return TransactionOperations(self.router)

    @cached_property
    def cluster(self) -> "ClusterOperations":
        from odradek.client.admin.cluster import ClusterOperations

        return ClusterOperations(self.router)

    @cached_property
    def features(self) -> "FeatureOperations":
        from odradek.client.admin.features import FeatureOperations

        return FeatureOperations(self.router)

    @cached_property
    def quorum(self) -> "QuorumOperations":
        from odradek.client.admin.quorum import QuorumOperations

        return QuorumOperations(self.router)
