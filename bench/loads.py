"""Loads for a broker, the same for every kind of broker, from clients that are not what is measured.

`Pipeline` keeps as many one-record Produce requests on their way as it is told, over one connection: the request is
encoded once, an answer is counted by its size and looked at only for its error code. librdkafka stands for the clients
that people use.
"""

import os
import socket
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic

from odradek.protocol.framing import FrameReader, frame
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import parse_response, request_parts
from odradek.records.builder import BatchBuilder
from support.processes.nodes import HOST, Node

_TIMEOUT_S = 60
#: A thousand partitions are some thousands of synced files, which takes minutes on a disk that is busy.
_CREATE_TIMEOUT_S = 600
_PRODUCE, _PRODUCE_VERSION = 0, 9
#: Of a Produce answer of version 9 with one partition, behind the name of its topic: the error code's low byte.
_ERROR_BEHIND_NAME = 1 + 4 + 1

#: What is handed to librdkafka or taken from it at a time.
_AT_ONCE = 10_000
#: Different ones, sent in turn.
_VALUES = 1_000

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_seconds(nodes: Sequence[Node]) -> float:
    """Spent by these processes so far."""
    spent = 0
    for node in nodes:
        assert node.process is not None
        fields = Path(f"/proc/{node.process.pid}/stat").read_text().rpartition(")")[2].split()
        spent += int(fields[11]) + int(fields[12])
    return spent / _TICKS_PER_S


def create_topic(servers: str, name: str, partitions: int = 1, replicas: int = 1, **settings: str) -> None:
    """Made, and led by somebody who knows it.

    Apache Kafka names a leader a moment before that has the partition: of the batches that an idempotent producer sends
    at once, the first may be refused and the second taken, which cannot be mended.
    """
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    config = {key.replace("_", "."): value for key, value in settings.items()}
    topic = NewTopic(name, num_partitions=partitions, replication_factor=replicas, config=config)
    deadline_s = time.monotonic() + _CREATE_TIMEOUT_S
    while True:
        try:
            admin.create_topics([topic], request_timeout=_TIMEOUT_S)[name].result()
            break
        except KafkaException as error:
            # A broker that is still fenced does not count as one to place replicas on.
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                break
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.05)
    while not _is_led(admin, name, partitions):
        assert time.monotonic() < deadline_s, f"{name} has no leaders after {_CREATE_TIMEOUT_S} s"
        time.sleep(0.05)


def _is_led(admin: AdminClient, name: str, partitions: int) -> bool:
    found = admin.list_topics(name, timeout=_TIMEOUT_S).topics[name].partitions.values()
    if len(found) < partitions or any(partition.leader == -1 for partition in found):
        return False
    latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(name, number): latest for number in range(partitions)}
    try:
        for future in admin.list_offsets(asked, request_timeout=_TIMEOUT_S).values():
            future.result()
    except KafkaException:
        return False
    return True


def delete_topic(servers: str, name: str) -> None:
    """Gone for those who ask, so that the name is free again."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    admin.delete_topics([name], request_timeout=_TIMEOUT_S)[name].result()
    deadline_s = time.monotonic() + _CREATE_TIMEOUT_S
    while name in admin.list_topics(timeout=_TIMEOUT_S).topics:
        assert time.monotonic() < deadline_s, f"{name} is there after {_CREATE_TIMEOUT_S} s"
        time.sleep(0.05)


def leaders(servers: str, name: str) -> list[int]:
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    found = admin.list_topics(name, timeout=_TIMEOUT_S).topics[name].partitions
    return [found[number].leader for number in sorted(found)]


# One-record requests


class Pipelined(NamedTuple):
    per_second: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    cpu_us: float


class Pipeline:
    def __init__(self, port: int, topic: str, acks: int, value_bytes: int = 100) -> None:
        self._request = _one_record(topic, acks, value_bytes)
        self._socket = socket.create_connection((HOST, port), timeout=_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answer_bytes, self._error_at = self._first_answer(topic)

    def close(self) -> None:
        self._socket.close()

    def run(self, in_flight: int, seconds: float, nodes: Sequence[Node]) -> Pipelined:
        """Begins and ends with nothing on its way."""
        waits_s: list[float] = []
        sent_s: deque[float] = deque()
        cpu_s = cpu_seconds(nodes)
        started_s = now_s = time.perf_counter()
        self._send(in_flight, now_s, sent_s)
        rest = 0
        while sent_s:
            data = self._socket.recv(1 << 16)
            assert data, "the node closed the connection"
            now_s = time.perf_counter()
            came, rest = self._answers(data, rest)
            for _ in range(came):
                waits_s.append(now_s - sent_s.popleft())
            if came and now_s - started_s < seconds:
                self._send(came, now_s, sent_s)
        cpu_s = cpu_seconds(nodes) - cpu_s
        cuts = statistics.quantiles(waits_s, n=1000)
        return Pipelined(
            per_second=len(waits_s) / (now_s - started_s),
            p50_ms=cuts[499] * 1000,
            p99_ms=cuts[989] * 1000,
            p999_ms=cuts[998] * 1000,
            cpu_us=cpu_s * 1e6 / len(waits_s),
        )

    def _send(self, count: int, now_s: float, sent_s: deque[float]) -> None:
        sent_s.extend([now_s] * count)
        self._socket.sendall(self._request * count)

    def _answers(self, data: bytes, rest: int) -> tuple[int, int]:
        """How many end in `data`, of which `rest` bytes of the first came before, and how much of another begins."""
        size = self._answer_bytes
        first = self._error_at - rest
        assert not any(data[first % size :: size]), "a record was refused"
        return divmod(rest + len(data), size)

    def _first_answer(self, topic: str) -> tuple[int, int]:
        """Its size, and where its error code is: those of all that follow. A leader may need a moment."""
        while True:
            self._socket.sendall(self._request)
            reader, frames = FrameReader(), list[bytearray]()
            while not frames:
                frames = list(reader.feed(self._socket.recv(1 << 16)))
            partition = parse_response(frames[0], _PRODUCE, _PRODUCE_VERSION)[1].responses[0].partition_responses[0]  # type: ignore[attr-defined]
            if not partition.error_code:
                break
            time.sleep(0.05)
        name_at = frames[0].index(topic.encode())
        return len(frames[0]) + 4, 4 + name_at + len(topic) + _ERROR_BEHIND_NAME


def _one_record(topic: str, acks: int, value_bytes: int) -> bytes:
    builder = BatchBuilder()
    builder.append(int(time.time() * 1000), None, bytes(value_bytes), ())
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=builder.build())])]
    header = RequestHeader(
        request_api_key=_PRODUCE, request_api_version=_PRODUCE_VERSION, correlation_id=1, client_id="bench"
    )
    return b"".join(frame(request_parts(header, ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=data))))


# librdkafka


class Moved(NamedTuple):
    per_second: float
    #: Of the brokers.
    cpu_s_per_gb: float


def produce(
    servers: str,
    topic: str,
    count: int,
    value_bytes: int,
    acks: str,
    nodes: Sequence[Node],
    *,
    codec: str = "none",
) -> Moved:
    """As many records as fast as librdkafka sends them, until the last is acknowledged."""
    failed: list[KafkaError] = []
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "acks": acks,
            "compression.type": codec,
            "linger.ms": 5,
            "queue.buffering.max.messages": 2_000_000,
            "queue.buffering.max.kbytes": 2_000_000,
            "delivery.report.only.error": True,
            "on_delivery": lambda error, _: failed.append(error),
            "log_level": 0,
        }
    )
    producer.list_topics(topic, timeout=_TIMEOUT_S)
    different = [{"value": value} for value in values(value_bytes)]
    messages = different * (_AT_ONCE // len(different))
    cpu_s, started_s = cpu_seconds(nodes), time.perf_counter()
    for at in range(0, count, _AT_ONCE):
        producer.produce_batch(topic, messages[: count - at])
        producer.poll(0)
    assert producer.flush(_TIMEOUT_S) == 0, "not all records were acknowledged"
    spent_s = time.perf_counter() - started_s
    assert not failed, f"a record was refused: {failed[0]}"
    return moved(count, value_bytes, spent_s, cpu_seconds(nodes) - cpu_s)


def consume(servers: str, topic: str, partitions: int, count: int, value_bytes: int, nodes: Sequence[Node]) -> Moved:
    """As many records as were asked for, of all partitions, from their beginning; timed from the first on."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "queued.min.messages": 1_000_000,
            "check.crcs": False,
            "log_level": 0,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
        cpu_s = cpu_seconds(nodes)
        first = consumer.consume(1, _TIMEOUT_S)
        started_s, came = time.perf_counter(), len(first)
        while came < count:
            some = consumer.consume(min(_AT_ONCE, count - came), _TIMEOUT_S)
            assert some, f"{came} of {count} records after {_TIMEOUT_S} s"
            came += len(some)
        spent_s = time.perf_counter() - started_s
        return moved(came, value_bytes, spent_s, cpu_seconds(nodes) - cpu_s)
    finally:
        consumer.close()


def moved(count: int, value_bytes: int, spent_s: float, cpu_s: float) -> Moved:
    return Moved(count / spent_s, cpu_s / (count * value_bytes / 1e9))


def values(value_bytes: int) -> list[bytes]:
    """Compressible by about two, as text is. No two are alike within what compression looks back at."""
    filling = "x" * (value_bytes - value_bytes // 4 * 2)
    return [(os.urandom(value_bytes // 4).hex() + filling).encode() for _ in range(_VALUES)]


# Steady loads


def end_to_end_ms(servers: str, topic: str, per_second: int, seconds: float) -> list[float]:
    """From the call that sends a record to the one that gives it to its consumer, at a steady rate."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bench", "fetch.min.bytes": 1, "log_level": 0})
    count, waits_ms = int(per_second * seconds), list[float]()
    ready = threading.Event()

    def take() -> None:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        while len(waits_ms) < count:
            message = consumer.poll(_TIMEOUT_S)
            now_s = time.perf_counter()
            assert message is not None and message.error() is None
            value = message.value()
            if value == b"ready":
                ready.set()
            elif value is not None:
                waits_ms.append((now_s - float(value)) * 1000)

    taker = threading.Thread(target=take)
    taker.start()
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "linger.ms": 0, "log_level": 0})
    producer.produce(topic, b"ready")
    producer.flush(_TIMEOUT_S)
    assert ready.wait(_TIMEOUT_S)
    paced(count, per_second, lambda _: producer.produce(topic, repr(time.perf_counter()).encode()), producer)
    producer.flush(_TIMEOUT_S)
    taker.join(_TIMEOUT_S)
    consumer.close()
    return waits_ms


def paced(count: int, per_second: int, send: Callable[[int], None], producer: Producer) -> None:
    started_s = time.perf_counter()
    for number in range(count):
        due_s = started_s + number / per_second
        while (left_s := due_s - time.perf_counter()) > 0:
            producer.poll(left_s)
        send(number)


def longest_gap_s(
    servers: str, topic: str, partitions: int, per_second: int, seconds: float, fault: Callable[[], None]
) -> float:
    """While records go to every partition and `fault` happens a third into it: the longest time in which one of the
    partitions acknowledged nothing."""
    acknowledged_s: list[list[float]] = [[] for _ in range(partitions)]

    def note(error: KafkaError | None, message: Message) -> None:
        assert error is None, f"a record was given up: {error}"
        number = message.partition()
        assert number is not None
        acknowledged_s[number].append(time.perf_counter())

    settings = {"bootstrap.servers": servers, "acks": "all", "linger.ms": 0, "enable.idempotence": True, "log_level": 0}
    producer = Producer({**settings, "on_delivery": note})
    count, at = int(per_second * seconds), int(per_second * seconds / 3)

    def send(number: int) -> None:
        if number == at:
            fault()
        producer.produce(topic, b"x" * 100, partition=number % partitions)

    paced(count, per_second, send, producer)
    assert producer.flush(_TIMEOUT_S) == 0, "not all records were acknowledged"
    assert sum(map(len, acknowledged_s)) == count
    return max(after - before for times in acknowledged_s for before, after in pairwise(times))
