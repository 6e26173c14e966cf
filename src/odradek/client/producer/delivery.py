"""Results of sent records: where they were written, or their error.

`Delivery` is a future in all but its class: it can be awaited, gathered, waited for, shielded and given callbacks. It
is no `asyncio.Future` because there is one for each record: this one is four references, nothing is done for it when
its batch is acknowledged unless somebody waits, and a failure that nobody asks for is no noise in the log.
"""

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextvars import Context, copy_context
from typing import Any, NamedTuple

from odradek.client.producer.producer_batch import NO_OFFSET, ProducerBatch

_new = tuple.__new__


class RecordMetadata(NamedTuple):
    """Position at which a record was written."""

    topic: str
    partition: int
    #: -1 where the broker did not say it: acks=0, or a repetition that it had already forgotten.
    offset: int
    #: As the record has it in the log: the producer's time, or the broker's where the topic says LogAppendTime.
    timestamp_ms: int


class RecordRange(NamedTuple):
    """Position at which consecutive records were written."""

    topic: str
    partition: int
    #: Of the first; -1 as with single records.
    base_offset: int
    record_count: int


class _Waiting:
    """State of a delivery that a task or a callback waits for."""

    __slots__ = ("callbacks", "is_blocking", "is_cancelled", "loop")

    def __init__(self) -> None:
        self.callbacks: list[tuple[Callable[[Delivery], object], Context]] = []
        self.is_blocking = self.is_cancelled = False
        self.loop = asyncio.get_running_loop()


class Delivery:
    """The outcome of one record, some time. To cancel it is to wait no longer: the record is sent all the same."""

    __slots__ = ("_batch", "_index", "_timestamp_ms", "_waiting")

    def __init__(self, batch: ProducerBatch, index: int, timestamp_ms: int) -> None:
        self._batch = batch
        self._index = index
        self._timestamp_ms = timestamp_ms
        self._waiting: _Waiting | None = None

    def slot(self) -> tuple[ProducerBatch, int]:
        """Return the batch that the record was appended to, and its index there. For the producer."""
        return self._batch, self._index

    def done(self) -> bool:
        if self._waiting is not None and self._waiting.is_cancelled:
            return True
        batch = self._batch
        return batch.is_done if not batch.parts else batch.leaf(self._index)[0].is_done

    def cancelled(self) -> bool:
        return self._waiting is not None and self._waiting.is_cancelled

    def result(self) -> RecordMetadata:
        """Raises what went wrong, or asyncio.InvalidStateError while nothing is known."""
        batch, index = self._batch, self._index
        if not batch.is_done or batch.error is not None or self._waiting is not None:
            error = self.exception()
            if error is not None:
                raise error
            batch, index = batch.leaf(index)
        partition, base_offset, stamped_ms = batch.topic_partition, batch.base_offset, batch.log_append_time_ms
        offset = NO_OFFSET if base_offset < 0 else base_offset + index
        time_ms = self._timestamp_ms if stamped_ms < 0 else stamped_ms
        return _new(RecordMetadata, (partition[0], partition[1], offset, time_ms))

    def exception(self) -> BaseException | None:
        """Raises asyncio.CancelledError for one that was cancelled, asyncio.InvalidStateError while it is not done."""
        if self.cancelled():
            raise asyncio.CancelledError
        batch, index = self._batch.leaf(self._index)
        if not batch.is_done:
            raise asyncio.InvalidStateError("the record has neither been acknowledged nor given up yet")
        return batch.record_errors.get(index, batch.error)

    def cancel(self, msg: Any | None = None) -> bool:
        if self.done():
            return False
        waiting = self._wait()
        waiting.is_cancelled = True
        self._notify()
        return True

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop() if self._waiting is None else self._waiting.loop

    def add_done_callback(self, callback: Callable[["Delivery"], object], *, context: Context | None = None) -> None:
        context = context or copy_context()
        if self.done():
            asyncio.get_running_loop().call_soon(callback, self, context=context)
        else:
            self._wait().callbacks.append((callback, context))

    def remove_done_callback(self, callback: Callable[["Delivery"], object]) -> int:
        if self._waiting is None:
            return 0
        retained = [
            callback_and_context
            for callback_and_context in self._waiting.callbacks
            if callback_and_context[0] != callback
        ]
        removed = len(self._waiting.callbacks) - len(retained)
        self._waiting.callbacks = retained
        return removed

    def __await__(self) -> Generator["Delivery", None, RecordMetadata]:
        if not self._batch.is_done and not self.done():
            self._wait().is_blocking = True
            yield self
        return self.result()

    @property
    def _asyncio_future_blocking(self) -> bool:
        """Attribute by which asyncio recognizes a future; a task that gets one from `__await__` resets it."""
        return self._waiting is not None and self._waiting.is_blocking

    @_asyncio_future_blocking.setter
    def _asyncio_future_blocking(self, is_blocking: bool) -> None:
        self._wait().is_blocking = is_blocking

    def _wait(self) -> _Waiting:
        if self._waiting is None:
            self._waiting = _Waiting()
            self._batch.listen(self._index, self._notify)
        return self._waiting

    def _notify(self) -> None:
        waiting = self._waiting
        if waiting is not None:
            callbacks, waiting.callbacks = waiting.callbacks, []
            for callback, context in callbacks:
                waiting.loop.call_soon(callback, self, context=context)


class BatchDelivery:
    """The outcome of many records: awaited, it gives where they were written, range by range, in their order.

    Raises the first error if some were not written; `ranges` has the others, then too."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[tuple[ProducerBatch, int, int]] = []

    def add(self, batch: ProducerBatch, first: int, count: int) -> None:
        self._parts.append((batch, first, count))

    def done(self) -> bool:
        return all(batch.is_done for batch, _, _ in self._leaves())

    def ranges(self) -> list[RecordRange]:
        """Return the ranges of records that were written."""
        ranges: list[RecordRange] = []
        for batch, first, count in self._leaves():
            if batch.is_done and batch.error is None:
                offset = NO_OFFSET if batch.base_offset < 0 else batch.base_offset + first
                ranges.append(RecordRange(*batch.topic_partition, offset, count))
        return ranges

    def exception(self) -> Exception | None:
        return next((batch.error for batch, _, _ in self._leaves() if batch.error is not None), None)

    def __await__(self) -> Generator[Any, None, list[RecordRange]]:
        yield from self.wait().__await__()
        error = self.exception()
        if error is not None:
            raise error
        return self.ranges()

    async def wait(self) -> None:
        """Returns when all of them have succeeded or failed."""
        while True:
            leaf = next((leaf for leaf in self._leaves() if not leaf[0].is_done), None)
            if leaf is None:
                return
            happened = asyncio.Event()
            leaf[0].listen(leaf[1], happened.set)
            await happened.wait()

    def _leaves(self) -> Iterator[tuple[ProducerBatch, int, int]]:
        for batch, first, count in self._parts:
            if batch.parts:
                yield from _leaves(batch, first, count)
            else:
                yield batch, first, count


def _leaves(batch: ProducerBatch, first: int, count: int) -> Iterator[tuple[ProducerBatch, int, int]]:
    """Yield the parts that now contain a range of a batch that was split."""
    index, end = first, first + count
    while index < end:
        leaf, at = batch.leaf(index)
        length = min(end - index, leaf.count - at)
        yield leaf, at, length
        index += length
