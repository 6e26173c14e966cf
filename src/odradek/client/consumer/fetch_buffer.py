"""Fetched data that was not returned to the application yet, in the order of arrival. Pure.

A partition may have two chunks with something in them: one that the application works on, and one that was fetched
meanwhile. More would be memory for nothing, fewer would make the application wait for the network after each.
"""

from collections.abc import Iterator

from odradek.client.consumer.completed_fetch import CompletedFetch
from odradek.client.types import TopicPartition

#: Chunks of a partition that may wait here before it is asked for again.
DEPTH = 2


class FetchBuffer:
    def __init__(self) -> None:
        self._by_partition: dict[TopicPartition, list[CompletedFetch]] = {}
        self._queue: list[CompletedFetch] = []

    def __bool__(self) -> bool:
        return bool(self._queue)

    def __iter__(self) -> Iterator[CompletedFetch]:
        """Iterate in the order of arrival over a copy, so that items may be removed meanwhile."""
        return iter(tuple(self._queue))

    def add(self, fetch: CompletedFetch) -> None:
        self._queue.append(fetch)
        self._by_partition.setdefault(fetch.partition, []).append(fetch)

    def remove(self, fetch: CompletedFetch) -> None:
        self._queue.remove(fetch)
        chunks = self._by_partition[fetch.partition]
        chunks.remove(fetch)
        if not chunks:
            del self._by_partition[fetch.partition]

    def last(self, partition: TopicPartition) -> CompletedFetch | None:
        chunks = self._by_partition.get(partition)
        return chunks[-1] if chunks else None

    def is_full(self, partition: TopicPartition) -> bool:
        """Return whether the partition has enough data and is not fetched now."""
        chunks = self._by_partition.get(partition)
        if chunks is None:
            return False
        return chunks[-1].is_the_end or sum(not chunk.is_drained for chunk in chunks) >= DEPTH

    def partitions(self) -> tuple[TopicPartition, ...]:
        return tuple(self._by_partition)

    def clean(self) -> None:
        """Drops what is of no use any more: what was sought away from, or given up."""
        for fetch in self:
            if fetch.is_stale:
                self.remove(fetch)
