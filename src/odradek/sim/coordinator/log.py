"""The internal topic of simulated coordinators: what survives, whoever leads.

A partition is one list of batches. Its replicas are not simulated one by one; what they amount to is: the high
watermark trails the end (`hold` keeps it where it is), a change of leadership keeps all that is committed and may lose
any of the rest, and a node that does not lead is refused. One that has not heard of that yet has a view of its own, in
which nothing is ever committed.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from odradek.common.failures import ApiError
from odradek.coordinator.runtime.shard import Writer
from odradek.records.batch import Batch, read_batch
from odradek.records.batch_stamps import assign
from odradek.replica.errors import NotLeaderOrFollower

NOBODY_LEADS = -1


@dataclass(slots=True)
class SimulatedPartition:
    batches: list[bytes] = field(default_factory=list)
    high_watermark: int = 0
    leader: int = NOBODY_LEADS
    leader_epoch: int = 0
    #: The high watermark moves by `commit` alone.
    is_held: bool = False

    @property
    def end_offset(self) -> int:
        return _end(self.batches[-1]) if self.batches else 0

    def ends_above(self, offset: int) -> list[int]:
        """Of the batches that go on beyond it."""
        return [_end(batch) for batch in self.batches[bisect_right(self.batches, offset, key=_end) :]]

    def batches_between(self, offset: int, end_offset: int) -> Iterator[Batch]:
        for data in self.batches[bisect_right(self.batches, offset, key=_end) :]:
            batch = read_batch(data, 0)
            if batch.next_offset > end_offset:
                break
            yield batch

    def commit(self, offset: int | None = None) -> None:
        """Up to `offset`, or all."""
        end = self.end_offset
        self.high_watermark = max(self.high_watermark, end if offset is None else min(offset, end))

    def elect(self, leader: int, kept_offset: int | None = None) -> None:
        """In a new epoch. Whole batches from `kept_offset` on are lost, though none below the high watermark."""
        if kept_offset is not None:
            kept = max(kept_offset, self.high_watermark)
            del self.batches[bisect_right(self.batches, kept, key=_end) :]
        self.leader = leader
        self.leader_epoch += 1


def _end(batch: bytes) -> int:
    return read_batch(batch, 0).next_offset


class SimulatedTopic:
    def __init__(self, partition_count: int = 1) -> None:
        self.partitions = {number: SimulatedPartition() for number in range(partition_count)}


class SimulatedLog:
    """The topic as one node sees it: the `PartitionLog` of its runtime."""

    def __init__(self, topic: SimulatedTopic, node_id: int) -> None:
        self._topic = topic
        self._node_id = node_id
        #: Partitions that others lead by now, as this node knows them.
        self.views: dict[int, SimulatedPartition] = {}
        #: Raised by the next appends, while it is there.
        self.refusal: ApiError | None = None
        #: Told of each append; the simulation commits it later.
        self.on_append: Callable[[int], None] = lambda _: None

    def append(self, partition: int, batch: bytes, writer: Writer) -> int:
        led = self._led(partition)
        if self.refusal is not None:
            raise self.refusal
        written = bytearray(batch)
        assign(written, 0, led.end_offset, led.leader_epoch)
        led.batches.append(bytes(written))
        if partition in self.views:
            return led.end_offset
        if not led.is_held:
            led.commit()
        self.on_append(partition)
        return led.end_offset

    def high_watermark(self, partition: int) -> int:
        return self._led(partition).high_watermark

    def watch(self, partition: int, offset: int) -> None:
        """Whoever moves the high watermark tells the runtime in any case."""

    def start_offset(self, partition: int) -> int:
        self._led(partition)
        return 0

    def end_offset(self, partition: int) -> int:
        return self._led(partition).end_offset

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        batches = self._led(partition).batches
        found = bytearray()
        for batch in batches[bisect_right(batches, offset, key=_end) :]:
            found += batch
            if len(found) >= max_bytes:
                break
        return bytes(found)

    def _led(self, partition: int) -> SimulatedPartition:
        if partition in self.views:
            return self.views[partition]
        found = self._topic.partitions[partition]
        if found.leader != self._node_id:
            raise NotLeaderOrFollower(f"node {self._node_id} does not lead partition {partition}, {found.leader} does")
        return found
