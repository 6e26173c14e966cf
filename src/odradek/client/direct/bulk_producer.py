"""Many batches to many partitions, straight at their leaders, several requests in flight, one thread.

Batches are queued by partition and go out in requests of one batch for each partition of a leader. As long as all goes
well, answers are taken when there are some, or when a queue is full. When something fails that may work later, a leader
that moved or died, nothing new is sent until all that is in flight is answered; then what is left goes out again, in
its order and with its sequences, so that a leader which has it already says so. Batches that carry a producer's id are
written once, whatever happens on the way.

The first batch to a partition is sent alone: a leader that does not know the producer takes any sequence, and would
take the second where the first was refused.
"""

import select
import time
from collections import deque
from dataclasses import dataclass, field

from odradek.client.direct.leader_connections import Leaders
from odradek.client.errors import refusal
from odradek.client.settings.settings import ProducerConfig
from odradek.common.addresses import HostPort
from odradek.common.failures import ApiError, InputError
from odradek.common.ids import TopicPartition
from odradek.errors import Disconnected, NoLeader, RequestTimedOut, UnknownTopic, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse
from odradek.records.columns.column_batches import BuiltBatch

#: The last version in which topics have names, and partitions are added to transactions by the client.
PRODUCE_LAST = 11

#: Waiting to be sent or answered: some requests for each of a few leaders, so that none waits while we build batches.
_QUEUED_BYTES_MAX = 32 * 1024 * 1024

#: A leader knows the sequences of so many batches of a producer.
_IN_FLIGHT_MAX = 5

#: Between two looks for a topic that may just be made.
_TOPIC_RETRY_S = 0.1

_WRITTEN = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)

_RETRIABLE = frozenset(int(code) for code in ErrorCode if code.retriable)


@dataclass(slots=True)
class _Queue:
    """Of one partition."""

    next_sequence: int
    waiting: deque[BuiltBatch] = field(default_factory=deque)
    in_flight: list[BuiltBatch] = field(default_factory=list)
    #: Whether the leader has taken something of ours.
    is_known: bool = False
    #: Why what is in flight has to be sent again.
    failure: str | None = None
    failing_since_s: float | None = None

    def may_send(self) -> bool:
        return bool(self.waiting) and (not self.in_flight or (self.is_known and len(self.in_flight) < _IN_FLIGHT_MAX))

    def fail(self, reason: str, now_s: float) -> None:
        self.failure = reason
        if self.failing_since_s is None:
            self.failing_since_s = now_s

    def rewind(self) -> None:
        self.waiting.extendleft(reversed(self.in_flight))
        self.in_flight.clear()
        self.is_known, self.failure = False, None


_Sent = dict[TopicPartition, BuiltBatch]


class BulkProducer:
    """For one task: what was sent is written when `flush` returns. After an error it is of no use any more."""

    def __init__(
        self, leaders: Leaders, settings: ProducerConfig, *, base_sequence: int, transactional_id: str | None = None
    ) -> None:
        """`base_sequence`: of the first batch to each partition; NO_SEQUENCE for producers without an id."""
        self._leaders = leaders
        self._settings = settings
        self._base_sequence = base_sequence
        self._transactional_id = transactional_id
        self._queues: dict[TopicPartition, _Queue] = {}
        self._sent: dict[HostPort, deque[_Sent]] = {}
        self._queued_bytes = 0
        #: Where the last batch of a partition was written, -1 where the leader did not say it.
        self.last_offsets: dict[TopicPartition, int] = {}

    def next_sequence(self, partition: TopicPartition) -> int:
        found = self._queues.get(partition)
        return self._base_sequence if found is None else found.next_sequence

    def send(self, partition: TopicPartition, batch: BuiltBatch) -> None:
        """Waits while too much is queued. Raises InputError for what no request can carry, and as `flush` does."""
        if len(batch.data) > self._settings.max_request_size:
            raise InputError(
                f"{batch.count} record(s) of {len(batch.data)} bytes to {partition} are more than a request may have; "
                f"kafka.max.request.size is {self._settings.max_request_size}"
            )
        queue = self._queues.setdefault(partition, _Queue(self._base_sequence))
        queue.waiting.append(batch)
        queue.next_sequence = batch.next_sequence
        self._queued_bytes += len(batch.data)
        while self._queued_bytes > _QUEUED_BYTES_MAX:
            self._advance(waits=True)

    def poll(self) -> None:
        """Send what can be sent now, and take the answers that are there."""
        if self._queued_bytes:
            self._advance(waits=False)

    def flush(self) -> None:
        """Raises RequestTimedOut where a partition took nothing for delivery.timeout.ms, and what the cluster says."""
        while self._queued_bytes:
            self._advance(waits=True)

    def settle(self) -> None:
        """Until nothing is in flight, so that the connections can be used for something else."""
        while self._sent:
            self._receive(waits=True)

    def close(self) -> None:
        """Connections that have answers for us are of no use to others."""
        for address in self._sent:
            self._leaders.drop(address)
        self._sent.clear()

    def _advance(self, *, waits: bool) -> None:
        if any(queue.failure is not None for queue in self._queues.values()):
            self._recover()
        self._send_ready()
        if self._sent:
            self._receive(waits=waits)

    # Sending

    def _send_ready(self) -> None:
        by_leader: dict[HostPort, list[TopicPartition]] = {}
        for partition, queue in self._queues.items():
            if queue.may_send():
                try:
                    by_leader.setdefault(self._leader_of(partition), []).append(partition)
                except (NoLeader, Unreachable) as error:
                    queue.fail(error.message, time.monotonic())
        if any(queue.failure is not None for queue in self._queues.values()):
            return
        for leader, partitions in by_leader.items():
            while partitions and len(self._sent.get(leader, ())) < self._in_flight_max():
                partitions = self._send_to(leader, partitions)

    def _leader_of(self, partition: TopicPartition) -> HostPort:
        if not self._leaders.knows(partition):
            self.settle()  # the answers in flight come first on their connections
        return self._leaders.of(partition).leader

    def _in_flight_max(self) -> int:
        return self._settings.max_in_flight_requests_per_connection

    def _send_to(self, leader: HostPort, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """One request. Gives those that have more to be sent."""
        taken: _Sent = {}
        size = 0
        for partition in partitions:
            batch = self._queues[partition].waiting[0]
            if taken and size + len(batch.data) > self._settings.max_request_size:
                break
            taken[partition] = batch
            size += len(batch.data)
        for partition in taken:
            queue = self._queues[partition]
            queue.in_flight.append(queue.waiting.popleft())
        try:
            connection = self._leaders.connection(leader)
            connection.send(self._request(taken), connection.version(ProduceRequest, PRODUCE_LAST))
        except (Disconnected, RequestTimedOut) as error:
            self._lost(leader, error, taken)
            return []
        self._sent.setdefault(leader, deque()).append(taken)
        return [partition for partition in partitions if self._queues[partition].may_send()]

    def _request(self, taken: _Sent) -> ProduceRequest:
        topics: dict[str, TopicProduceData] = {}
        for (topic, number), batch in taken.items():
            data = PartitionProduceData(index=number, records=batch.data)
            topics.setdefault(topic, TopicProduceData(name=topic)).partition_data.append(data)
        return ProduceRequest(
            transactional_id=self._transactional_id,
            acks=self._settings.acks,
            timeout_ms=self._settings.request_timeout_ms,
            topic_data=list(topics.values()),
        )

    # Answers

    def _receive(self, *, waits: bool) -> None:
        """One answer of each connection that has one; waits for the first if it may."""
        addresses: dict[int, HostPort] = {}
        # Not `select`, which takes no descriptor above 1023: a Spark worker or a service may have many open.
        poll = select.poll()
        for address in self._sent:
            descriptor = self._leaders.connection(address).fileno()
            addresses[descriptor] = address
            poll.register(descriptor, select.POLLIN)
        readable = poll.poll(self._settings.request_timeout_ms if waits else 0)
        if waits and not readable:
            self._all_lost(RequestTimedOut(f"no answer in {self._settings.request_timeout_ms} ms"))
        for descriptor, _ in readable:
            address = addresses[descriptor]
            try:
                response: ProduceResponse = self._leaders.connection(address).receive()
            except (Disconnected, RequestTimedOut) as error:
                self._lost(address, error, {})
            else:
                self._take(address, response)

    def _all_lost(self, error: ApiError) -> None:
        for address in list(self._sent):
            self._lost(address, error, {})

    def _lost(self, address: HostPort, error: ApiError, taken: _Sent) -> None:
        """Nobody knows what became of all that was sent there."""
        self._leaders.drop(address)
        now_s = time.monotonic()
        for sent in (*self._sent.pop(address, ()), taken):
            for partition in sent:
                self._queues[partition].fail(error.message, now_s)

    def _take(self, address: HostPort, response: ProduceResponse) -> None:
        sent = self._sent[address].popleft()
        if not self._sent[address]:
            del self._sent[address]
        for topic in response.responses:
            for each in topic.partition_responses:
                partition = TopicPartition(topic.name, each.index)
                self._answered(partition, sent.pop(partition), each)
        for partition in sent:
            self._queues[partition].fail("the leader said nothing of it", time.monotonic())

    def _answered(self, partition: TopicPartition, batch: BuiltBatch, said: PartitionProduceResponse) -> None:
        queue, code = self._queues[partition], said.error_code
        if code in _WRITTEN:
            queue.in_flight.remove(batch)
            self.last_offsets[partition] = said.base_offset
            queue.is_known, queue.failing_since_s = True, None
            self._queued_bytes -= len(batch.data)
        elif code in _RETRIABLE:
            queue.fail(error_name(code), time.monotonic())
        elif code != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER or queue.failure is None:
            raise _refused(partition, batch, said)

    # Failures

    def _recover(self) -> None:
        self.settle()
        now_s, longest_s = time.monotonic(), self._settings.delivery_timeout_ms / 1000
        for partition, queue in self._queues.items():
            if queue.failure is None:
                continue
            if queue.failing_since_s is not None and now_s - queue.failing_since_s > longest_s:
                took = f"nothing was written for {self._settings.delivery_timeout_ms} ms (kafka.delivery.timeout.ms)"
                raise RequestTimedOut(f"{partition}: {took}: {queue.failure}")
            self._leaders.forget(partition)
            queue.rewind()
        time.sleep(self._settings.retry_backoff_ms / 1000)


def _refused(partition: TopicPartition, batch: BuiltBatch, said: PartitionProduceResponse) -> ApiError:
    error = refusal(said.error_code, said.error_message) or ApiError("no error")
    is_too_large = said.error_code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1
    hint = "; a smaller kafka.batch.size may help" if is_too_large else ""
    error.args = (f"{partition}: {batch.count} record(s) of {len(batch.data)} bytes: {error.message}{hint}",)
    return error


def partition_count(leaders: Leaders, topic: str, timeout_ms: int) -> int:
    """Of a topic, once it is there; the cluster may make it. Raises UnknownTopic, and what the cluster says of it."""
    deadline_s = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            partitions = leaders.topics([topic], creates=True).get(topic)
            reason = "no broker knows of it, and none makes it"
        except Unreachable as error:
            partitions, reason = None, error.message
        if partitions:
            return len(partitions)
        if time.monotonic() > deadline_s:
            raise UnknownTopic(f"topic {topic} is not there after {timeout_ms} ms (kafka.max.block.ms): {reason}")
        time.sleep(_TOPIC_RETRY_S)
