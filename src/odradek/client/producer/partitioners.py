"""Partitioners for records that name no partition. Pure: randomness is passed in.

A key decides by its hash (`murmur2`, as Java's), unless `partitioner.ignore.keys`. Without a key the built-in
partitioner of KIP-794 stays with one partition until `batch.size` bytes went to it, so that batches become full, and
then takes another at random. With `partitioner.adaptive.partitioning.enable` partitions whose queues are long are taken
less often, and with `partitioner.availability.timeout.ms` those whose leader has taken nothing for so long not at all.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from odradek.common.randomness import Randomness


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """Load of a partition that has a leader."""

    partition: int
    #: Batches that wait.
    queued: int
    #: Whether its leader has taken something lately.
    is_available: bool = True


class StickyPartitioner:
    """Sticky partitioner of one topic. `partition` gets the next record without a key."""

    __slots__ = ("_batch_size", "_is_adaptive", "_loads", "_random", "partition", "produced_bytes")

    def __init__(
        self,
        batch_size: int,
        loads: Callable[[], tuple[int, Sequence[PartitionLoad]]],
        random: Randomness,
        *,
        is_adaptive: bool = True,
    ) -> None:
        """`loads` gives the number of partitions, and the load of those that have a leader."""
        # Without batches every record may go elsewhere, as in Kafka.
        self._batch_size = max(1, batch_size)
        self._loads = loads
        self._random = random
        self._is_adaptive = is_adaptive
        self.produced_bytes = 0
        self.partition = 0
        self.switch()

    def batch_ended(self, size_bytes: int, next_bytes: int) -> None:
        """A batch of so much is full, or was sent; a record of `next_bytes` needs another one, and its partition.

        Only here is it changed: a switch within a batch would leave it to linger half empty."""
        self.produced_bytes += size_bytes
        if self.produced_bytes + next_bytes >= self._batch_size:
            self.switch()

    def switch(self) -> None:
        self.produced_bytes = 0
        count, loads = self._loads()
        self.partition = self._next(count, loads)

    def _next(self, count: int, loads: Sequence[PartitionLoad]) -> int:
        available = [load for load in loads if load.is_available] if self._is_adaptive else []
        if not available or (len(available) == len(loads) and len({load.queued for load in available}) == 1):
            return loads[self._random.randrange(len(loads))].partition if loads else self._random.randrange(count)
        # The longest queue gets one share, each other one more for every batch that it is shorter.
        most = max(load.queued for load in available) + 1
        shares, total = list[int](), 0
        for load in available:
            total += most - load.queued
            shares.append(total)
        return available[bisect_right(shares, self._random.randrange(total))].partition


class RoundRobinPartitioner:
    """`RoundRobinPartitioner`: each record to the next partition that has a leader, whatever its key."""

    __slots__ = ("_counters",)

    def __init__(self) -> None:
        self._counters: dict[str, int] = {}

    def partition(self, topic: str, partition_count: int, available: Sequence[int]) -> int:
        """`available` are those with a leader."""
        counter = self._counters.get(topic, 0)
        self._counters[topic] = counter + 1
        return available[counter % len(available)] if available else counter % partition_count
