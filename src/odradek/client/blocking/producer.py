"""The producer for threads.

`send` hands a record over and returns; what became of it is in the `Delivery`. The first record of a topic is waited
for until the topic is known, and whatever is wrong with it is raised at once; later, what keeps a record from being
taken is in its delivery. Keys and values are serialized in the caller's thread.

Everything else happens after the records that were handed over before it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar, Unpack, cast

from odradek.client.blocking.blocking_client import Face, waiting
from odradek.client.blocking.delivery import BatchDelivery, Delivery
from odradek.client.blocking.record_queue import HandOver, Record
from odradek.client.producer import delivery as inner_delivery
from odradek.client.producer.delivery import RecordMetadata
from odradek.client.producer.producer import OnDelivery, OutgoingRecord
from odradek.client.producer.producer import Producer as AsyncProducer
from odradek.client.producer.transaction_offsets import CommittedOffset, GroupIdentity
from odradek.client.serializers import as_bytes
from odradek.client.settings.settings import ProducerConfig, producer_settings
from odradek.client.settings.typed_dicts import ProducerSettings
from odradek.client.types import Key, TopicPartition, Value
from odradek.records.record_packer import Headers

_Result = TypeVar("_Result")

#: Quicker than the class itself, whose `__new__` is a function of Python's.
_new = tuple.__new__

#: Done in the caller's thread, and so no business of the producer inside.
_SERIALIZERS = ("key.serializer", "value.serializer", "key_serializer", "value_serializer")


class Producer(Face[AsyncProducer[Any, Any]], Generic[Key, Value]):
    """Sends records; for scripts and threads.

        with Producer(bootstrap_servers="localhost:9092") as producer:
            delivery = producer.send("orders", b"tea", key=b"anna")  # handed over
            print(delivery.result())  # written

    Instead of `with` there are `start` and `close`.
    """

    def __init__(
        self, config: Mapping[str, object] | None = None, **keywords: Unpack[ProducerSettings[Key, Value]]
    ) -> None:
        """Settings by Kafka's names: as a dict, or as keywords with underscores. Raises InputError."""
        self.settings: ProducerConfig = producer_settings(config, **keywords)
        bare = {name: value for name, value in (config or {}).items() if name not in _SERIALIZERS}
        rest = {name: value for name, value in keywords.items() if name not in _SERIALIZERS}
        super().__init__(AsyncProducer(bare, **cast(ProducerSettings[Any, Any], rest)))
        self._hand_over = HandOver(self._take, self.settings.max_block_ms)
        self._is_plain = self.settings.key_serializer is as_bytes and self.settings.value_serializer is as_bytes
        #: Topics that the producer inside has known.
        self._known: set[str] = set()

    def start(self) -> None:
        """Raises Unreachable when no bootstrap server answers."""
        self._loop.call(self._start())
        self._loop.open.add(self)

    def close(self, timeout_ms: float | None = None) -> None:
        """Sends what was handed over, waits for it as long as is said, then fails the rest and disconnects."""
        self._loop.open.discard(self)
        self._loop.call(self._close_inner(timeout_ms))

    # Records

    def send(
        self,
        topic: str,
        value: Value | None = None,
        key: Key | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """Hands a record over. `on_delivery` is called in the thread of the clients, which it must not hold up."""
        value_data: Any = value
        key_data: bytes | None = None
        if value is not None and (value_data.__class__ is not bytes or not self._is_plain):
            value_data = self.settings.value_serializer(value)
        if key is not None:
            key_data = self.settings.key_serializer(key)
        if timestamp_ms is None:
            timestamp_ms = int(time.time() * 1000)
        delivery = Delivery(self._loop)
        record = _new(Record, (delivery, topic, value_data, key_data, headers, partition, timestamp_ms, on_delivery))
        if topic in self._known and not self._loop.is_orphaned:
            self._hand_over.hand(record, len(value_data or b"") + len(key_data or b""))
        else:
            self._loop.call(self._send_first(record))
            self._known.add(topic)
        return delivery

    def send_and_wait(
        self,
        topic: str,
        value: Value | None = None,
        key: Key | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        return self.send(topic, value, key, headers, partition, timestamp_ms).result()

    def send_batch(
        self, topic: str, records: Iterable[Value | OutgoingRecord | None], partition: int | None = None
    ) -> BatchDelivery:
        """Takes many records at once: values, or `OutgoingRecord`s. The fastest way in."""
        given = list(records) if self._is_plain else [self._serialized(each) for each in records]
        return BatchDelivery(self._loop, self._in_order(lambda inner: inner.send_batch(topic, given, partition)))

    def flush(self, timeout_ms: float | None = None) -> None:
        """Returns when each record has succeeded or failed. Raises TimeoutError if it takes longer than is said."""
        self._in_order(lambda inner: inner.flush(timeout_ms))

    partitions_for = waiting(AsyncProducer.partitions_for)

    # Transactions

    def init_transactions(self) -> None:
        self._in_order(AsyncProducer.init_transactions)

    def begin_transaction(self) -> None:
        self._in_order(AsyncProducer.begin_transaction)

    def commit_transaction(self) -> None:
        self._in_order(AsyncProducer.commit_transaction)

    def abort_transaction(self) -> None:
        self._in_order(AsyncProducer.abort_transaction)

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, CommittedOffset | int], group: GroupIdentity | str
    ) -> None:
        self._in_order(lambda inner: inner.send_offsets_to_transaction(offsets, group))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begins, commits at the end, aborts when an exception leaves it."""
        context = self._loop.do(self._inner.transaction)
        self._in_order(lambda inner: _awaited(context.__aenter__()))
        try:
            yield
        except BaseException as error:
            said = (type(error), error, error.__traceback__)
            if not self._in_order(lambda inner: _awaited(context.__aexit__(*said))):
                raise
        else:
            self._in_order(lambda inner: _awaited(context.__aexit__(None, None, None)))

    # Inside

    def _serialized(self, record: Any) -> OutgoingRecord:
        made = record if isinstance(record, OutgoingRecord) else OutgoingRecord(record)
        settings = self.settings
        return made._replace(
            value=None if made.value is None else settings.value_serializer(made.value),
            key=None if made.key is None else settings.key_serializer(made.key),
        )

    def _in_order(self, do: Callable[[AsyncProducer], Coroutine[Any, Any, _Result]]) -> _Result:
        """After the records that were handed over before."""

        async def done() -> _Result:
            await self._hand_over.passed()
            return await do(self._inner)

        return self._loop.call(done())

    async def _start(self) -> None:
        await self._inner.start()
        self._hand_over.start()

    async def _close_inner(self, timeout_ms: float | None) -> None:
        loop = asyncio.get_running_loop()
        deadline_s = None if timeout_ms is None else loop.time() + timeout_ms / 1000
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline_s):
                await self._hand_over.passed()
        await self._hand_over.close()
        await self._inner.close(None if deadline_s is None else max(0.0, deadline_s - loop.time()) * 1000)

    async def _take(self, record: Record) -> inner_delivery.Delivery:
        _, *arguments = record
        return await self._inner.send(*arguments)

    async def _send_first(self, record: Record) -> None:
        await self._hand_over.passed()
        record.delivery.taken(await self._take(record))


async def _awaited(made: Awaitable[_Result]) -> _Result:
    return await made
