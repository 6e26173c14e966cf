"""`odradek perf latency`: from before a record is sent until a consumer has it, one record after the other."""

import asyncio
import time

from odradek.cli.base.options import Settings
from odradek.cli.commands.consume.command import topic_partitions
from odradek.cli.commands.perf.command import Load
from odradek.cli.commands.perf.produce import payload
from odradek.cli.commands.perf.show import Meter
from odradek.client.consumer.consumer import Consumer
from odradek.client.producer.producer import Producer

#: A record that has not come by then does not come.
_PATIENCE_S = 60.0

#: The first ones open connections.
_WARM_UP = 10


async def latency_load(
    settings: Settings, producing: dict[str, object], consuming: dict[str, object], load: Load
) -> None:
    value = payload(load.size_bytes)
    async with Producer(producing) as producer, Consumer(consuming) as consumer:
        partitions = await topic_partitions(consumer, load.topic)
        consumer.assign(partitions)
        consumer.seek_to_end(*partitions)
        for place in partitions:
            await consumer.position(place)
        for _ in range(_WARM_UP):
            await _once(producer, consumer, load.topic, value)
        with Meter(settings, f"latency through {load.topic}", load.records) as meter:
            for _ in range(load.records):
                meter.latency(await _once(producer, consumer, load.topic, value))
                meter.count(1, load.size_bytes)
    meter.finish()


async def _once(producer: Producer, consumer: Consumer, topic: str, value: bytes) -> float:
    """Milliseconds. Records of others are passed over."""
    began_s = time.perf_counter()
    delivery = await producer.send(topic, value)
    async with asyncio.timeout(_PATIENCE_S):
        while not any(each.value == value for each in await consumer.poll(1_000)):
            pass
    took_ms = (time.perf_counter() - began_s) * 1000
    await delivery
    return took_ms
