"""`odradek perf consume`: throughput of a consumer."""

import asyncio
from collections.abc import AsyncIterator

from odradek.cli.base.options import Settings
from odradek.cli.commands.consume.command import topic_partitions
from odradek.cli.commands.perf.command import Load
from odradek.cli.commands.perf.show import Meter
from odradek.client.consumer.consumer import Consumer
from odradek.common.failures import InputError

_POLL_RECORDS_MAX = 5_000


async def consume_load(settings: Settings, config: dict[str, object], load: Load, *, columns: bool) -> None:
    async with Consumer(config) as consumer:
        partitions = await topic_partitions(consumer, load.topic)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        chunks = _columns(consumer) if columns else _records(consumer)
        with Meter(settings, f"consume from {load.topic}", load.records) as meter:
            while meter.records < load.records:
                try:
                    async with asyncio.timeout(load.timeout_s):
                        count, size_bytes = await anext(chunks)
                except TimeoutError:
                    received = f"received {meter.records} of {load.records} records"
                    raise InputError(f"{received}, then none for {load.timeout_s:g} s (--timeout)") from None
                meter.count(count, size_bytes)
    meter.finish()


async def _records(consumer: Consumer) -> AsyncIterator[tuple[int, int]]:
    """Yield the number of records of each poll, and the bytes of their keys and values."""
    while True:
        records = await consumer.poll(1_000, _POLL_RECORDS_MAX)
        if records:
            yield len(records), sum(len(record.value or b"") + len(record.key or b"") for record in records)


async def _columns(consumer: Consumer) -> AsyncIterator[tuple[int, int]]:
    async for batch in consumer.batches():
        columns = batch.columns
        yield len(batch), int(columns.key_length.clip(0).sum() + columns.value_length.clip(0).sum())
