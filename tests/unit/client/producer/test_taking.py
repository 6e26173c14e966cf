"""How a producer takes records, before anything is sent."""

import asyncio
from typing import Any

import pytest

from odradek.client.producer.producer import Producer, RecordMetadata
from odradek.common.failures import InputError


class Idle:
    """A sender that sends nothing."""

    def wake(self) -> None:
        pass

    def now_ms(self) -> float:
        return 0.0


def taking(partitions: int = 1, **settings: Any) -> Producer:
    """As if started, with one topic that is known."""
    producer = Producer(bootstrap_servers="nowhere:9092", **settings)
    producer._accumulator.topic("t", partitions)
    producer._seen_version = producer._metadata.version
    producer._sender, producer._closed_error = Idle(), None  # type: ignore[assignment]
    return producer


def taken(producer: Producer) -> list[int]:
    """How many records lie in each partition."""
    return [sum(batch.count for batch in queue.batches) for queue in producer._topics["t"].queues]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"headers": [("name", "text")]}, "is not a header"),
        ({"headers": [(b"name", b"value")]}, "is not a header"),
        ({"headers": {"name": b"value"}}, "is not a header"),
        ({"timestamp_ms": 1.5}, "timestamp_ms=1.5"),
    ],
)
def test_what_cannot_be_a_record_leaves_nothing_behind(wrong: dict[str, Any], said: str) -> None:
    producer = taking()
    with pytest.raises(InputError, match=said):
        asyncio.run(producer.send("t", b"value", **wrong))
    assert not producer._accumulator.has_incomplete


@pytest.mark.parametrize(
    "partitioner",
    [lambda topic, key, value, count: value[0] % count, "org.apache.kafka.clients.producer.RoundRobinPartitioner"],
)
@pytest.mark.parametrize("make", [list, iter])
def test_a_partitioner_is_asked_for_each_of_many(partitioner: object, make: Any) -> None:
    producer = taking(3, partitioner=partitioner)
    asyncio.run(producer.send_batch("t", make([b"\0", b"\1", b"\2"])))
    assert taken(producer) == [1, 1, 1]
    asyncio.run(producer.send_batch("t", make([b"\0", b"\1"]), partition=2))
    assert taken(producer) == [1, 1, 3]


def test_a_callback_hears_of_a_record_that_nobody_waits_for_any_more() -> None:
    async def talk() -> None:
        producer, told = taking(), list[object]()
        delivery = await producer.send("t", b"value", on_delivery=lambda metadata, error: told.append(metadata))
        delivery.cancel()
        await asyncio.sleep(0)
        assert not told
        (batch,) = producer._accumulator.incomplete
        batch.complete(7, -1)
        await asyncio.sleep(0)
        (metadata,) = told
        assert isinstance(metadata, RecordMetadata) and metadata.offset == 7

    asyncio.run(talk())
