"""`odradek perf produce`."""

import asyncio
import random
import time
from functools import partial

from odradek.cli.base.options import Settings
from odradek.cli.commands.perf.command import Load
from odradek.cli.commands.perf.show import Meter
from odradek.client.producer.delivery import BatchDelivery, RecordMetadata
from odradek.client.producer.producer import Producer

#: What is compressed should be neither all alike nor noise: letters at random, the same for every record.
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"


async def produce_load(settings: Settings, config: dict[str, object], load: Load) -> None:
    value = payload(load.size_bytes)
    async with Producer(config) as producer:
        await producer.partitions_for(load.topic)
        with Meter(settings, f"produce to {load.topic}", load.records) as meter:
            run = _Run(producer, meter, load, value)
            await (run.one_by_one() if load.at_once == 1 else run.many_at_once())
            await producer.flush()
    if run.error is not None:
        raise run.error
    meter.finish()


def payload(size_bytes: int) -> bytes:
    return bytes(random.Random(0).choices(_LETTERS, k=size_bytes))


class _Run:
    def __init__(self, producer: Producer, meter: Meter, load: Load, value: bytes) -> None:
        self.error: BaseException | None = None
        self._producer = producer
        self._meter = meter
        self._load = load
        self._value = value
        self._began_s = time.perf_counter()

    async def one_by_one(self) -> None:
        for number in range(self._load.records):
            delivered = partial(self._delivered, time.perf_counter())
            await self._producer.send(self._load.topic, self._value, on_delivery=delivered)
            await self._keep_pace(number + 1)
            if self.error is not None:
                return

    async def many_at_once(self) -> None:
        sent, waiting = 0, set[asyncio.Task[None]]()
        while sent < self._load.records and self.error is None:
            count = min(self._load.at_once, self._load.records - sent)
            began_s = time.perf_counter()
            delivery = await self._producer.send_batch(self._load.topic, [self._value] * count)
            task = asyncio.ensure_future(self._wait(delivery, began_s, count))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
            sent += count
            await self._keep_pace(sent)
        await self._producer.flush()
        await asyncio.gather(*waiting)

    async def _keep_pace(self, sent: int) -> None:
        if self._load.throughput:
            ahead_s = self._began_s + sent / self._load.throughput - time.perf_counter()
            if ahead_s > 0:
                await asyncio.sleep(ahead_s)

    async def _wait(self, delivery: BatchDelivery, began_s: float, count: int) -> None:
        try:
            await delivery
        except Exception as error:  # noqa: BLE001  the run ends with it
            self.error = error
            return
        self._meter.latency((time.perf_counter() - began_s) * 1000, count)
        self._meter.count(count, count * self._load.size_bytes)

    def _delivered(self, began_s: float, written: RecordMetadata | None, error: BaseException | None) -> None:
        if error is not None:
            self.error = error
            return
        self._meter.latency((time.perf_counter() - began_s) * 1000)
        self._meter.count(1, self._load.size_bytes)
