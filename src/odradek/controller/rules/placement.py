"""Placement of new replicas: striped over racks and, within a rack, over its brokers.

Each partition starts at the rack after that of the previous partition, and takes one broker of each rack in turn until
it has its replicas; each rack starts at the next of its brokers. The first replica, the preferred leader, is never on a
fenced broker; others are only if a rack has no unfenced broker left. After as many partitions as there are unfenced
brokers the lists are shuffled, so that the same brokers do not always share partitions.

Brokers without a rack form one rack. The same seed gives the same placement.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from odradek.common.failures import ApiError
from odradek.common.randomness import Randomness
from odradek.protocol.error_codes import ErrorCode


class InvalidReplicationFactor(ApiError):
    """The brokers cannot hold so many replicas."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.INVALID_REPLICATION_FACTOR)


@dataclass(frozen=True, slots=True)
class UsableBroker:
    id: int
    rack: str | None
    fenced: bool


class _BrokerList:
    """Returns each of its brokers once for a partition, and starts one later for the next partition."""

    def __init__(self) -> None:
        self.brokers: list[int] = []
        self._index = self._offset = self._epoch = 0

    def start(self, random: Randomness) -> None:
        if self.brokers:
            self.brokers.sort()
            self._offset = random.randrange(len(self.brokers))

    def next(self, epoch: int) -> int | None:
        count = len(self.brokers)
        if count == 0:
            return None
        if self._epoch != epoch:
            self._epoch, self._index, self._offset = epoch, 0, (self._offset + 1) % count
        if self._index >= count:
            return None
        broker = self.brokers[(self._index + self._offset) % count]
        self._index += 1
        return broker


class _Rack:
    def __init__(self) -> None:
        self.fenced = _BrokerList()
        self.unfenced = _BrokerList()

    def next(self, epoch: int) -> int | None:
        broker = self.unfenced.next(epoch)
        return self.fenced.next(epoch) if broker is None else broker


class _RackList:
    def __init__(self, random: Randomness, brokers: Iterable[UsableBroker]) -> None:
        self._random = random
        racks: dict[str | None, _Rack] = {}
        self.unfenced_count = self.total_count = 0
        for broker in brokers:
            rack = racks.setdefault(broker.rack, _Rack())
            (rack.fenced if broker.fenced else rack.unfenced).brokers.append(broker.id)
            self.unfenced_count += not broker.fenced
            self.total_count += 1
        names = sorted(racks, key=lambda name: (name is not None, name or ""))
        self._racks = [racks[name] for name in names]
        for rack in self._racks:
            rack.fenced.start(random)
            rack.unfenced.start(random)
        self._offset = random.randrange(len(self._racks)) if self._racks else 0
        self._epoch = 0

    def place(self, replication_factor: int) -> list[int]:
        # A single unfenced broker is never shuffled: its list would restart without end.
        if self._epoch == self.unfenced_count and self.unfenced_count > 1:
            self._shuffle()
            self._epoch = 0
        if self._offset >= len(self._racks):
            self._offset = 0
        first_rack, first = self._first()
        replicas = [first]
        index, skip = self._offset, first_rack
        while len(replicas) < replication_factor:
            if index == skip:
                skip = -1  # this rack has the first replica; from the second round on it takes part again
            else:
                broker = self._racks[index].next(self._epoch)
                if broker is not None:
                    replicas.append(broker)
            index = (index + 1) % len(self._racks)
        self._epoch += 1
        self._offset += 1
        return replicas

    def _first(self) -> tuple[int, int]:
        index = self._offset
        while True:
            broker = self._racks[index].unfenced.next(self._epoch)
            if broker is not None:
                return index, broker
            index = (index + 1) % len(self._racks)

    def _shuffle(self) -> None:
        self._random.shuffle(self._racks)
        for rack in self._racks:
            self._random.shuffle(rack.fenced.brokers)
            self._random.shuffle(rack.unfenced.brokers)


class StripedReplicaPlacer:
    def __init__(self, random: Randomness) -> None:
        self._random = random

    def place(self, partition_count: int, replication_factor: int, brokers: Iterable[UsableBroker]) -> list[list[int]]:
        """Return the replicas of each partition. Raises InvalidReplicationFactor if there are too few brokers."""
        racks = _RackList(self._random, brokers)
        if replication_factor <= 0:
            raise InvalidReplicationFactor(
                f"Invalid replication factor {replication_factor}: the replication factor must be positive."
            )
        if racks.unfenced_count == 0:
            raise InvalidReplicationFactor(
                "All brokers are currently fenced, or have all their log directories cordoned."
            )
        if replication_factor > racks.total_count:
            raise InvalidReplicationFactor(
                f"The target replication factor of {replication_factor} cannot be reached because only "
                f"{racks.total_count} broker(s) are registered or some brokers have all their log directories cordoned."
            )
        return [racks.place(replication_factor) for _ in range(partition_count)]
