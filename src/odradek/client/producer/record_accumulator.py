"""Records that wait to be sent: a queue of batches for each partition, within `buffer.memory`. Pure.

A record goes into the last batch of its partition while that has room, else into a new one. A new batch takes
`batch.size` bytes of `buffer.memory` (more for a record that is larger) until it is done; where there is too little,
`append` says so, and whoever wants to append waits.

A partition can be sent when its first batch is full, has waited for `linger.ms`, when memory is exhausted, or when
somebody flushes. `ready` finds the leaders of such partitions; `drain` takes for each leader that can be sent to the
first batch of all its partitions, up to `max.request.size`. Batches that are to be sent again come first in their queue
and wait for their back-off, unless the leader has changed. With one request in flight at a time a partition is muted
while a batch of it is on its way, so that nothing overtakes it; sequence numbers keep the order otherwise.

Batches older than `delivery.timeout.ms` expire, wherever they are.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from odradek.client.net.backoff import Backoff
from odradek.client.producer.partitioners import PartitionLoad, StickyPartitioner
from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.types import TopicPartition
from odradek.common.randomness import Randomness
from odradek.records.batch import HEADER_BYTES
from odradek.records.compression import Compression
from odradek.records.record_packer import RECORD_OVERHEAD_BYTES, Headers

#: The ratio that is expected of a topic's next batch follows what its last ones had: quickly when it gets worse, slowly
#: when it gets better. A batch that turns out too large for the broker costs a split.
_RATIO_STEP_DOWN = 0.005
_RATIO_STEP_UP = 0.05
_RATIO_MARGIN = 1.05

#: Partitions that are compared when another is to be taken: of a topic with more, so many are drawn. All thousand of a
#: large topic would cost more than the batch that goes there.
_LOADS_MAX = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class AccumulatorSettings:
    batch_size: int = 16_384
    linger_ms: float = 5
    buffer_memory: int = 33_554_432
    max_request_size: int = 1_048_576
    delivery_timeout_ms: float = 120_000
    codec: Compression = Compression.NONE
    level: int | None = None
    #: Nothing of a partition is sent while something of it is on its way.
    is_muting: bool = False
    is_adaptive: bool = True
    availability_timeout_ms: float = 0


@dataclass(slots=True)
class Ready:
    """What could be sent now, to whom, and when to look again."""

    nodes: list[int] = field(default_factory=list)
    next_check_ms: float = float("inf")
    #: With records for partitions that nobody leads, as far as is known.
    unknown_topics: list[str] = field(default_factory=list)


@dataclass(slots=True)
class NodeLatency:
    """When something was ready for a node, and when it last took something."""

    ready_ms: float
    drained_ms: float


@dataclass(slots=True)
class Drained:
    """What goes into one request to each node, and what is left of the same partitions."""

    batches: dict[int, list[ProducerBatch]] = field(default_factory=dict)
    #: Whether some of it could be sent at once.
    has_more: bool = False
    next_check_ms: float = float("inf")

    def leave(self, queue: "PartitionQueue", linger_ms: float) -> None:
        if len(queue.batches) > 1:
            self.has_more = True
        elif queue.batches:
            self.next_check_ms = min(self.next_check_ms, queue.batches[0].created_ms + linger_ms)


class PartitionQueue:
    __slots__ = ("batches", "is_muted", "topic_partition")

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.batches: deque[ProducerBatch] = deque()
        self.is_muted = False


class TopicQueues:
    """A topic that is written to; `partition_count` follows the metadata."""

    __slots__ = ("_gone", "name", "queues", "ratio", "sticky")

    def __init__(self, name: str, partition_count: int) -> None:
        self.name = name
        self.queues = [PartitionQueue(TopicPartition(name, number)) for number in range(partition_count)]
        #: Of partitions that the topic does not have any more, with what was taken for them.
        self._gone: dict[int, PartitionQueue] = {}
        #: Of the size after compression to that before.
        self.ratio = 1.0
        self.sticky: StickyPartitioner

    @property
    def partition_count(self) -> int:
        return len(self.queues)

    def queue(self, number: int) -> PartitionQueue:
        return self.queues[number] if number < len(self.queues) else self._gone[number]

    def resize(self, partition_count: int) -> None:
        """It has fewer if it was deleted and made anew; of one that is not known nothing is said."""
        for number in range(len(self.queues), partition_count):
            was_there = number in self._gone
            self.queues.append(
                self._gone.pop(number) if was_there else PartitionQueue(TopicPartition(self.name, number))
            )
        while len(self.queues) > partition_count > 0:
            queue = self.queues.pop()
            self._gone[len(self.queues)] = queue
            if queue.batches:
                queue.batches[-1].seal()
        if self.sticky.partition >= len(self.queues):
            self.sticky.switch()


#: Who leads a partition, and since which epoch.
Leaders = Callable[[TopicPartition], tuple[int, int] | None]


class RecordAccumulator:
    def __init__(
        self,
        settings: AccumulatorSettings,
        leader_of: Leaders,
        backoff: Backoff,
        random: Randomness,
        transactions: TransactionManager | None = None,
    ) -> None:
        self.settings = settings
        self.available_bytes = settings.buffer_memory
        self.topics: dict[str, TopicQueues] = {}
        #: Not done yet, by age.
        self.incomplete: dict[ProducerBatch, None] = {}
        self.flushes = 0
        self.waiting_for_memory = 0
        self._leader_of = leader_of
        self._backoff = backoff
        self._random = random
        self._transactions = transactions
        #: Those with batches, in the order in which they are drained.
        self._active: dict[TopicPartition, PartitionQueue] = {}
        self._latencies: dict[int, NodeLatency] = {}

    # Taking records

    def topic(self, name: str, partition_count: int) -> TopicQueues:
        found = self.topics.get(name)
        if found is None:
            found = self.topics[name] = TopicQueues(name, partition_count)
            found.sticky = StickyPartitioner(
                self.settings.batch_size,
                lambda: (found.partition_count, self._loads(found)),
                self._random,
                is_adaptive=self.settings.is_adaptive,
            )
        else:
            found.resize(partition_count)
        return found

    def new_batch(
        self, queue: PartitionQueue, topic: TopicQueues, size_bytes: int, now_ms: float
    ) -> ProducerBatch | None:
        """An open one at the end of the queue, for a record of so much at most; None while there is no memory."""
        settings = self.settings
        reserved_bytes = max(settings.batch_size, size_bytes + HEADER_BYTES)
        if reserved_bytes > self.available_bytes:
            return None
        limit_bytes = min(settings.batch_size, settings.max_request_size) - HEADER_BYTES
        if settings.codec:
            limit_bytes = int(limit_bytes / (topic.ratio * _RATIO_MARGIN))
        self.available_bytes -= reserved_bytes
        batch = ProducerBatch(queue.topic_partition, limit_bytes, reserved_bytes, now_ms)
        if queue.batches:
            queue.batches[-1].seal()  # whatever is sent from now on comes after what goes into the new one
        queue.batches.append(batch)
        self._active[queue.topic_partition] = queue
        self.incomplete[batch] = None
        return batch

    def too_large(self, size_bytes: int) -> str | None:
        """Why a record with so many bytes can never be sent."""
        settings = self.settings
        if size_bytes > settings.max_request_size:
            return f"a record of {size_bytes} bytes is larger than max.request.size ({settings.max_request_size})"
        if size_bytes > settings.buffer_memory:
            return f"a record of {size_bytes} bytes is larger than buffer.memory ({settings.buffer_memory})"
        return None

    # Sending them

    def ready(self, now_ms: float) -> Ready:
        found = Ready()
        transactions = self._transactions
        is_urgent = (
            self.waiting_for_memory > 0
            or self.flushes > 0
            or (transactions is not None and transactions.states.is_completing)
        )
        for queue in self._active.values():
            leader = self._leader_of(queue.topic_partition)
            if leader is None:
                found.unknown_topics.append(queue.topic_partition.topic)
                continue
            if queue.is_muted or leader[0] in found.nodes:
                continue
            first = queue.batches[0]
            if not first.count:  # whoever made it has not come to append yet
                continue
            waits_ms = self._backoff_left_ms(first, leader[1], now_ms)
            if waits_ms <= 0:
                is_full = len(queue.batches) > 1 or first.is_closed
                if not (is_full or is_urgent):
                    waits_ms = first.created_ms + self.settings.linger_ms - now_ms
            if waits_ms <= 0:
                found.nodes.append(leader[0])
            else:
                found.next_check_ms = min(found.next_check_ms, now_ms + waits_ms)
        return found

    def _backoff_left_ms(self, batch: ProducerBatch, leader_epoch: int, now_ms: float) -> float:
        """Before it is sent again. A new leader is asked at once: the old one is what was waited for."""
        is_due = not batch.is_retried or leader_epoch > batch.leader_epoch
        return 0 if is_due else batch.retry_at_ms - now_ms

    def drain(self, nodes: Sequence[int], now_ms: float) -> Drained:
        """For each of these, what goes into one request: closed, numbered, and out of its queue."""
        found = Drained()
        drained: dict[int, list[ProducerBatch]] = {node: [] for node in nodes}
        sizes = dict.fromkeys(nodes, 0)
        for topic_partition, queue in list(self._active.items()):
            leader = self._leader_of(topic_partition)
            if leader is None or leader[0] not in drained or queue.is_muted:
                continue
            node, epoch = leader
            first = queue.batches[0]
            if not first.count or self._backoff_left_ms(first, epoch, now_ms) > 0:
                continue
            if drained[node] and sizes[node] + first.size_bytes > self.settings.max_request_size:
                found.has_more = True
                continue
            if self._transactions is not None and not self._transactions.sequences.may_drain(first):
                continue
            self._take(queue, first, epoch)
            sizes[node] += first.size_bytes + HEADER_BYTES
            drained[node].append(first)
            found.leave(queue, self.settings.linger_ms)
        for node in nodes:
            self._note_latency(node, now_ms, is_drained=True)
        found.batches = {node: batches for node, batches in drained.items() if batches}
        return found

    def _take(self, queue: PartitionQueue, batch: ProducerBatch, leader_epoch: int) -> None:
        queue.batches.popleft()
        # Those that come later are drained later: the next request begins with others.
        del self._active[queue.topic_partition]
        if queue.batches:
            self._active[queue.topic_partition] = queue
        self._close(batch)
        if self._transactions is not None and not batch.has_sequence:
            self._transactions.sequences.assign(batch)
        batch.leader_epoch = leader_epoch
        batch.is_in_flight = True
        if self.settings.is_muting:
            queue.is_muted = True

    def _close(self, batch: ProducerBatch) -> None:
        if batch.is_closed:
            return
        before_bytes = batch.packer.size_bytes
        batch.close(self.settings.codec, self.settings.level)
        if self.settings.codec:
            topic = self.topics[batch.topic_partition.topic]
            ratio = batch.size_bytes / before_bytes
            if ratio > topic.ratio:
                topic.ratio = max(topic.ratio + _RATIO_STEP_UP, ratio)
            else:
                topic.ratio = max(topic.ratio - _RATIO_STEP_DOWN, ratio)

    def node_not_ready(self, node: int, now_ms: float) -> None:
        """There is something for it, and it cannot be sent."""
        self._note_latency(node, now_ms, is_drained=False)

    # What became of them

    def unmute(self, topic_partition: TopicPartition) -> None:
        self._queue(topic_partition).is_muted = False

    def requeue(self, batch: ProducerBatch, now_ms: float) -> None:
        """To be sent again, before those that came after it."""
        batch.attempts += 1
        batch.is_retried, batch.is_in_flight = True, False
        batch.retry_at_ms = now_ms + self._backoff.delay_ms(batch.attempts, self._random)
        self._put_back(batch)

    def split(self, batch: ProducerBatch) -> None:
        """Its halves go first. The attempt does not count: the broker has said what to do."""
        topic = self.topics[batch.topic_partition.topic]
        topic.ratio = max(1.0, topic.ratio)
        parts = batch.split(self.settings.codec, self.settings.batch_size - HEADER_BYTES)
        if self._transactions is not None and batch.has_sequence:
            self._transactions.sequences.split(batch, parts)
        del self.incomplete[batch]
        for part in reversed(parts):
            self._close(part)
            self.incomplete[part] = None
            self._put_back(part)

    def release(self, batch: ProducerBatch) -> None:
        """Done: its memory is free again."""
        self.available_bytes += batch.reserved_bytes
        batch.reserved_bytes = 0
        self.incomplete.pop(batch, None)

    def _put_back(self, batch: ProducerBatch) -> None:
        queue = self._queue(batch.topic_partition)
        if batch.has_sequence:
            # Several may fail together, in any order.
            later = [each for each in queue.batches if each.has_sequence and _sequence(each) < _sequence(batch)]
            for each in later:
                queue.batches.remove(each)
            queue.batches.appendleft(batch)
            queue.batches.extendleft(reversed(later))
        else:
            queue.batches.appendleft(batch)
        self._active[batch.topic_partition] = queue

    def next_expiry_ms(self) -> float:
        for batch in self.incomplete:
            return batch.created_ms + self.settings.delivery_timeout_ms
        return float("inf")

    def expired(self, now_ms: float) -> list[ProducerBatch]:
        """Taken out of their queues; those that are on their way as well."""
        limit_ms = now_ms - self.settings.delivery_timeout_ms
        found = [batch for batch in self.incomplete if batch.created_ms <= limit_ms]
        for batch in found:
            self._remove(batch)
        return found

    def take_unsent(self) -> list[ProducerBatch]:
        """All that were never sent, out of their queues: their transaction is over."""
        found = [batch for queue in self._active.values() for batch in queue.batches if not batch.has_sequence]
        for batch in found:
            self._remove(batch)
        return found

    def take_all(self) -> list[ProducerBatch]:
        """Those that are on their way as well."""
        found = list(self.incomplete)
        for batch in found:
            self._remove(batch)
        return found

    def _remove(self, batch: ProducerBatch) -> None:
        queue = self._queue(batch.topic_partition)
        if batch in queue.batches:
            queue.batches.remove(batch)
            if not queue.batches:
                del self._active[batch.topic_partition]

    @property
    def has_incomplete(self) -> bool:
        return bool(self.incomplete)

    @property
    def has_undrained(self) -> bool:
        return bool(self._active)

    def _queue(self, topic_partition: TopicPartition) -> PartitionQueue:
        return self.topics[topic_partition.topic].queue(topic_partition.partition)

    # Load, for the partitioner

    def _loads(self, topic: TopicQueues) -> list[PartitionLoad]:
        queues = topic.queues
        return list(self._each_load(queues if len(queues) <= _LOADS_MAX else self._random.sample(queues, _LOADS_MAX)))

    def _each_load(self, queues: Iterable[PartitionQueue]) -> Iterator[PartitionLoad]:
        for queue in queues:
            leader = self._leader_of(queue.topic_partition)
            if leader is not None:
                yield PartitionLoad(queue.topic_partition.partition, len(queue.batches), self._is_available(leader[0]))

    def _is_available(self, node: int) -> bool:
        limit_ms, found = self.settings.availability_timeout_ms, self._latencies.get(node)
        return not limit_ms or found is None or found.ready_ms - found.drained_ms <= limit_ms

    def _note_latency(self, node: int, now_ms: float, *, is_drained: bool) -> None:
        if not self.settings.availability_timeout_ms:
            return
        found = self._latencies.setdefault(node, NodeLatency(now_ms, now_ms))
        found.ready_ms = now_ms
        if is_drained:
            found.drained_ms = now_ms


def record_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """At most."""
    in_headers = sum(len(name) * 4 + len(content or b"") + 10 for name, content in headers)
    return RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"") + in_headers


def _sequence(batch: ProducerBatch) -> tuple[int, int, int]:
    return batch.producer_id, batch.producer_epoch, batch.base_sequence
