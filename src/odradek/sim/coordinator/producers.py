"""A transactional producer as applications have it, and the partitions that it writes to, under the simulator.

Its transaction manager, its accumulator and what it makes of answers are the client's own, without change; only time
and network are the simulator's. A batch goes to a partition's leader, which adds the partition to the transaction
first (version 2 of transactions) and takes sequences only in order, as a log does. Answers get lost on both ways.

A producer begins, sends some records, ends the transaction, and goes on. When it is fenced, another one begins in its
place some time later.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from odradek.client.net.backoff import Backoff
from odradek.client.producer.batch_results import BatchResults
from odradek.client.producer.pending_request import PendingRequest
from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.record_accumulator import AccumulatorSettings, RecordAccumulator
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.producer.transaction_requests import EndTransaction
from odradek.client.producer.transaction_states import TransactionPhase, TransactionResult
from odradek.common.failures import ApiError, check
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.runtime import CoordinatorRuntime
from odradek.coordinator.runtime.shard import Decision
from odradek.coordinator.transaction.ending import EndRequest
from odradek.coordinator.transaction.shard import Identity, TransactionShard
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.end_txn_request import EndTxnRequest
from odradek.protocol.messages.end_txn_response import EndTxnResponse
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.init_producer_id_response import InitProducerIdResponse
from odradek.protocol.messages.produce_response import PartitionProduceResponse
from odradek.records.batch import read_batch
from odradek.records.compression import Compression
from odradek.sim.coordinator.cluster import WRITE_TIMEOUT_MS

if TYPE_CHECKING:
    from odradek.sim.coordinator.transactions import TransactionWorkload

#: Of transactions.
VERSION = 2
#: transaction.timeout.ms
TIMEOUT_MS = 2_000

#: Shorter than a transaction may take, so that records fail within it.
_SETTINGS = AccumulatorSettings(batch_size=300, linger_ms=5, delivery_timeout_ms=1_500)
_BACKOFF = Backoff(20, 200)
_RETRIES = 2**31 - 1
_LEADER = (0, 0)

#: What a leader says of a coordinator's errors.
_AS_LEADERS_SAY = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.NOT_COORDINATOR: ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.NOT_ENOUGH_REPLICAS,
}


class ProducedPartition:
    """State of transactional producers in a log."""

    def __init__(self) -> None:
        #: By producer id and epoch, in their order.
        self.values: dict[tuple[int, int], list[bytes]] = {}
        #: By producer id: the latest epoch, and the next sequence in it.
        self._producers: dict[int, tuple[int, int]] = {}

    def append(self, producer_id: int, epoch: int, sequence: int, values: list[bytes]) -> int:
        """An error code."""
        last_epoch, expected = self._producers.get(producer_id, (epoch, 0))
        if epoch < last_epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if epoch > last_epoch:
            expected = 0
        if sequence > expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if sequence == expected:
            self.values.setdefault((producer_id, epoch), []).extend(values)
            self._producers[producer_id] = (epoch, sequence + len(values))
        return ErrorCode.NONE

    def mark(self, producer_id: int, epoch: int) -> None:
        """A marker carries the next transaction's epoch: nothing of the one before is taken any more."""
        if epoch > self._producers.get(producer_id, (-1, 0))[0]:
            self._producers[producer_id] = (epoch, 0)


class Producer:
    def __init__(self, world: TransactionWorkload, partition_index: int, transactional_id: str, pause_ms: int) -> None:
        self.transactional_id = transactional_id
        #: What the present transaction has sent, by partition.
        self.sent: dict[TopicPartition, list[bytes]] = {}
        self.ended = 0
        self._world = world
        self._cluster = world.cluster
        self._partition_index = partition_index
        self._pause_ms = pause_ms
        self._values = count()
        self._manager: TransactionManager
        self._accumulator: RecordAccumulator
        self._outcomes: BatchResults
        self._is_asking = False
        #: When the driver looks again by itself.
        self._alarm_ms = float("inf")
        self._end_sent_ms: int | None = None

    # The application

    def begin(self) -> None:
        if self._world.is_over:
            return
        random = self._cluster.random
        manager = self._manager = TransactionManager(self.transactional_id, TIMEOUT_MS, _BACKOFF.initial_ms)
        manager.features.note(1, VERSION)
        self._accumulator = RecordAccumulator(_SETTINGS, lambda partition: _LEADER, _BACKOFF, random, manager)
        self._outcomes = BatchResults(self._accumulator, manager, _RETRIES)
        self._accumulator.topic("t", len(self._world.partitions))
        self._is_asking, self._alarm_ms = False, float("inf")
        result = manager.initialize()
        result.listen(lambda: self._begun(result))
        self._run(manager)

    def _begun(self, result: TransactionResult) -> None:
        result.acknowledge()
        if result.error is not None:
            self._begin_later()
            return
        self._world.has_begun(self, self._manager.identity)
        self._later(0, self._next)

    def _next(self) -> None:
        """A transaction: records to some partitions, and its end some time later."""
        if self._world.is_over:
            return
        random, self.sent, self._end_sent_ms = self._cluster.random, {}, None
        self._manager.begin()
        for tp in random.sample(list(self._world.partitions), random.randint(1, 2)):
            self._manager.add_partition(tp)
            for _ in range(random.randint(1, 8)):
                self._append(tp, b"%s %d" % (self.transactional_id.encode(), next(self._values)))
        self._run(self._manager)
        is_commit = random.random() < 0.7
        self._later(random.randint(0, self._pause_ms), lambda: self._end(is_commit))

    def _append(self, tp: TopicPartition, value: bytes) -> None:
        topic = self._accumulator.topics["t"]
        queue = topic.queues[tp.partition]
        if not queue.batches or queue.batches[-1].packer.append(1, None, value, ()) < 0:
            batch = self._accumulator.new_batch(queue, topic, len(value), self._cluster.scheduler.now_ms)
            check(batch is not None and batch.packer.append(1, None, value, ()) == 0, "there is room for a record")
        self.sent.setdefault(tp, []).append(value)

    def _end(self, is_commit: bool) -> None:
        manager = self._manager
        if manager.states.has_fatal_error:
            self._begin_later()
            return
        identity = manager.identity
        is_commit = is_commit and manager.states.phase == TransactionPhase.IN_TRANSACTION
        result = manager.commit() if is_commit else manager.abort()
        result.listen(lambda: self._has_ended(result, identity, is_commit))
        self._run(manager)

    def _has_ended(self, result: TransactionResult, identity: tuple[int, int], is_commit: bool) -> None:
        result.acknowledge()
        if result.error is not None:
            # A commit that failed is aborted; whoever is fenced begins anew.
            self._later(0, lambda: self._end(is_commit=False))
            return
        if self._manager.identity != identity and self._end_sent_ms is not None:
            self._world.owned(self, self._manager.identity)
            self._world.has_ended(self, self._end_sent_ms, identity, is_commit)
            self.ended += 1
        self._later(self._cluster.random.randint(1, self._pause_ms), self._next)

    def _begin_later(self) -> None:
        self._later(self._cluster.random.randint(200, 3_000), self.begin)

    @property
    def identity(self) -> tuple[int, int]:
        return self._manager.identity

    # The driver

    def _run(self, manager: TransactionManager) -> None:
        """One round of the sender."""
        if manager is not self._manager:  # of a producer that has been given up
            return
        now_ms = self._cluster.scheduler.now_ms
        self._outcomes.expire(now_ms)
        if not self._outcomes.fail_unsendable():
            return
        self._ask_next(manager)
        ready = self._accumulator.ready(now_ms)
        drained = self._accumulator.drain(ready.nodes, now_ms)
        for batch in drained.batches.get(_LEADER[0], ()):
            self._produce(manager, batch)
        next_ms = min(ready.next_check_ms, drained.next_check_ms, self._accumulator.next_expiry_ms())
        if next_ms < self._alarm_ms or self._alarm_ms <= now_ms:
            self._alarm_ms = next_ms
            if next_ms != float("inf"):
                self._cluster.scheduler.at(max(now_ms, int(next_ms)) + 1, partial(self._run, manager))

    def _ask_next(self, manager: TransactionManager) -> None:
        while not self._is_asking and manager.has_pending_requests:
            pending = manager.next_request(self._accumulator.has_incomplete)
            if pending is not None:
                self._is_asking = True
                self._later(int(pending.backoff_ms), partial(self._send, manager, pending))
            elif not manager.states.has_error:
                return

    def _send(self, manager: TransactionManager, pending: PendingRequest) -> None:
        if isinstance(pending, EndTransaction) and self._end_sent_ms is None:
            self._end_sent_ms = self._cluster.scheduler.now_ms

        def on_result(outcome: Identity | ApiError) -> None:
            if manager is not self._manager:
                return
            self._is_asking = False
            if isinstance(outcome, ApiError) and outcome.code == ErrorCode.REQUEST_TIMED_OUT:
                pending.handle_error(outcome)
            else:
                pending.handle_response(_response(pending, outcome))
            self._run(manager)

        self._ask(lambda shard: _operation(shard, pending.request), on_result)

    def _produce(self, manager: TransactionManager, batch: ProducerBatch) -> None:
        """Produce to the leader, which verifies with the coordinator first. Sequences may change before the response
        comes."""
        sent = read_batch(batch.data(Compression.NONE))
        producer_id, epoch, sequence = sent.producer_id, sent.producer_epoch, sent.base_sequence
        values = [record.value or b"" for record in sent.records()]

        def on_append(outcome: ApiError | None) -> None:
            if outcome is None:
                code = self._world.partitions[batch.topic_partition].append(producer_id, epoch, sequence, values)
                is_lost = self._cluster.random.random() < self._cluster.loss
                code = ErrorCode.REQUEST_TIMED_OUT if is_lost else ErrorCode(code)
            else:
                code = _AS_LEADERS_SAY.get(ErrorCode(outcome.code), ErrorCode(outcome.code))
            if manager is self._manager:
                response = PartitionProduceResponse(error_code=code, base_offset=0, log_start_offset=0)
                self._outcomes.complete(batch, response, self._cluster.scheduler.now_ms)
                self._run(manager)

        self._ask(
            lambda shard: shard.add_partitions(
                self.transactional_id, producer_id, epoch, [batch.topic_partition], VERSION
            ),
            on_append,
        )

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._cluster.scheduler.after(delay_ms, action)

    def _ask(self, operation: Callable[[TransactionShard], Decision[Any]], then: Callable[[Any], None]) -> None:
        def ask(runtime: CoordinatorRuntime[TransactionShard]) -> Reply[Any]:
            return runtime.write(self._partition_index, operation, timeout_ms=WRITE_TIMEOUT_MS)

        def on_result(outcome: Any) -> None:
            now_ms = self._cluster.scheduler.now_ms
            self._cluster.scheduler.trace(f"{now_ms} {self.transactional_id} {tuple(self.identity)} {outcome}")
            then(outcome)

        self._cluster.ask(self._partition_index, ask, on_result)


def _operation(shard: TransactionShard, request: Any) -> Decision[Identity]:
    if isinstance(request, InitProducerIdRequest):
        is_anew = request.producer_id < 0
        expected = None if is_anew else Identity(request.producer_id, request.producer_epoch)
        return shard.init_producer_id(request.transactional_id or "", request.transaction_timeout_ms, expected)
    check(isinstance(request, EndTxnRequest), f"with version 2 a producer asks nothing else: {request}")
    end = EndRequest(request.producer_id, request.producer_epoch, request.committed, VERSION)
    return shard.end(request.transactional_id, end)


def _response(pending: PendingRequest, outcome: Identity | ApiError) -> InitProducerIdResponse | EndTxnResponse:
    kind = EndTxnResponse if isinstance(pending, EndTransaction) else InitProducerIdResponse
    if isinstance(outcome, ApiError):
        return kind(error_code=outcome.code)
    return kind(error_code=outcome.error_code, producer_id=outcome.producer_id, producer_epoch=outcome.producer_epoch)
