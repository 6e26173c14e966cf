"""Records on their way from threads to the producer's loop.

`hand` is what a thread pays for: a lock, a list, and a call that wakes the loop only if it sleeps. The loop takes
everything that is there at once, in its order. What was handed and not taken yet is bounded (`_HANDED_BYTES_MAX`), and
a thread that is ahead waits: so the producer's own bound on memory holds back threads, too.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from odradek.client.blocking.delivery import Delivery
from odradek.errors import BufferExhausted, ProducerClosed

#: Enough for the loop to be busy while a thread has the interpreter for itself (5 ms), and little beside buffer.memory.
_HANDED_BYTES_MAX = 4 * 1024 * 1024

#: What a record costs beside its bytes.
_RECORD_BYTES = 200


class Record(NamedTuple):
    delivery: Delivery
    topic: str
    value: bytes | None
    key: bytes | None
    headers: Any
    partition: int | None
    timestamp_ms: int
    on_delivery: Any


#: Gives what the asyncio producer gives for a record.
Take = Callable[[Record], Awaitable[Any]]


class RecordQueue:
    def __init__(self, take: Take, max_block_ms: float) -> None:
        self._take = take
        self._max_block_s = max_block_ms / 1000
        self._lock = threading.Lock()
        self._has_space = threading.Condition(self._lock)
        self._records: list[Record | asyncio.Future[None]] = []
        self._bytes = 0
        self._is_sleeping = False
        #: Nothing is taken before `start`, either.
        self._is_closed = True
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop
        self._task: asyncio.Task[None]

    def start(self) -> None:
        """In the loop's thread, as all below but `hand`."""
        self._loop = asyncio.get_running_loop()
        self._is_closed = False
        self._task = self._loop.create_task(self._run())

    def hand(self, record: Record, payload_bytes: int) -> None:
        """From any thread. Raises BufferExhausted after max.block.ms without room, ProducerClosed."""
        size_bytes = payload_bytes + _RECORD_BYTES
        with self._lock:
            if self._bytes + size_bytes > _HANDED_BYTES_MAX and self._bytes:
                self._await_room(size_bytes)
            if self._is_closed:
                raise ProducerClosed("the producer is closed")
            self._bytes += size_bytes
            self._records.append(record)
            is_sleeping, self._is_sleeping = self._is_sleeping, False
        if is_sleeping:
            self._loop.call_soon_threadsafe(self._wake.set)

    def _await_room(self, size_bytes: int) -> None:
        def has_room() -> bool:
            return self._is_closed or not self._bytes or self._bytes + size_bytes <= _HANDED_BYTES_MAX

        if self._is_in_loop():  # a callback of a delivery: the loop cannot wait for itself
            return
        if not self._has_space.wait_for(has_room, self._max_block_s):
            raise BufferExhausted(f"the producer took nothing for {self._max_block_s * 1000:g} ms (max.block.ms)")

    def _is_in_loop(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    async def passed(self) -> None:
        """Returns when everything has been taken that was handed before."""
        mark = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._is_closed:
                return
            self._records.append(mark)
            self._is_sleeping = False
        self._wake.set()
        await mark

    async def close(self) -> None:
        """Close the queue; records that are left are not sent."""
        if self._is_closed:
            return
        with self._lock:
            self._is_closed = True
            self._has_space.notify_all()
        self._task.cancel()
        await asyncio.wait([self._task])
        self._records.reverse()
        self._refuse(self._records)

    async def _run(self) -> None:
        while True:
            with self._lock:
                records, self._records = self._records, []
                size_bytes = self._bytes
                self._is_sleeping = not records
            if not records:
                await self._wake.wait()
                self._wake.clear()
                continue
            records.reverse()
            try:
                while records:
                    await self._take_next(records)
            finally:
                self._refuse(records)
            with self._lock:
                self._bytes -= size_bytes
                self._has_space.notify_all()

    async def _take_next(self, records: "list[Record | asyncio.Future[None]]") -> None:
        """The last one; it stays there until it is taken."""
        record = records[-1]
        if isinstance(record, Record):
            try:
                record.delivery.taken(await self._take(record))
            except Exception as error:  # noqa: BLE001 - whoever asks for the delivery is told
                _fail(record, error)
        elif not record.done():
            record.set_result(None)
        records.pop()

    def _refuse(self, records: "list[Record | asyncio.Future[None]]") -> None:
        """Fail records that were still queued when the producer was closed."""
        for record in reversed(records):
            if isinstance(record, Record):
                _fail(record, ProducerClosed("the producer was closed before the record was taken"))
            elif not record.done():
                record.set_result(None)
        records.clear()


def _fail(record: Record, error: Exception) -> None:
    record.delivery.fail(error)
    if record.on_delivery is not None:  # what it raises is not to stop the records behind this one
        asyncio.get_running_loop().call_soon(record.on_delivery, None, error)
