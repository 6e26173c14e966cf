"""A service's parts without a broker: a consumer and a producer in memory, and an engine between them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any

from odradek.client.consumer.record import ConsumerRecord
from odradek.client.group.listener import RebalanceListener
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import ApiError, InputError
from odradek.common.system_clock import SystemClock
from odradek.records.record import Header, TimestampType
from odradek.service.codecs import Codec
from odradek.service.counters import Figures
from odradek.service.engine import Engine
from odradek.service.handlers import Handler, Order, make_handler
from odradek.service.handling import DoneKey, Handling
from odradek.service.message_intake import Intake
from odradek.service.ports import Outgoing
from odradek.service.processed_store import Done
from odradek.service.retries import Retries
from odradek.service.topics import TopicNames, routes_of
from odradek.service.transactions import TransactionalEngine

GROUP = "workers"

_WAIT_S = 60


def record(
    value: bytes | None,
    *,
    key: bytes | None = None,
    topic: str = "orders",
    partition: int = 0,
    offset: int = 0,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> ConsumerRecord:
    return ConsumerRecord(
        topic,
        partition,
        offset,
        1_700_000_000_000,
        TimestampType.CREATE_TIME,
        key,
        value,
        tuple(Header(*each) for each in headers),
        0,
    )


class MemorySource:
    """Partitions that somebody may write to while they are read; rebalances when a test says so."""

    def __init__(self) -> None:
        self.logs: dict[TopicPartition, list[ConsumerRecord]] = {}
        self.positions: dict[TopicPartition, int] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.commits: list[dict[TopicPartition, int]] = []
        #: How long each attempt to commit may have taken; None is a client's default.
        self.commit_timeouts_ms: list[float | None] = []
        self.paused: set[TopicPartition] = set()
        self.listener: RebalanceListener | None = None
        self.commit_error: ApiError | None = None
        self._rebalances: list[Callable[[], Awaitable[None] | None]] = []

    def write(self, value: bytes | None, **others: Any) -> ConsumerRecord:
        partition = TopicPartition(others.get("topic", "orders"), others.get("partition", 0))
        log = self.logs.setdefault(partition, [])
        self.positions.setdefault(partition, 0)
        log.append(record(value, offset=len(log), **others))
        return log[-1]

    def revoke(self, *partitions: TopicPartition) -> None:
        self._rebalances.append(lambda: self._gone(partitions, lost=False))

    def lose(self, *partitions: TopicPartition) -> None:
        self._rebalances.append(lambda: self._gone(partitions, lost=True))

    async def _gone(self, partitions: Sequence[TopicPartition], *, lost: bool) -> None:
        assert self.listener is not None
        tell = self.listener.on_partitions_lost if lost else self.listener.on_partitions_revoked
        told = tell(partitions)
        if told is not None:
            await told
        for partition in partitions:
            self.logs.pop(partition)

    async def poll(self, timeout_ms: float, max_records: int | None = None) -> list[ConsumerRecord]:
        await asyncio.sleep(0)
        while self._rebalances:
            happened = self._rebalances.pop(0)()
            if happened is not None:
                await happened
        found: list[ConsumerRecord] = []
        for partition, log in self.logs.items():
            if partition not in self.paused:
                room = (max_records or 500) - len(found)
                found += log[self.positions[partition] :][:room]
                self.positions[partition] += len(log[self.positions[partition] :][:room])
        if not found:
            await asyncio.sleep(min(timeout_ms, 5) / 1000)
        return found

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float | None = None
    ) -> None:
        self.commit_timeouts_ms.append(timeout_ms)
        if self.commit_error is not None:
            raise self.commit_error
        self.commits.append({partition: each.offset for partition, each in offsets.items()})
        self.committed |= self.commits[-1]

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.positions[partition] = offset

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused.difference_update(partitions)

    def current_lag(self, partition: TopicPartition) -> int | None:
        return len(self.logs[partition]) - self.positions[partition]

    def group_metadata(self) -> str:
        return GROUP


class MemorySink:
    """What is sent, by topic; with errors for chosen topics. Transactions show nothing before their commit."""

    def __init__(self, source: MemorySource) -> None:
        self.source = source
        self.sent: list[Outgoing] = []
        self.errors: dict[str, ApiError] = {}
        self.offsets_error: ApiError | None = None
        self.aborts = 0
        self.fed_back: Callable[[Outgoing], None] = lambda message: None
        self._open: list[Outgoing] | None = None
        self._offsets: dict[TopicPartition, int] = {}
        self._failed: ApiError | None = None

    def of(self, topic: str) -> list[Outgoing]:
        return [message for message in self.sent if message.topic == topic]

    async def send(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Sequence[tuple[str, bytes | None]],
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Awaitable[object]:
        if partition is not None and partition < 0:
            raise InputError(f"there is no partition {partition}")
        message = Outgoing(topic, value, key, headers, partition, timestamp_ms)
        delivery: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if topic in self.errors:
            self._failed = self.errors[topic]
            delivery.set_exception(self.errors[topic])
            if self._open is not None:
                delivery.exception()  # it is the transaction that says so
        else:
            delivery.set_result(None)
            self._written([message]) if self._open is None else self._open.append(message)
        return delivery

    async def begin_transaction(self) -> None:
        assert self._open is None
        self._open, self._offsets, self._failed = [], {}, None

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: Any
    ) -> None:
        if self.offsets_error is not None:
            error, self.offsets_error = self.offsets_error, None
            raise error
        self._offsets = {partition: each.offset for partition, each in offsets.items()}

    async def commit_transaction(self) -> None:
        if self._failed is not None:
            raise self._failed
        assert self._open is not None
        self._written(self._open)
        self.source.committed |= self._offsets
        self._open = None

    async def abort_transaction(self) -> None:
        self.aborts += 1
        self._open = None

    def _written(self, messages: Sequence[Outgoing]) -> None:
        self.sent += messages
        for message in messages:
            self.fed_back(message)


class Bench:
    """An engine on memory, with the handlers that are added."""

    def __init__(self, done: Done | None = None, done_key: DoneKey | None = None, *, drain_limit_s: float = 60) -> None:
        self.source = MemorySource()
        self.sink = MemorySink(self.source)
        self.names = TopicNames(GROUP)
        self.figures = Figures()
        self.handlers: list[Handler] = []
        self.done = done
        self.done_key = done_key
        self.drain_limit_s = drain_limit_s
        self.handling: Handling
        self.intake: Intake

    def handle(
        self,
        function: Callable[..., Any],
        topic: str = "orders",
        *,
        message: Any = None,
        codec: Codec | None = None,
        retries: Retries | None = None,
        dead_letters: bool = True,
        concurrency: int = 8,
        order: Order | str = Order.KEY,
        time_limit_s: float | None = None,
    ) -> None:
        self.handlers.append(
            make_handler(
                topic,
                function,
                message=message,
                codec=codec,
                retries=retries if retries is not None else Retries(in_place=0),
                dead_letters=dead_letters,
                concurrency=concurrency,
                order=order,
                time_limit_s=time_limit_s,
            )
        )

    def feed_back(self, *topics: str) -> None:
        """What is sent to these is read again, as a broker does it."""

        def write(message: Outgoing) -> None:
            if message.topic in topics:
                self.source.write(message.value, key=message.key, topic=message.topic, headers=message.headers)

        self.sink.fed_back = write

    def engine(self) -> Engine:
        self._make_parts()
        made = Engine(
            self.source,
            self.sink,
            self.intake,
            self.handling,
            self.figures,
            SystemClock(),
            commit_interval_ms=1,
            drain_limit_s=self.drain_limit_s,
        )
        self.source.listener = made
        return made

    def transactional(self, batch_records: int = 100) -> TransactionalEngine:
        self._make_parts()
        made = TransactionalEngine(
            self.source,
            self.sink,
            self.intake,
            self.handling,
            self.figures,
            SystemClock(),
            batch_records=batch_records,
            drain_limit_s=self.drain_limit_s,
        )
        self.source.listener = made
        return made

    def run(self, until: Callable[[], object], engine: Engine | TransactionalEngine | None = None) -> None:
        """Until the condition holds; then it is stopped and drained. What is not given is an `Engine`."""
        asyncio.run(self.run_async(until, engine))

    async def run_async(self, until: Callable[[], object], engine: Engine | TransactionalEngine | None = None) -> None:
        chosen = engine if engine is not None else self.engine()
        running = asyncio.ensure_future(chosen.run())
        async with asyncio.timeout(_WAIT_S):
            while not until() and not running.done():
                await asyncio.sleep(0.001)
            if not running.done():
                chosen.stop()
            await running
        self.handling.close()

    def _make_parts(self) -> None:
        clock = SystemClock()
        self.handling = Handling(
            GROUP, self.names, self.figures, clock=clock, randomness=Random(1), done=self.done, done_key=self.done_key
        )
        self.intake = Intake(self.source, routes_of(self.handlers, self.names), self.figures, clock)
