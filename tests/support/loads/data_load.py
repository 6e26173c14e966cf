"""Records under faults: what was acknowledged, and whether it is still there, once, in its place and in order.

`with DataLoad(bootstrap, topic, partitions) as load:` runs librdkafka's producers with acks=all and idempotence, each
in a thread of its own. A record is `<producer>:<number>`, and each producer spreads its numbers over the partitions in
turn, so that in every partition the numbers of one producer grow. What was acknowledged is kept with its partition and
offset. A consumer reads along meanwhile: what it was shown must never change either.

On leaving the block every record that was begun is finished. `check` then reads all partitions from the start and
counts what was lost, repeated or changed; with fewer records than `minimum` that would show nothing, and fails too. It
is a number, and not so many a second: a slow machine is no failure.
"""

import asyncio
import itertools
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from types import TracebackType
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata
from confluent_kafka.error import ProduceError

from odradek.client.net.channel import Channel, ChannelConfig
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from support.peers.client_diary import ClientDiary
from support.processes.nodes import Cluster
from support.waiting import wait_until

#: Longer than any fault of a test lasts: a record is acknowledged or the test fails.
_DELIVERY_TIMEOUT_MS = 300_000
_FINISH_TIMEOUT_S = 180
#: Without any record.
_READ_TIMEOUT_S = 120
_METADATA_TIMEOUT_MS = 3_000
#: A node that comes back is found soon, and a broker that does not answer is given up soon.
CLIENT = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 50,
    "retry.backoff.max.ms": 200,
    "topic.metadata.refresh.fast.interval.ms": 50,
    "log_level": 0,
}
#: Enough for batches of several records, little enough that the nodes and not the load have the machine.
_PAUSE_S = 0.01
_RECORDS_A_PAUSE = 5
_LINGER_MS = 50
#: When so many wait for their answers, the load slows down.
_WAITING_LIMIT = 500

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Verdict:
    acknowledged: int
    read: int
    lost: int
    duplicate: int
    inconsistent_offsets: int
    nonmonotonic: int
    #: Of the offsets that the consumer was shown during the run, those that hold something else at the end.
    unstable_reads: int

    def check(self) -> None:
        wrong = self.lost + self.duplicate + self.inconsistent_offsets + self.nonmonotonic + self.unstable_reads
        assert wrong == 0, f"{asdict(self)}"


class DataLoad:
    def __init__(self, bootstrap: str, topic: str, partitions: int, *, producers: int = 2) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self.partitions = partitions
        self.acknowledged: dict[Place, bytes] = {}
        #: A broker may have taken a record and its answer may be lost; the answer to a later one then says that it is
        #: there, but not where.
        self.acknowledged_somewhere: list[bytes] = []
        self.acknowledged_at_s: list[float] = []
        self.failures: list[str] = []
        #: What the consumer was shown, and what it was shown twice with another value.
        self.seen: dict[Place, bytes] = {}
        self._unstable = 0
        self._is_stopping = threading.Event()
        self._begun_at_s = self._ended_at_s = 0.0
        self._diaries = [ClientDiary(f"producer {number}") for number in range(producers)]
        self._threads = [threading.Thread(target=self._produce, args=(number,)) for number in range(producers)]
        self._watcher = threading.Thread(target=self._watch)

    def __enter__(self) -> "DataLoad":
        self._begun_at_s = time.monotonic()
        for thread in (*self._threads, self._watcher):
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended_at_s = time.monotonic()
        self._is_stopping.set()
        for thread in (*self._threads, self._watcher):
            thread.join()
        if kind is None:
            assert not self.failures, f"{len(self.failures)} records failed: {Counter(self.failures).most_common(3)}"

    def more(self, count: int = 200, timeout_s: float = 180) -> None:
        """Waits until so many further records were acknowledged."""
        target = len(self.acknowledged_at_s) + count

        def has_come() -> bool:
            return len(self.acknowledged_at_s) >= target or bool(self.failures)

        wait_until(has_come, f"{count} more records are acknowledged", timeout_s, self._explained)
        assert not self.failures, self.failures[:3]

    def _explained(self) -> str:
        return "\n".join(diary.text() for diary in self._diaries)

    def longest_gap_ms(self, since_s: float = 0.0) -> int:
        """Between two acknowledgements, of which the later came after this moment of the monotonic clock."""
        gaps_s = [after - before for before, after in pairwise(self.acknowledged_at_s) if after > since_s]
        return round(max(gaps_s, default=0.0) * 1000)

    def rate(self) -> float:
        return len(self.acknowledged_at_s) / (self._ended_at_s - self._begun_at_s)

    def check(self, *, minimum: int = 0) -> Verdict:
        """When the load is over and the partitions have leaders. Raises AssertionError where anything is wrong."""
        verdict = self.verdict(read_all(self.bootstrap, self.topic, self.partitions))
        verdict.check()
        assert verdict.acknowledged >= minimum, f"{verdict.acknowledged} records are too few to show anything"
        return verdict

    def verdict(self, log: Mapping[Place, bytes]) -> Verdict:
        present = Counter(log.values())
        acknowledged = [*self.acknowledged.values(), *self.acknowledged_somewhere]
        return Verdict(
            acknowledged=len(acknowledged),
            read=len(log),
            lost=sum(value not in present for value in acknowledged),
            duplicate=sum(present.values()) - len(present),
            inconsistent_offsets=sum(log.get(place) != value for place, value in self.acknowledged.items()),
            nonmonotonic=_nonmonotonic(log),
            unstable_reads=self._unstable + sum(log.get(place) != value for place, value in self.seen.items()),
        )

    def _produce(self, producer_number: int) -> None:
        options: dict[str, Any] = {
            "acks": "all",
            "enable.idempotence": True,
            "delivery.timeout.ms": _DELIVERY_TIMEOUT_MS,
        }
        # While records could go out and an answer is due, the client asks for it without a pause: in steady state
        # twenty times as often with its own 5 ms. Every other producer has one request under way, which spares that.
        options |= {"linger.ms": _LINGER_MS, "max.in.flight": 1 if producer_number % 2 else 5}
        # An answer that a paused broker owes must not be waited for longer than the next leader takes.
        options |= {"socket.timeout.ms": 10_000, "request.timeout.ms": 5_000}
        options |= self._diaries[producer_number].options()
        producer = Producer({"bootstrap.servers": self.bootstrap, **CLIENT, **options})
        for number in itertools.count():
            if self._is_stopping.is_set():
                break
            value = b"%d:%d" % (producer_number, number)
            try:
                producer.produce(self.topic, value, partition=number % self.partitions, on_delivery=self._delivered)
            except (BufferError, ProduceError, KafkaException) as error:
                self.failures.append(str(error))
                break
            producer.poll(0)
            if len(producer) >= _WAITING_LIMIT or number % _RECORDS_A_PAUSE == 0:
                self._is_stopping.wait(_PAUSE_S)
        left = producer.flush(_FINISH_TIMEOUT_S)
        if left:
            diary = self._diaries[producer_number].text()
            self.failures.append(f"{left} records were neither acknowledged nor refused\n{diary}")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
            return
        value = message.value() or b""
        if message.offset() is None:
            self.acknowledged_somewhere.append(value)
        elif self.acknowledged.setdefault(_place(message), value) != value:
            self.failures.append(f"two records were acknowledged at {_place(message)}")
        self.acknowledged_at_s.append(time.monotonic())

    def _watch(self) -> None:
        consumer = _consumer(self.bootstrap, self.topic, self.partitions)
        while not self._is_stopping.is_set():
            for message in consumer.consume(500, 0.2):
                if message.error() is None:
                    value = message.value() or b""
                    self._unstable += self.seen.setdefault(_place(message), value) != value
        consumer.close()


def read_all(bootstrap: str, topic: str, partitions: int) -> dict[Place, bytes]:
    """Every record of the topic, up to the end of each partition."""
    consumer = _consumer(bootstrap, topic, partitions)
    found: dict[Place, bytes] = {}
    ended: set[int] = set()
    deadline_s = time.monotonic() + _READ_TIMEOUT_S
    try:
        while len(ended) < partitions:
            assert time.monotonic() < deadline_s, f"{len(ended)} of {partitions} partitions could be read to their end"
            for message in consumer.consume(1_000, 1):
                deadline_s = time.monotonic() + _READ_TIMEOUT_S
                error = message.error()
                if error is None:
                    found[_place(message)] = message.value() or b""
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition() or 0)
    finally:
        consumer.close()
    return found


def create_topic(
    cluster: Cluster, name: str, partitions: int, replication_factor: int, config: Mapping[str, str] | None = None
) -> None:
    """Create a topic once all brokers are there. `config` adds to `min.insync.replicas`, which is one less than the
    replicas, and to `retention.ms`: records of tests are often of long ago, and half a minute after the start of a node
    its retention would delete them, whatever a test is doing at that moment."""
    admin = admin_of(cluster)
    brokers = sum(node.spec.is_broker for node in cluster.nodes.values())

    def are_there() -> bool:
        cluster.check_alive()
        return len(admin.list_topics(timeout=5).brokers) == brokers

    wait_until(are_there, "all brokers are there")
    settings = {"min.insync.replicas": str(max(1, replication_factor - 1)), "retention.ms": "-1", **(config or {})}
    topic = NewTopic(name, partitions, replication_factor, config=settings)
    admin.create_topics([topic], request_timeout=60)[name].result(60)
    wait_until(lambda: len(leaders_of(admin, name)) == partitions, f"all partitions of {name} have leaders")


def admin_of(cluster: Cluster) -> AdminClient:
    """One that gives up a broker that is paused, and asks the next."""
    return AdminClient({"bootstrap.servers": bootstrap_of(cluster), "socket.timeout.ms": 3_000, **CLIENT})


def bootstrap_of(cluster: Cluster) -> str:
    return ",".join(node.broker_address for node in cluster.nodes.values() if node.spec.is_broker)


def leaders_of(admin: AdminClient, topic: str) -> dict[int, int]:
    """By partition, of those that have one."""
    partitions = partitions_of(admin, topic)
    return {number: partition.leader for number, partition in partitions.items() if partition.leader >= 0}


def partitions_of(admin: AdminClient, topic: str) -> dict[int, PartitionMetadata]:
    """Ask until a broker answers: one that is paused, or a machine that is busy, may take longer than one attempt."""
    answers: list[dict[int, PartitionMetadata]] = []
    wait_until(
        lambda: answers.append(admin.list_topics(topic, timeout=5).topics[topic].partitions) or True,
        f"a broker tells the partitions of {topic}",
    )
    return answers[0]


def wait_for_isr(admin: AdminClient, topic: str, *broker_ids: int, timeout_s: float = 180) -> None:
    """Wait until the ISR of every partition is exactly `broker_ids`, in the metadata of each of these brokers. One that
    was cut off from the controller still has the ISR of before; the leader, which is among them, has the current one.
    """

    def is_so() -> bool:
        brokers = admin.list_topics(topic, timeout=5).brokers
        addresses = [(brokers[broker_id].host, brokers[broker_id].port) for broker_id in broker_ids]
        return all(asyncio.run(_isr_at(addresses, topic, set(broker_ids))))

    wait_until(is_so, f"brokers {broker_ids} and no others are in sync", timeout_s)


async def _isr_at(addresses: list[tuple[str, int]], topic: str, isr: set[int]) -> list[bool]:
    """For each broker: is this the ISR of all partitions in its metadata?"""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)

    async def ask(host: str, port: int) -> bool:
        channel = Channel(host, port, ChannelConfig(client_id="test"))
        try:
            response = await channel.send(request, _METADATA_TIMEOUT_MS)
        finally:
            await channel.close()
        partitions = response.topics[0].partitions
        return bool(partitions) and all(set(partition.isr_nodes) == isr for partition in partitions)

    return list(await asyncio.gather(*(ask(host, port) for host, port in addresses)))


def _consumer(bootstrap: str, topic: str, partitions: int) -> Consumer:
    """Of assigned partitions; there is no group in it."""
    options = {"group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": True}
    options |= {"auto.offset.reset": "error", "fetch.wait.max.ms": 100, "fetch.error.backoff.ms": 50}
    consumer = Consumer({"bootstrap.servers": bootstrap, **CLIENT, **options})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    return consumer


def _place(message: Message) -> Place:
    partition, offset = message.partition(), message.offset()
    assert partition is not None and offset is not None
    return partition, offset


def _nonmonotonic(log: Mapping[Place, bytes]) -> int:
    """Records that stand behind a later one of the same producer in the same partition."""
    last: dict[tuple[int, bytes], int] = {}
    found = 0
    for partition, offset in sorted(log):
        producer, _, number = log[partition, offset].partition(b":")
        found += int(number) < last.get((partition, producer), -1)
        last[partition, producer] = int(number)
    return found
