"""Waiting for room in `buffer.memory`, in turn."""

import asyncio
from collections import deque
from collections.abc import Callable

from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.record_accumulator import PartitionQueue, RecordAccumulator, TopicQueues
from odradek.errors import BufferExhausted


class BufferMemory:
    def __init__(self, accumulator: RecordAccumulator, max_block_ms: float) -> None:
        self._accumulator = accumulator
        self._max_block_ms = max_block_ms
        self._waiting: deque[asyncio.Future[None]] = deque()
        #: Called when somebody begins to wait: whatever there is should be sent.
        self.on_exhausted: Callable[[], None] = lambda: None

    async def new_batch(
        self, queue: PartitionQueue, topic: TopicQueues, size_bytes: int, now_ms: Callable[[], float]
    ) -> ProducerBatch:
        """One at the end of the queue that was empty when it was given; others may have been quicker to use it.

        Raises BufferExhausted after `max.block.ms`."""
        last = queue.batches[-1] if queue.batches else None
        batch = None if self._waiting else self._accumulator.new_batch(queue, topic, size_bytes, now_ms())
        if batch is None:
            await self._wait_for(lambda: self._try(queue, topic, size_bytes, last, now_ms()))
            batch = queue.batches[-1] if queue.batches else None
            if batch is None:  # it was sent in the same moment
                return await self.new_batch(queue, topic, size_bytes, now_ms)
        return batch

    def _try(
        self, queue: PartitionQueue, topic: TopicQueues, size_bytes: int, last: ProducerBatch | None, now_ms: float
    ) -> bool:
        if queue.batches and queue.batches[-1] is not last and not queue.batches[-1].is_closed:
            return True  # somebody else has begun one meanwhile
        return self._accumulator.new_batch(queue, topic, size_bytes, now_ms) is not None

    async def _wait_for(self, has_room: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._max_block_ms / 1000
        self._accumulator.waiting_for_memory += 1
        self.on_exhausted()
        is_first = False
        try:
            async with asyncio.timeout_at(deadline_s):
                while not (is_first and has_room()):
                    waiter: asyncio.Future[None] = loop.create_future()
                    self._waiting.appendleft(waiter) if is_first else self._waiting.append(waiter)
                    try:
                        await waiter
                    finally:
                        if waiter in self._waiting:
                            self._waiting.remove(waiter)
                    is_first = True
        except TimeoutError:
            raise BufferExhausted(
                f"no room for the record in buffer.memory ({self._accumulator.settings.buffer_memory} bytes) "
                f"within max.block.ms ({self._max_block_ms:g} ms): more is sent than the cluster takes"
            ) from None
        finally:
            self._accumulator.waiting_for_memory -= 1
            self.freed()

    def freed(self) -> None:
        """Memory is free again, or whoever was first does not want it any more: the next one looks."""
        if self._waiting and self._accumulator.available_bytes > 0:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def close(self, reason: Exception) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(reason)
