"""`odradek perf latency`: time from sending a record until a consumer has received it, one record after the other."""

import asyncio
import time

from odradek.cli.base.options import Settings
from odradek.cli.commands.consume.command import topic_partitions
from odradek.cli.commands.perf.command import Load
from odradek.cli.commands.perf.produce import payload
from odradek.cli.commands.perf.show import Meter
from odradek.client.consumer.consumer import Consumer
from odradek.client.producer.producer import Producer

#: A record that has not arrived by then is lost.
_TIMEOUT_S = 60.0

#: The first records open connections.
_WARM_UP = 10


async def latency_load(
    settings: Settings, producer_config: dict[str, object], consumer_config: dict[str, object], load: Load
) -> None:
    value = payload(load.size_bytes)
    async with Producer(producer_config) as producer, Consumer(consumer_config) as consumer:
        partitions = await topic_partitions(consumer, load.topic)
        consumer.assign(partitions)
        consumer.seek_to_end(*partitions)
        for partition in partitions:
            await consumer.position(partition)
        for _ in range(_WARM_UP):
            await _round_trip_ms(producer, consumer, load.topic, value)
        with Meter(settings, f"latency through {load.topic}", load.records) as meter:
            for _ in range(load.records):
                meter.latency(await _round_trip_ms(producer, consumer, load.topic, value))
                meter.count(1, load.size_bytes)
    meter.finish()


async def _round_trip_ms(producer: Producer, consumer: Consumer, topic: str, value: bytes) -> float:
    """Return the time from sending a record until it is received. Records with other values are skipped."""
    started_s = time.perf_counter()
    delivery = await producer.send(topic, value)
    async with asyncio.timeout(_TIMEOUT_S):
        while not any(record.value == value for record in await consumer.poll(1_000)):
            pass
    elapsed_ms = (time.perf_counter() - started_s) * 1000
    await delivery
    return elapsed_ms
