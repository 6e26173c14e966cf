"""What became of a record: where it was written, or why it was not.

`Delivery` is a future in all but its class: it can be awaited, gathered, waited for and given callbacks. It is no
`asyncio.Future` because there is one for each record: this one is two references, nothing is done for it when its
batch is acknowledged unless somebody waits, and a failure that nobody asks for is no noise in the log.
"""

import asyncio
from collections.abc import Callable, Generator
from contextvars import Context
from typing import Any, NamedTuple

from odradek.client.producer.producer_batch import ProducerBatch


class RecordMetadata(NamedTuple):
    """Where a record was written."""

    topic: str
    partition: int
    #: -1 where the broker did not say it: acks=0, or a repetition that it had already forgotten.
    offset: int
    #: As the record has it in the log: the producer's time, or the broker's where the topic says LogAppendTime.
    timestamp_ms: int


class Delivery:
    """The outcome of one record, some time. It cannot be cancelled: what was sent is sent."""

    __slots__ = ("_asyncio_future_blocking", "_batch", "_index", "_timestamp_ms")

    def __init__(self, batch: ProducerBatch, index: int, timestamp_ms: int) -> None:
        self._batch = batch
        self._index = index
        self._timestamp_ms = timestamp_ms
        self._asyncio_future_blocking = False

    def done(self) -> bool:
        return self._batch.is_done

    def result(self) -> RecordMetadata:
        """Raises what went wrong, or asyncio.InvalidStateError while nothing is known."""
        raise NotImplementedError

    def exception(self) -> BaseException | None:
        raise NotImplementedError

    def cancel(self, msg: Any | None = None) -> bool:
        """Does nothing: only the waiting can be given up, by cancelling who waits."""
        return False

    def cancelled(self) -> bool:
        return False

    def get_loop(self) -> asyncio.AbstractEventLoop:
        raise NotImplementedError

    def add_done_callback(self, callback: Callable[["Delivery"], object], *, context: Context | None = None) -> None:
        raise NotImplementedError

    def remove_done_callback(self, callback: Callable[["Delivery"], object]) -> int:
        raise NotImplementedError

    def __await__(self) -> Generator["Delivery", None, RecordMetadata]:
        raise NotImplementedError
