"""Partitions of the open transaction. Pure.

With version 1 of transactions a partition is first new, then on its way to the coordinator, then added; nothing is sent
to it before. With version 2 it counts as added at once, since brokers add it.
"""

from collections.abc import Iterable, Set

from odradek.client.types import TopicPartition


class TransactionPartitions:
    def __init__(self) -> None:
        self._new: dict[TopicPartition, None] = {}
        self._adding: dict[TopicPartition, None] = {}
        self._added: dict[TopicPartition, None] = {}
        #: Partitions that records may be sent to.
        self.added: Set[TopicPartition] = self._added.keys()
        #: Whether the coordinator may know of the transaction. If not, there is nothing to end.
        self.has_started = False

    @property
    def has_new(self) -> bool:
        return bool(self._new)

    def add(self, partition: TopicPartition, *, is_version_2: bool) -> None:
        if is_version_2:
            self._added[partition] = None
        elif partition not in self._added and partition not in self._adding:
            self._new[partition] = None

    def take_new(self) -> tuple[TopicPartition, ...]:
        """Return all partitions that must be sent to the coordinator, those that are on their way included."""
        self._adding.update(self._new)
        self._new.clear()
        return tuple(self._adding)

    def drop_new(self) -> None:
        """Forget partitions that nothing was sent to."""
        self._new.clear()

    def confirm(self, partitions: Iterable[TopicPartition]) -> None:
        """Note that the coordinator has added the partitions."""
        for partition in partitions:
            self._adding.pop(partition, None)
            self._added[partition] = None
        self.has_started = True

    def reject(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._adding.pop(partition, None)

    def mark_started(self) -> None:
        self.has_started = True

    def clear(self) -> None:
        """Forget the transaction, which has ended."""
        self._new.clear()
        self._adding.clear()
        self._added.clear()
        self.has_started = False
