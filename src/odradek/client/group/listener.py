"""Callbacks of an application about its partitions."""

from collections.abc import Awaitable, Sequence

from odradek.client.types import TopicPartition


class RebalanceListener:
    """Override what you need; a method may be a coroutine function or a plain one.

    Methods are called in the task that polls, between two polls: no record of a partition comes after it was revoked,
    or before it was assigned. Commit in `on_partitions_revoked`, not in `on_partitions_lost`: what is lost belongs to
    somebody else already.
    """

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> Awaitable[None] | None:
        """Partitions that were added; called once for each rebalance, also with none."""
        return None

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> Awaitable[None] | None:
        """Partitions that are about to be given up; they are still ours while this runs."""
        return None

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> Awaitable[None] | None:
        """Partitions that are no longer ours: the group has gone on without us. As if revoked unless overridden."""
        return self.on_partitions_revoked(partitions)
