"""The committed offsets of a shard's groups: what replay makes of the log.

Offsets that a transaction commits wait beside the others, by producer, until its end marker comes: then they count, or
are dropped. A partition with such an offset is unstable. Of a plain and a transactional commit the one further down the
log counts, or compaction (which keeps the latter record) would change the outcome.
"""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.coordinator.group.values import CommittedOffset


class OffsetKey(NamedTuple):
    group_id: str
    topic: str
    partition: int


class OffsetTable:
    """Offsets by group, topic and partition; without empty branches."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[int, CommittedOffset]]] = {}

    def topics(self, group_id: str) -> dict[str, dict[int, CommittedOffset]]:
        """Return the topics of a group; not to be modified."""
        return self._groups.get(group_id, {})

    def get(self, key: OffsetKey) -> CommittedOffset | None:
        return self._groups.get(key.group_id, {}).get(key.topic, {}).get(key.partition)

    def put(self, key: OffsetKey, committed: CommittedOffset) -> None:
        self._groups.setdefault(key.group_id, {}).setdefault(key.topic, {})[key.partition] = committed

    def remove(self, key: OffsetKey) -> None:
        topics = self._groups.get(key.group_id, {})
        partitions = topics.get(key.topic, {})
        partitions.pop(key.partition, None)
        if not partitions:
            topics.pop(key.topic, None)
        if not topics:
            self._groups.pop(key.group_id, None)

    def items(self) -> Iterator[tuple[OffsetKey, CommittedOffset]]:
        for group_id, topics in self._groups.items():
            for topic, partitions in topics.items():
                for partition, committed in partitions.items():
                    yield OffsetKey(group_id, topic, partition), committed


class Offsets:
    __slots__ = ("_open", "committed", "pending")

    def __init__(self) -> None:
        self.committed = OffsetTable()
        #: By producer id: of its open transaction.
        self.pending: dict[int, OffsetTable] = {}
        #: By group and partition: the producers whose open transactions have an offset for it.
        self._open: dict[str, dict[OffsetKey, dict[int, None]]] = {}

    def put(self, key: OffsetKey, committed: CommittedOffset, producer_id: int) -> None:
        if producer_id < 0:
            self.committed.put(key, committed)
            return
        self.pending.setdefault(producer_id, OffsetTable()).put(key, committed)
        self._open.setdefault(key.group_id, {}).setdefault(key, {})[producer_id] = None

    def remove(self, key: OffsetKey) -> None:
        """Remove an offset, including those of open transactions."""
        self.committed.remove(key)
        for producer_id in list(self._open.get(key.group_id, {}).get(key, {})):
            self.pending[producer_id].remove(key)
            self._close(key, producer_id)

    def end_transaction(self, producer_id: int, is_committed: bool) -> None:
        pending = self.pending.pop(producer_id, None)
        if pending is None:
            return
        for key, offset in pending.items():
            self._close(key, producer_id)
            previous = self.committed.get(key)
            if is_committed and (previous is None or offset.record_offset > previous.record_offset):
                self.committed.put(key, offset)

    def is_unstable(self, key: OffsetKey) -> bool:
        return key in self._open.get(key.group_id, {})

    def unstable(self, group_id: str) -> list[OffsetKey]:
        return list(self._open.get(group_id, {}))

    def _close(self, key: OffsetKey, producer_id: int) -> None:
        partitions = self._open[key.group_id]
        producers = partitions[key]
        del producers[producer_id]
        if not producers:
            del partitions[key]
        if not partitions:
            del self._open[key.group_id]
