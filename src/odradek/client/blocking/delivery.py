"""Results of sent records, for threads that wait for them."""

import asyncio
import threading
from collections.abc import Callable

from odradek.client.blocking.loop_thread import LoopThread
from odradek.client.producer import delivery as inner
from odradek.client.producer.delivery import RecordMetadata, RecordRange
from odradek.errors import RequestTimedOut


class Delivery:
    """Result of one record. Created when it is enqueued; the producer's delivery follows later (`taken`)."""

    __slots__ = ("_callbacks", "_error", "_inner", "_loop")

    def __init__(self, loop: LoopThread) -> None:
        self._loop = loop
        self._inner: inner.Delivery | None = None
        #: It was not taken at all.
        self._error: BaseException | None = None
        #: Of those who wait; only the loop's thread touches it.
        self._callbacks: list[Callable[[Delivery], object]] | None = None

    def done(self) -> bool:
        return self._error is not None or (self._inner is not None and self._inner.done())

    def result(self, timeout_ms: float | None = None) -> RecordMetadata:
        """Return where the record was written. Raises its error, or RequestTimedOut if there is no result in time."""
        error = self.exception(timeout_ms)
        if error is not None:
            raise error
        assert self._inner is not None
        return self._inner.result()

    def exception(self, timeout_ms: float | None = None) -> BaseException | None:
        if not self.done():
            self._loop.check_usable()
            happened = threading.Event()
            self.add_done_callback(lambda delivery: happened.set())
            if not happened.wait(None if timeout_ms is None else timeout_ms / 1000):
                raise RequestTimedOut(f"there is no result of the record after {timeout_ms:g} ms")
        return self._error if self._inner is None else self._inner.exception()

    def add_done_callback(self, callback: Callable[["Delivery"], object]) -> None:
        """Called in the thread of the clients, which it must not hold up."""
        self._loop.loop.call_soon_threadsafe(self._listen, callback)

    # in the loop's thread

    def taken(self, told: inner.Delivery) -> None:
        self._inner = told
        if self._callbacks is not None:
            told.add_done_callback(lambda delivery: self._notify())

    def fail(self, error: BaseException) -> None:
        self._error = error
        self._notify()

    def _listen(self, callback: Callable[["Delivery"], object]) -> None:
        if self.done():
            callback(self)
            return
        if self._callbacks is None:
            self._callbacks = []
            if self._inner is not None:
                self._inner.add_done_callback(lambda delivery: self._notify())
        self._callbacks.append(callback)

    def _notify(self) -> None:
        callbacks, self._callbacks = self._callbacks or [], None
        for callback in callbacks:  # each on its own: one that raises keeps nobody else waiting
            self._loop.loop.call_soon(callback, self)


class BatchDelivery:
    """Result of many records."""

    __slots__ = ("_inner", "_loop")

    def __init__(self, loop: LoopThread, delivery: inner.BatchDelivery) -> None:
        self._loop = loop
        self._inner = delivery

    def done(self) -> bool:
        return self._inner.done()

    def result(self, timeout_ms: float | None = None) -> list[RecordRange]:
        """Return where the records were written, range by range. Raises the first error, or RequestTimedOut."""
        self._loop.call(self._wait(timeout_ms))
        error = self._inner.exception()
        if error is not None:
            raise error
        return self._inner.ranges()

    def ranges(self) -> list[RecordRange]:
        """Return the ranges of records that were written."""
        return self._inner.ranges()

    def exception(self, timeout_ms: float | None = None) -> Exception | None:
        self._loop.call(self._wait(timeout_ms))
        return self._inner.exception()

    async def _wait(self, timeout_ms: float | None) -> None:
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                await self._inner.wait()
        except TimeoutError:
            raise RequestTimedOut(f"there is no result of the records after {timeout_ms:g} ms") from None
