"""The membership of a consumer without a group: nothing to join, and nobody to commit to."""

from collections.abc import Callable, Iterable, Mapping

from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.group.group_metadata import GroupMetadata
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.errors import NoGroup

_REASON = "this consumer has no group.id: set it to subscribe to topics and to commit offsets, or assign partitions"


class NoMembership:
    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        self.wake: Callable[[], None] = lambda: None

    @property
    def needs_poll(self) -> bool:
        return self._subscriptions.has_group_assignment

    async def poll(self, timeout_ms: float) -> None:
        if self._subscriptions.has_group_assignment:
            raise NoGroup(_REASON)

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float) -> None:
        raise NoGroup(_REASON)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        raise NoGroup(_REASON)

    def group_metadata(self) -> GroupMetadata:
        raise NoGroup(_REASON)

    def enforce_rebalance(self, reason: str | None = None) -> None:
        raise NoGroup(_REASON)

    async def leave(self, timeout_ms: float) -> None:
        """There is nothing to leave."""

    async def close(self, timeout_ms: float) -> None:
        """Nor to end."""
