"""`odradek perf produce`: throughput of a producer, and latency of acknowledgements."""

import asyncio
import random
import time
from functools import partial

from odradek.cli.base.options import Settings
from odradek.cli.commands.perf.command import Load
from odradek.cli.commands.perf.show import Meter
from odradek.client.producer.delivery import BatchDelivery, RecordMetadata
from odradek.client.producer.producer import Producer

#: Random letters, the same for every record: neither uniform nor incompressible.
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"


async def produce_load(settings: Settings, config: dict[str, object], load: Load) -> None:
    value = payload(load.size_bytes)
    async with Producer(config) as producer:
        await producer.partitions_for(load.topic)
        with Meter(settings, f"produce to {load.topic}", load.records) as meter:
            run = _ProduceRun(producer, meter, load, value)
            await (run.send_one_by_one() if load.batch_records == 1 else run.send_batches())
            await producer.flush()
    if run.error is not None:
        raise run.error
    meter.finish()


def payload(size_bytes: int) -> bytes:
    return bytes(random.Random(0).choices(_LETTERS, k=size_bytes))


class _ProduceRun:
    """Sends the records, and measures each delivery."""

    def __init__(self, producer: Producer, meter: Meter, load: Load, value: bytes) -> None:
        self.error: BaseException | None = None
        self._producer = producer
        self._meter = meter
        self._load = load
        self._value = value
        self._started_s = time.perf_counter()

    async def send_one_by_one(self) -> None:
        for index in range(self._load.records):
            delivered = partial(self._delivered, time.perf_counter())
            await self._producer.send(self._load.topic, self._value, on_delivery=delivered)
            await self._limit_rate(index + 1)
            if self.error is not None:
                return

    async def send_batches(self) -> None:
        sent, pending = 0, set[asyncio.Task[None]]()
        while sent < self._load.records and self.error is None:
            count = min(self._load.batch_records, self._load.records - sent)
            started_s = time.perf_counter()
            delivery = await self._producer.send_batch(self._load.topic, [self._value] * count)
            task = asyncio.ensure_future(self._wait(delivery, started_s, count))
            pending.add(task)
            task.add_done_callback(pending.discard)
            sent += count
            await self._limit_rate(sent)
        await self._producer.flush()
        await asyncio.gather(*pending)

    async def _limit_rate(self, sent: int) -> None:
        if self._load.throughput:
            ahead_s = self._started_s + sent / self._load.throughput - time.perf_counter()
            if ahead_s > 0:
                await asyncio.sleep(ahead_s)

    async def _wait(self, delivery: BatchDelivery, started_s: float, count: int) -> None:
        try:
            await delivery
        except Exception as error:  # noqa: BLE001  it ends the run
            self.error = error
            return
        self._meter.latency((time.perf_counter() - started_s) * 1000, count)
        self._meter.count(count, count * self._load.size_bytes)

    def _delivered(self, started_s: float, written: RecordMetadata | None, error: BaseException | None) -> None:
        if error is not None:
            self.error = error
            return
        self._meter.latency((time.perf_counter() - started_s) * 1000)
        self._meter.count(1, self._load.size_bytes)
