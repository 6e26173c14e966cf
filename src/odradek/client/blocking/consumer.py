"""The consumer for threads.

Callbacks of rebalances are called in the thread that polls or iterates, and may call the consumer. Deserializers run in
the thread of the clients.

Several threads may use one consumer: what hands out records (`poll`, `batches`, iteration) goes one after the other,
the rest at any time. Records of one partition that several threads take are handled in no particular order; positions
are behind what was handed out.
"""

import re
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from operator import length_hint
from typing import TYPE_CHECKING, Generic, Unpack

from odradek.client.blocking.blocking_client import BlockingClient, blocking, in_loop
from odradek.client.blocking.loop_thread import in_caller
from odradek.client.consumer.consumer import Consumer as AsyncConsumer
from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.client.group.listener import RebalanceListener
from odradek.client.settings.typed_dicts import ConsumerSettings
from odradek.client.types import Key, TopicPartition, Value

if TYPE_CHECKING:
    from odradek.client.consumer.record_columns import RecordColumns


class _InCaller(RebalanceListener):
    """The application's listener, called in the thread that polls."""

    def __init__(self, listener: RebalanceListener) -> None:
        self._listener = listener

    async def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        await in_caller(lambda: self._listener.on_partitions_assigned(partitions))

    async def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        await in_caller(lambda: self._listener.on_partitions_revoked(partitions))

    async def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        await in_caller(lambda: self._listener.on_partitions_lost(partitions))


class Consumer(BlockingClient[AsyncConsumer[Key, Value]], Generic[Key, Value]):
    """Reads records, alone (`assign`) or as a member of the group of `group_id`; for scripts and threads.

        with Consumer("orders", bootstrap_servers="localhost:9092", group_id="billing") as consumer:
            for record in consumer:
                print(record.key, record.value)

    Instead of `with` there are `start` and `close`. Times are in milliseconds.
    """

    def __init__(self, *topics: str | Mapping[str, object], **settings: Unpack[ConsumerSettings[Key, Value]]) -> None:
        """Topics to subscribe to, and settings by Kafka's names: a dict with dots among the arguments, or keywords with
        underscores. Raises InputError."""
        super().__init__(AsyncConsumer(*topics, **settings))
        self.settings = self._inner.settings
        #: Of what hands out records. A callback, in the thread that has it, may poll again.
        self._read_lock = threading.RLock()
        self._run: Iterator[ConsumerRecord[Key, Value]] = iter(())

    def start(self) -> None:
        """Raises Unreachable, with each address and what became of it."""
        self._loop.call(self._inner.start())
        self._loop.open.add(self)

    def close(self, timeout_ms: float | None = None) -> None:
        """Commits for the last time where that is automatic, and leaves the group, within `timeout_ms` (30 s unless
        given). Whoever iterates comes to an end."""
        self._loop.open.discard(self)
        self._loop.call(self._inner.close(timeout_ms))

    # What to read

    def subscribe(
        self,
        topics: Iterable[str] | str = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """The listener's methods are called in the thread that polls; they may be plain ones."""
        in_caller_listener = None if listener is None else _InCaller(listener)
        self._loop.do(lambda: self._inner.subscribe(topics, pattern=pattern, listener=in_caller_listener))

    assign = in_loop(AsyncConsumer.assign)
    unsubscribe = blocking(AsyncConsumer.unsubscribe)
    subscription = in_loop(AsyncConsumer.subscription)
    assignment = in_loop(AsyncConsumer.assignment)

    # Reading

    def __iter__(self) -> Iterator[ConsumerRecord[Key, Value]]:
        """One record after the other, until the consumer is closed."""
        self._loop.do(self._inner._parts)  # refused unless it runs
        while (run := self._next_run()) is not None:
            yield from run

    def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> list[ConsumerRecord[Key, Value]]:
        """Return available records, at most max.poll.records; an empty list after `timeout_ms`."""
        with self._read_lock:
            return self._loop.call(self._inner.poll(timeout_ms, max_records))

    def batches(self) -> "Iterator[RecordColumns]":
        """Whole fetched chunks of one partition each, as columns, until the consumer is closed."""
        chunks = self._loop.do(self._inner.batches)
        while (chunk := self._next_chunk(chunks)) is not None:
            yield chunk

    # Where it stands

    seek = in_loop(AsyncConsumer.seek)
    seek_to_beginning = in_loop(AsyncConsumer.seek_to_beginning)
    seek_to_end = in_loop(AsyncConsumer.seek_to_end)

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int:
        """The offset of the next record. Waits until there is one; raises RequestTimedOut."""
        with self._read_lock:
            return self._loop.call(self._inner.position(partition, timeout_ms))

    pause = in_loop(AsyncConsumer.pause)
    resume = in_loop(AsyncConsumer.resume)
    paused = in_loop(AsyncConsumer.paused)
    current_lag = in_loop(AsyncConsumer.current_lag)

    # The group

    commit = blocking(AsyncConsumer.commit)
    committed = blocking(AsyncConsumer.committed)
    group_metadata = in_loop(AsyncConsumer.group_metadata)
    enforce_rebalance = in_loop(AsyncConsumer.enforce_rebalance)

    # The cluster

    partitions_for = blocking(AsyncConsumer.partitions_for)
    offsets_for_times = blocking(AsyncConsumer.offsets_for_times)
    beginning_offsets = blocking(AsyncConsumer.beginning_offsets)
    end_offsets = blocking(AsyncConsumer.end_offsets)
    topics = blocking(AsyncConsumer.topics)

    # Inside

    async def _close_inner(self, timeout_ms: float | None) -> None:
        await self._inner.close(timeout_ms)

    def _next_run(self) -> Iterator[ConsumerRecord[Key, Value]] | None:
        """Return the run of records that another thread has not finished yet, or the next one."""
        with self._read_lock:
            if not length_hint(self._run):
                run = self._loop.call(self._inner._run())
                if run is None:
                    return None
                self._run = run
            return self._run

    def _next_chunk(self, chunks: "AsyncIterator[RecordColumns]") -> "RecordColumns | None":
        async def next_chunk() -> "RecordColumns | None":
            return await anext(chunks, None)

        with self._read_lock:
            return self._loop.call(next_chunk())
