"""What four clients in Python make of the same records: sent one at a time, and many at once.

Each runs in a process of its own, which sends `count` values to a topic of six partitions and waits until all are
acknowledged:

    python bench/clients_produce.py odradek one localhost:9092 topic 100000 100

Every client is idempotent, waits for all replicas and lingers for 5 ms, as Kafka's own does by default. Who sends one
at a time keeps what it was given for each record, and waits for it later.
"""

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict

from clients_consume import Consumed as Measured
from clients_consume import Count

_LINGER_MS = 5
#: Deliveries that are kept before they are waited for, and values in a batch.
_KEPT, _AT_ONCE = 10_000, 1_000


def _content(size: int, count: int) -> list[bytes]:
    """At least so many values, a thousand of them different."""
    different = [os.urandom(size // 2).hex().encode() for _ in range(1_000)]
    return different * (count // len(different) + 1)


# Ours


async def _odradek_one(servers: str, topic: str, wanted: int, size: int) -> Measured:
    from odradek.client.producer.producer import Producer

    async with Producer(bootstrap_servers=servers, linger_ms=_LINGER_MS) as producer:
        await producer.send_and_wait(topic, b"first")
        content, kept = _content(size, _KEPT), []
        count = Count(wanted)
        while count.left > 0:
            for value in content[: min(_KEPT, count.left)]:
                kept.append(await producer.send(topic, value))
            for delivery in kept:
                await delivery
            count.left -= len(kept)
            kept.clear()
        return count.result()


async def _odradek_batches(servers: str, topic: str, wanted: int, size: int) -> Measured:
    from odradek.client.producer.producer import Producer

    async with Producer(bootstrap_servers=servers, linger_ms=_LINGER_MS) as producer:
        await producer.send_and_wait(topic, b"first")
        content, kept = _content(size, _AT_ONCE)[:_AT_ONCE], []
        count = Count(wanted)
        while count.left > 0:
            kept.append(await producer.send_batch(topic, content))
            count.left -= _AT_ONCE
        for delivery in kept:
            await delivery
        return count.result()


# The others


async def _aiokafka_one(servers: str, topic: str, wanted: int, size: int) -> Measured:
    from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

    async with AIOKafkaProducer(
        bootstrap_servers=servers, acks="all", enable_idempotence=True, linger_ms=_LINGER_MS
    ) as producer:
        await producer.send_and_wait(topic, b"first")
        content, kept = _content(size, _KEPT), []
        count = Count(wanted)
        while count.left > 0:
            for value in content[: min(_KEPT, count.left)]:
                kept.append(await producer.send(topic, value))
            for delivery in kept:
                await delivery
            count.left -= len(kept)
            kept.clear()
        return count.result()


async def _aiokafka_batches(servers: str, topic: str, wanted: int, size: int) -> Measured:
    from aiokafka import AIOKafkaProducer

    async with AIOKafkaProducer(
        bootstrap_servers=servers, acks="all", enable_idempotence=True, linger_ms=_LINGER_MS
    ) as producer:
        await producer.send_and_wait(topic, b"first")
        partitions = sorted(await producer.partitions_for(topic))
        content, number, kept = _content(size, wanted), 0, []
        count = Count(wanted)
        while count.left > 0:
            batch = producer.create_batch()
            while count.left > 0 and batch.append(key=None, value=content[count.left], timestamp=None) is not None:
                count.left -= 1
            kept.append(await producer.send_batch(batch, topic, partition=partitions[number % len(partitions)]))
            number += 1
        for delivery in kept:
            await delivery
        return count.result()


def _kafka_python_one(servers: str, topic: str, wanted: int, size: int) -> Measured:
    from kafka import KafkaProducer  # type: ignore[import-untyped]

    producer = KafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True, linger_ms=_LINGER_MS)
    producer.send(topic, b"first").get()
    content, kept = _content(size, _KEPT), []
    count = Count(wanted)
    while count.left > 0:
        for value in content[: min(_KEPT, count.left)]:
            kept.append(producer.send(topic, value))
        for delivery in kept:
            delivery.get()
        count.left -= len(kept)
        kept.clear()
    result = count.result()
    producer.close()
    return result


def _confluent_one(servers: str, topic: str, wanted: int, size: int) -> Measured:
    return _confluent(servers, topic, wanted, size, is_at_once=False)


def _confluent_batches(servers: str, topic: str, wanted: int, size: int) -> Measured:
    return _confluent(servers, topic, wanted, size, is_at_once=True)


def _confluent(servers: str, topic: str, wanted: int, size: int, *, is_at_once: bool) -> Measured:
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": _LINGER_MS, "log_level": 0}
    producer = Producer(settings)
    producer.produce(topic, b"first")
    producer.flush()
    refused: list[object] = []

    def told(error: object, _: object) -> None:
        if error is not None:
            refused.append(error)

    content = _content(size, _KEPT)[:_KEPT]
    messages = [{"value": value, "callback": told} for value in content]
    count = Count(wanted)
    while count.left > 0:
        now = min(_KEPT, count.left)
        if is_at_once:
            for at in range(0, now, _AT_ONCE):
                producer.produce_batch(topic, messages[at : at + _AT_ONCE])
        else:
            for value in content[:now]:
                producer.produce(topic, value, on_delivery=told)
        producer.flush()
        count.left -= now
    assert not refused, refused[0]
    return count.result()


_Asynchronous = Callable[[str, str, int, int], Awaitable[Measured]]
_Blocking = Callable[[str, str, int, int], Measured]

#: By client and way of sending. kafka-python has no way to send many at once.
WAYS: Mapping[tuple[str, str], _Asynchronous | _Blocking] = {
    ("odradek", "one"): _odradek_one,
    ("odradek", "batches"): _odradek_batches,
    ("aiokafka", "one"): _aiokafka_one,
    ("aiokafka", "batches"): _aiokafka_batches,
    ("kafka-python", "one"): _kafka_python_one,
    ("kafka-python", "batches"): _kafka_python_one,
    ("confluent-kafka", "one"): _confluent_one,
    ("confluent-kafka", "batches"): _confluent_batches,
}


def produce(client: str, way: str, servers: str, topic: str, count: int, size: int) -> Measured:
    """In a process of its own."""
    command = [sys.executable, os.path.abspath(__file__), client, way, servers, topic, str(count), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{client}, {way}: {done.stderr[-2000:]}")
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def main(client: str, way: str, servers: str, topic: str, count: str, size: str) -> None:
    found = WAYS[client, way](servers, topic, int(count), int(size))
    if isinstance(found, Measured):
        measured = found
    else:
        import uvloop  # which both asyncio clients gain from

        measured = uvloop.run(_awaited(found))
    print(json.dumps(asdict(measured)))


async def _awaited(found: Awaitable[Measured]) -> Measured:
    return await found


if __name__ == "__main__":
    main(*sys.argv[1:])
