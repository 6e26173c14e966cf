"""What four clients in Python make of the same topic: records one at a time, in lists, and as columns.

Each runs in a process of its own, which reads `count` records from the beginning of a topic's only partition, looks at
every value, and tells how fast it was, what it cost, and how much memory it took:

    python bench/clients_consume.py odradek lists localhost:9092 topic 100000

Every client has its own default settings; none is in a group, and none commits.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

_TIMEOUT_MS = 60_000
#: Records that kafka-python and librdkafka are asked for at once: Kafka's max.poll.records.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Consumed:
    per_second: float
    #: Of the client's own process, a record.
    cpu_us: float
    #: The most that it had at once.
    memory_mb: float


class Count:
    """Of what has come; the clock starts when it is made."""

    def __init__(self, wanted: int) -> None:
        self.left = wanted
        self.bytes = 0
        self._wanted = wanted
        self._cpu_s = _cpu_s()
        self._started_s = time.perf_counter()

    def result(self) -> Consumed:
        spent_s, cpu_s = time.perf_counter() - self._started_s, _cpu_s() - self._cpu_s
        done = self._wanted - self.left
        return Consumed(done / spent_s, cpu_s / done * 1e6, _peak_mb())


def _peak_mb() -> float:
    """Of this program: what `getrusage` tells begins with what its parent had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(peak) / 1024


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# Ours


async def _odradek_one(servers: str, topic: str, wanted: int) -> Consumed:
    from odradek.client.consumer.consumer import Consumer
    from odradek.client.types import TopicPartition

    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        count = Count(wanted)
        async for record in consumer:
            count.bytes += len(record.value)
            count.left -= 1
            if count.left <= 0:
                break
        return count.result()


async def _odradek_lists(servers: str, topic: str, wanted: int) -> Consumed:
    from odradek.client.consumer.consumer import Consumer
    from odradek.client.types import TopicPartition

    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        count = Count(wanted)
        while count.left > 0:
            records = await consumer.poll(_TIMEOUT_MS)
            for record in records:
                count.bytes += len(record.value)
            count.left -= len(records)
        return count.result()


async def _odradek_columns(servers: str, topic: str, wanted: int) -> Consumed:
    from odradek.client.consumer import record_columns  # noqa: F401 - numpy is not what is measured
    from odradek.client.consumer.consumer import Consumer
    from odradek.client.types import TopicPartition

    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        count = Count(wanted)
        async for batch in consumer.batches():
            count.bytes += int(batch.columns.value_length.sum())
            count.left -= len(batch)
            if count.left <= 0:
                break
        return count.result()


# The others


async def _aiokafka_one(servers: str, topic: str, wanted: int) -> Consumed:
    from aiokafka import AIOKafkaConsumer, TopicPartition  # type: ignore[import-untyped]

    consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    consumer.assign([TopicPartition(topic, 0)])
    count = Count(wanted)
    async for record in consumer:
        count.bytes += len(record.value)
        count.left -= 1
        if count.left <= 0:
            break
    result = count.result()
    await consumer.stop()
    return result


async def _aiokafka_lists(servers: str, topic: str, wanted: int) -> Consumed:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    consumer.assign([TopicPartition(topic, 0)])
    count = Count(wanted)
    while count.left > 0:
        for records in (await consumer.getmany(timeout_ms=_TIMEOUT_MS, max_records=_AT_ONCE)).values():
            for record in records:
                count.bytes += len(record.value)
            count.left -= len(records)
    result = count.result()
    await consumer.stop()
    return result


def _kafka_python_one(servers: str, topic: str, wanted: int) -> Consumed:
    from kafka import KafkaConsumer, TopicPartition  # type: ignore[import-untyped]

    consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    consumer.assign([TopicPartition(topic, 0)])
    count = Count(wanted)
    for record in consumer:
        count.bytes += len(record.value)
        count.left -= 1
        if count.left <= 0:
            break
    result = count.result()
    consumer.close()
    return result


def _kafka_python_lists(servers: str, topic: str, wanted: int) -> Consumed:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    consumer.assign([TopicPartition(topic, 0)])
    count = Count(wanted)
    while count.left > 0:
        for records in consumer.poll(_TIMEOUT_MS, max_records=_AT_ONCE).values():
            for record in records:
                count.bytes += len(record.value)
            count.left -= len(records)
    result = count.result()
    consumer.close()
    return result


def _confluent_one(servers: str, topic: str, wanted: int) -> Consumed:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "bench", "enable.auto.commit": False, "log_level": 0}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    count = Count(wanted)
    while count.left > 0:
        message = consumer.poll(_TIMEOUT_MS / 1000)
        if message is not None and message.error() is None:
            count.bytes += len(message.value() or b"")
            count.left -= 1
    result = count.result()
    consumer.close()
    return result


def _confluent_lists(servers: str, topic: str, wanted: int) -> Consumed:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "bench", "enable.auto.commit": False, "log_level": 0}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    count = Count(wanted)
    while count.left > 0:
        messages = consumer.consume(min(_AT_ONCE, count.left), _TIMEOUT_MS / 1000)
        for message in messages:
            count.bytes += len(message.value() or b"")
        count.left -= len(messages)
    result = count.result()
    consumer.close()
    return result


_Asynchronous = Callable[[str, str, int], Awaitable[Consumed]]
_Blocking = Callable[[str, str, int], Consumed]

#: By client and way of reading.
WAYS: Mapping[tuple[str, str], _Asynchronous | _Blocking] = {
    ("odradek", "one"): _odradek_one,
    ("odradek", "lists"): _odradek_lists,
    ("odradek", "columns"): _odradek_columns,
    ("aiokafka", "one"): _aiokafka_one,
    ("aiokafka", "lists"): _aiokafka_lists,
    ("kafka-python", "one"): _kafka_python_one,
    ("kafka-python", "lists"): _kafka_python_lists,
    ("confluent-kafka", "one"): _confluent_one,
    ("confluent-kafka", "lists"): _confluent_lists,
}


def consume(client: str, way: str, servers: str, topic: str, count: int) -> Consumed:
    """In a process of its own."""
    command = [sys.executable, os.path.abspath(__file__), client, way, servers, topic, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{client}, {way}: {done.stderr[-2000:]}")
    return Consumed(**json.loads(done.stdout.splitlines()[-1]))


def main(client: str, way: str, servers: str, topic: str, count: str) -> None:
    found = WAYS[client, way](servers, topic, int(count))
    if isinstance(found, Consumed):
        consumed = found
    else:
        import uvloop  # which both asyncio clients gain from

        consumed = uvloop.run(_awaited(found))
    print(json.dumps(asdict(consumed)))


async def _awaited(found: Awaitable[Consumed]) -> Consumed:
    return await found


if __name__ == "__main__":
    main(*sys.argv[1:])
