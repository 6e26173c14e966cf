"""The producer's pure parts for tests: batches, an accumulator over leaders that are said, answers of brokers."""

from collections.abc import Mapping
from random import Random

from odradek.client.net.backoff import Backoff
from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.record_accumulator import AccumulatorSettings, RecordAccumulator
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.types import TopicPartition
from odradek.protocol.messages.init_producer_id_response import InitProducerIdResponse

PLACE = TopicPartition("t", 0)
BACKOFF_MS = 100


def batch(count: int = 1, place: TopicPartition = PLACE, created_ms: float = 0) -> ProducerBatch:
    made = ProducerBatch(place, 1 << 20, 0, created_ms)
    for index in range(count):
        made.packer.append(1_000 + index, None, b"value %d" % index, ())
    return made


class Queues:
    """An accumulator, what to append to it, and who leads."""

    def __init__(
        self,
        settings: AccumulatorSettings | None = None,
        leaders: Mapping[int, tuple[int, int]] | None = None,
        transactions: TransactionManager | None = None,
        partitions: int = 3,
    ) -> None:
        self.leaders = dict.fromkeys(range(partitions), (1, 0)) if leaders is None else dict(leaders)
        self.accumulator = RecordAccumulator(
            settings or AccumulatorSettings(),
            lambda place: self.leaders.get(place.partition),
            Backoff(BACKOFF_MS, 1_000),
            Random(1),
            transactions,
        )
        self.topic = self.accumulator.topic("t", partitions)

    def append(self, partition: int = 0, value: bytes = b"v" * 100, now_ms: float = 0) -> ProducerBatch | None:
        """As the producer does: into the open batch, else into a new one; None where there is no memory."""
        queue = self.topic.queues[partition]
        if queue.batches and queue.batches[-1].packer.append(5, None, value, ()) >= 0:
            return queue.batches[-1]
        new = self.accumulator.new_batch(queue, self.topic, len(value) + 40, now_ms)
        if new is not None:
            new.packer.append(5, None, value, ())
        return new

    def fill(self, partition: int = 0, now_ms: float = 0) -> ProducerBatch:
        """A full batch, with the beginning of the next behind it."""
        first = self.append(partition, now_ms=now_ms)
        assert first is not None
        while self.append(partition, now_ms=now_ms) is first:
            pass
        return first

    def drain(self, now_ms: float = 1_000) -> list[ProducerBatch]:
        """What goes out in one round, whatever the node."""
        nodes = self.accumulator.ready(now_ms).nodes
        return [each for batches in self.accumulator.drain(nodes, now_ms).batches.values() for each in batches]


def idempotent(epoch: int = 0, producer_id: int = 7) -> TransactionManager:
    """With a producer id."""
    manager = TransactionManager(retry_backoff_ms=BACKOFF_MS)
    manager.renew_identity()
    request = manager.next_request(has_incomplete_batches=False)
    assert request is not None and request.coordinator is None
    request.handle_response(InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch))
    return manager
