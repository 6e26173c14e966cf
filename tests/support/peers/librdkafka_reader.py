"""Reading with both clients: ours, and librdkafka's, which says what is right."""

import asyncio
import time
from collections.abc import Coroutine, Iterable
from typing import Any, NamedTuple, TypeVar

import confluent_kafka
from confluent_kafka import KafkaError, Message

from odradek.client.consumer.consumer import Consumer
from odradek.client.consumer.record import ConsumerRecord
from odradek.client.types import TopicPartition

_Result = TypeVar("_Result")

#: Long enough for any machine: what takes longer hangs.
LIMIT_S = 120


class Seen(NamedTuple):
    """A record as either client tells of it."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def seen(record: ConsumerRecord) -> Seen:
    headers = tuple((header.key, header.value) for header in record.headers)
    return Seen(record.partition, record.offset, record.timestamp_ms, record.key, record.value, headers)


def run(work: Coroutine[Any, Any, _Result]) -> _Result:
    async def limited() -> _Result:
        async with asyncio.timeout(LIMIT_S):
            return await work

    return asyncio.run(limited())


def read_by_librdkafka(
    bootstrap: str, topic: str, partitions: int = 1, *, tolerates_errors: bool = True, **settings: object
) -> list[Seen]:
    """All that there is now, by partition and offset. Errors pass by where nodes come and go."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
        | {name.replace("_", "."): value for name, value in settings.items()}
    )
    places = [confluent_kafka.TopicPartition(topic, number, 0) for number in range(partitions)]
    consumer.assign(places)
    found: list[Seen] = []
    ended: set[int] = set()
    deadline_s = time.monotonic() + LIMIT_S
    while len(ended) < partitions:
        assert time.monotonic() < deadline_s, f"only {len(ended)} partitions could be read to their end"
        for message in consumer.consume(500, 0.2):
            error = message.error()
            if error is None:
                found.append(_seen(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition() or 0)
            else:
                assert tolerates_errors, error
    consumer.close()
    return sorted(found)


def _seen(message: Message) -> Seen:
    headers = tuple(message.headers() or ())
    _, timestamp_ms = message.timestamp()
    return Seen(message.partition(), message.offset(), timestamp_ms, message.key(), message.value(), headers)  # type: ignore[arg-type]


async def read_to_the_end(consumer: Consumer, partitions: Iterable[TopicPartition]) -> list[Seen]:
    """Polls until every partition's position is at its end."""
    ends = await consumer.end_offsets(partitions)
    found: list[Seen] = []
    while any([await consumer.position(partition) < end for partition, end in ends.items()]):
        found += map(seen, await consumer.poll(1_000))
    return found
