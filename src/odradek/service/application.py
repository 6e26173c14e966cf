"""The service: what it is told, and its life from the start of its clients to their end.

    app = Service("orders", bootstrap_servers="localhost:9092")

    @app.handler("orders", retries=Retries(in_place=2, topics=["10s", "1m"]), concurrency=8, time_limit_s=30)
    async def handle(order: Order, context: Context) -> None: ...

`odradek service run shop:app` runs it; so does `asyncio.run(app.run())`. What happens to messages is in `engine`, or
with `exactly_once=True` in `transactions`.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any, TypeVar

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.consumer.consumer import Consumer
from odradek.client.net.config import ClientConfig
from odradek.client.producer.producer import Producer
from odradek.client.settings.parsing import Kind, definitions
from odradek.client.types import TopicPartition
from odradek.common.addresses import parse_bootstrap
from odradek.common.failures import InputError
from odradek.common.system_clock import SystemClock
from odradek.service.admin_http import Watching
from odradek.service.batch import BatchLimits, BatchResult, BatchSource, batch_settings, run_batch
from odradek.service.codecs import Codec
from odradek.service.counters import Figures
from odradek.service.engine import Engine
from odradek.service.group_observer import GroupObserver, log_group_state
from odradek.service.group_state import GroupPhase, GroupState
from odradek.service.handlers import Handler, Order, make_handler
from odradek.service.handling import DoneKey, Handling
from odradek.service.message_intake import Intake
from odradek.service.ports import Source
from odradek.service.processed_store import Done
from odradek.service.retries import Retries
from odradek.service.topics import TopicNames, prepare_topics, routes_of
from odradek.service.transactions import TransactionalEngine

logger = logging.getLogger("odradek.service")

DEFAULT_BOOTSTRAP = "localhost:9092"

#: A transaction that a dead service left open hides what comes after it from read_committed consumers for this long.
_TRANSACTION_TIMEOUT_MS = 15_000

_CLOSE_TIMEOUT_MS = 5_000

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Service:
    """Handlers by topic, and a consumer that calls them; what fails is tried again, or becomes a dead letter.

        app = Service("shop", bootstrap_servers="localhost:9092")

        @app.handler("orders")
        async def charge(order: Order) -> None: ...

    `odradek service run MODULE:app` runs it, or `await app.run()`.
    """

    def __init__(
        self,
        name: str,
        *,
        bootstrap_servers: str | None = None,
        group_id: str | None = None,
        consumer: Mapping[str, object] | None = None,
        producer: Mapping[str, object] | None = None,
        done: Done | None = None,
        done_key: DoneKey | None = None,
        exactly_once: bool = False,
        transactional_id: str | None = None,
        batch_records: int = 200,
        commit_interval_ms: int = 1_000,
        drain_limit_s: float = 30,
        admin_listener: str | None = None,
        retry_topic: str = "{topic}.retry.{delay}",
        dead_topic: str = "{topic}.dead",
    ) -> None:
        """`consumer` and `producer` are further settings of the clients, by Kafka's names. `batch_records` are those of
        one transaction. `admin_listener` is host:port of /healthz and /metrics. Raises InputError."""
        if done_key is not None and done is None:
            raise InputError("done_key needs a store: done=MemoryDone() or done=SqliteDone(path).")
        if transactional_id is not None and not exactly_once:
            raise InputError("transactional_id needs exactly_once=True.")
        self.name = name
        self.bootstrap_servers = bootstrap_servers
        self.group_id = group_id or name
        self.handlers: list[Handler] = []
        self.names = TopicNames(self.group_id, retry_topic, dead_topic)
        self.exactly_once = exactly_once
        self.figures = Figures()
        self.watching = Watching(admin_listener, self)
        self._consumer_settings = dict(consumer or {})
        self._producer_settings = dict(producer or {})
        self._done = done
        self._done_key = done_key
        self._transactional_id = transactional_id
        self._batch_records = batch_records
        self._commit_interval_ms = commit_interval_ms
        self._drain_limit_s = drain_limit_s
        self._clock = SystemClock()
        self._group_state: GroupState | None = None
        self._has_prepared_topics = False
        self._life: _Life | None = None
        self._stopping = False

    def handler(
        self,
        topic: str,
        *,
        message: Any = None,
        codec: Codec | None = None,
        retries: Retries | None = None,
        dead_letters: bool = True,
        concurrency: int = 8,
        order: Order | str = Order.KEY,
        time_limit_s: float | None = None,
    ) -> Callable[[_Function], _Function]:
        """A decorator: the function handles messages of the topic. `message` is their type, if the annotation of the
        first argument does not say it; `codec` is for types that do not say how they are read."""

        def register(function: _Function) -> _Function:
            handler = make_handler(
                topic,
                function,
                message=message,
                codec=codec,
                retries=retries if retries is not None else Retries(),
                dead_letters=dead_letters,
                concurrency=concurrency,
                order=order,
                time_limit_s=time_limit_s,
            )
            routes_of([*self.handlers, handler], self.names)
            self.handlers.append(handler)
            return function

        return register

    def add_client_settings(self, settings: Mapping[str, object]) -> None:
        """Add settings by Kafka's names, as in a properties file; each goes to the clients that know it."""
        for name, value in settings.items():
            if name == "bootstrap.servers":
                self.bootstrap_servers = str(value)
                continue
            known = [
                target
                for kind, target in (
                    (Kind.CONSUMER, self._consumer_settings),
                    (Kind.PRODUCER, self._producer_settings),
                )
                if name in definitions(kind)
            ]
            if not known:
                raise InputError(f"{name} is a setting of neither consumers nor producers.")
            for target in known:
                target[name] = value

    async def run(self) -> None:
        """Until `stop`. Raises Unreachable, InputError, and errors of the group that do not pass."""
        if not self.handlers:
            raise InputError(f"service {self.name} has no handlers; @app.handler(topic) makes one.")
        routes = routes_of(self.handlers, self.names)
        handling = self._handling(self.figures)
        await self.watching.start()
        try:
            await self._prepare_topics()
            async with self._clients() as (consumer, producer):
                intake = Intake(consumer, routes, self.figures, self._clock)
                engine = self._engine(consumer, producer, intake, handling)
                state = self._group_state = self._new_group_state(consumer)
                consumer.subscribe(list(routes), listener=GroupObserver(engine, state, self._clock))
                self._life = _Life(consumer, intake, engine, handling)
                if self._stopping:
                    engine.stop()
                logger.info("%s: reading %s as group %s", self.name, ", ".join(routes), self.group_id)
                logging_state = asyncio.ensure_future(log_group_state(self.name, state, self._clock))
                try:
                    await engine.run()
                finally:
                    logging_state.cancel()
        finally:
            self._life = None
            self._group_state = None
            handling.close()
            await self.watching.stop()

    async def run_batch(
        self, *, max_records: int = 10_000, max_seconds: float = 60, parallel: bool = False
    ) -> BatchResult:
        """Handle what is there now, commit, and return: for tasks that run now and then (`task`).

        Ends at what was there when it began, after `max_records`, or after `max_seconds` and then `drain_limit_s` for
        what runs. Two runs at a time need `parallel`: they join the group and share its partitions. Raises as `run`.
        """
        limits = self._batch_limits(max_records, max_seconds)
        if not self._has_prepared_topics:
            await self._prepare_topics()
            self._has_prepared_topics = True
        routes, figures = routes_of(self.handlers, self.names), Figures()
        handling = self._handling(figures)
        try:
            async with self._clients(batch_settings(parallel=parallel)) as (consumer, producer):
                source = BatchSource(consumer, max_records, self._clock, guards_offsets=not parallel)
                intake = Intake(source, routes, figures, self._clock)
                engine = self._at_least_once(source, producer, intake, handling, figures)
                if parallel:
                    consumer.subscribe(list(routes), listener=engine)
                else:
                    consumer.assign([TopicPartition(t, n) for t in routes for n in await consumer.partitions_for(t)])
                return await run_batch(engine, source, intake, figures, self._clock, limits)
        finally:
            handling.close()

    def _batch_limits(self, max_records: int, max_seconds: float) -> BatchLimits:
        if not self.handlers:
            raise InputError(f"service {self.name} has no handlers; @app.handler(topic) makes one.")
        if self.exactly_once:
            raise InputError("run_batch handles messages at least once; exactly_once=True needs `run`.")
        if max_records < 1 or max_seconds <= 0:
            raise InputError(f"max_records {max_records} and max_seconds {max_seconds} must be above 0.")
        return BatchLimits(max_records, max_seconds)

    def stop(self) -> None:
        """Begin nothing more, finish what runs within `drain_limit_s`, commit, leave the group. On the event loop."""
        self._stopping = True
        if self._life is not None:
            self._life.engine.stop()

    # What watchers ask

    @property
    def running(self) -> int:
        return self._life.engine.running if self._life is not None else 0

    @property
    def in_hand(self) -> int:
        return self._life.intake.in_hand if self._life is not None else 0

    @property
    def waiting(self) -> int:
        return self._life.intake.held if self._life is not None else 0

    @property
    def abandoned(self) -> int:
        return self._life.handling.threads.abandoned if self._life is not None else 0

    def lags(self) -> dict[TopicPartition, int]:
        """Lag of the assigned partitions, as far as known."""
        if self._life is None:
            return {}
        lags = ((each, self._life.consumer.current_lag(each)) for each in self._life.intake.works)
        return {partition: lag for partition, lag in lags if lag is not None}

    def since_poll_ms(self) -> int | None:
        """None while it is not running."""
        return None if self._life is None else self._clock.monotonic_ms() - self._life.engine.last_poll_ms

    def group_phase(self) -> GroupPhase | None:
        """None while it is not running."""
        return None if self._group_state is None else self._group_state.phase(self._clock.monotonic_ms())

    def group_text(self) -> str:
        """State in the group as text for people."""
        return "starting" if self._group_state is None else self._group_state.text(self._clock.monotonic_ms())

    @property
    def assigned_partitions(self) -> int:
        return 0 if self._group_state is None else self._group_state.partitions

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    # Parts

    def _handling(self, figures: Figures) -> Handling:
        return Handling(
            self.group_id,
            self.names,
            figures,
            clock=self._clock,
            randomness=Random(),
            done=self._done,
            done_key=self._done_key,
        )

    def _engine(
        self, consumer: Consumer, producer: Producer, intake: Intake, handling: Handling
    ) -> Engine | TransactionalEngine:
        if not self.exactly_once:
            return self._at_least_once(consumer, producer, intake, handling, self.figures)
        return TransactionalEngine(
            consumer,
            producer,
            intake,
            handling,
            self.figures,
            self._clock,
            batch_records=self._batch_records,
            drain_limit_s=self._drain_limit_s,
        )

    def _at_least_once(
        self, source: Source, producer: Producer, intake: Intake, handling: Handling, figures: Figures
    ) -> Engine:
        return Engine(
            source,
            producer,
            intake,
            handling,
            figures,
            self._clock,
            commit_interval_ms=self._commit_interval_ms,
            drain_limit_s=self._drain_limit_s,
        )

    def _new_group_state(self, consumer: Consumer) -> GroupState:
        settings = consumer.settings
        return GroupState(
            self.group_id, settings.group_protocol, settings.session_timeout_ms, self._clock.monotonic_ms()
        )

    async def _prepare_topics(self) -> None:
        addresses = parse_bootstrap(self.bootstrap_servers or DEFAULT_BOOTSTRAP, "bootstrap_servers")
        async with ClusterRouter(addresses, ClientConfig()) as cluster:
            await prepare_topics(cluster, self.handlers, self.names)

    @asynccontextmanager
    async def _clients(self, for_batch: Mapping[str, object] | None = None) -> AsyncIterator[tuple[Consumer, Producer]]:
        """The producer is closed last: what the consumer's end still writes goes through it. `for_batch` are defaults
        of the consumer in `run_batch`."""
        is_batch = for_batch is not None
        common = {"bootstrap.servers": self.bootstrap_servers or DEFAULT_BOOTSTRAP, "client.id": self.name}
        consuming = common | {"auto.offset.reset": "earliest"} | dict(for_batch or {}) | self._consumer_settings
        consuming |= {"group.id": self.group_id, "enable.auto.commit": False}
        if is_batch:  # runs come and go, and two of them must not pass for one member
            consuming.pop("group.instance.id", None)
        # A handler waits for its outputs: nothing is won by waiting for more of them.
        producing = common | {"linger.ms": 0} | self._producer_settings
        if self.exactly_once:
            consuming["isolation.level"] = "read_committed"
            producing = {
                "transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS,
                "max.block.ms": _TRANSACTION_TIMEOUT_MS // 2,  # so that a topic which is not there is told in time
            } | producing
            producing["transactional.id"] = self._transactional_id or f"{self.group_id}-{uuid.uuid4()}"
        producer, consumer = Producer(producing), Consumer(consuming)
        try:
            await producer.start()
            await consumer.start()
            if self.exactly_once:
                await producer.init_transactions()
            yield consumer, producer
        finally:
            # Everything was drained and committed before; what is left is read again, and worth no wait for brokers.
            try:
                await consumer.close(_CLOSE_TIMEOUT_MS)
            finally:
                await producer.close(_CLOSE_TIMEOUT_MS)


class _Life:
    """Parts of a running service."""

    def __init__(
        self, consumer: Consumer, intake: Intake, engine: Engine | TransactionalEngine, handling: Handling
    ) -> None:
        self.consumer = consumer
        self.intake = intake
        self.engine = engine
        self.handling = handling
