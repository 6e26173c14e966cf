"""The producer that applications use.

    async with Producer(bootstrap_servers="localhost:9092") as producer:
        delivery = await producer.send("orders", b"value", key=b"k")
        metadata = await delivery

`send` waits only for room (`buffer.memory`) and for the topic's metadata, together no longer than `max.block.ms`;
what it gives is waited for when the application wants to know. With `transactional.id`, records are sent within
transactions: `async with producer.transaction(): ...`.

A record that fits into the open batch of its partition is packed there at once, by one compiled function, and `send`
returns without giving up its turn. Whenever a batch is full it does give up its turn, so that the sender and others
can work.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from time import time as _time
from typing import Any, Generic, NamedTuple, Unpack

from odradek.client.async_context import AsyncContext
from odradek.client.net.network_client import NetworkClient
from odradek.client.producer.buffer_memory import BufferMemory
from odradek.client.producer.compressing import codec_and_level
from odradek.client.producer.delivery import BatchDelivery, Delivery, RecordMetadata, RecordRange
from odradek.client.producer.murmur2 import partition_for_key
from odradek.client.producer.partitioners import RoundRobinPartitioner
from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.record_accumulator import (
    AccumulatorSettings,
    PartitionQueue,
    RecordAccumulator,
    TopicQueues,
    record_size,
)
from odradek.client.producer.sender import Sender
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.producer.transaction_offsets import CommittedOffset, GroupIdentity
from odradek.client.producer.transactions import Transactions
from odradek.client.serializers import as_bytes, check_record
from odradek.client.settings.settings import ProducerConfig, producer_settings
from odradek.client.settings.typed_dicts import ProducerSettings
from odradek.client.types import Key, TopicPartition, Value
from odradek.common.failures import ApiError, InputError
from odradek.errors import ProducerClosed, RecordTooLarge, UnknownTopic
from odradek.records.batch import HEADER_BYTES
from odradek.records.record_packer import Headers

__all__ = ["BatchDelivery", "Delivery", "OutgoingRecord", "Producer", "RecordMetadata", "RecordRange"]

#: While a fast application sends, others wait for no more than it takes to fill so many batches: about a millisecond.
_FULL_BATCHES_A_TURN = 4

OnDelivery = Callable[[RecordMetadata | None, BaseException | None], object]


class OutgoingRecord(NamedTuple):
    """One of many for `send_batch`."""

    value: Any = None
    key: Any = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_ms: int | None = None


class Producer(AsyncContext, Generic[Key, Value]):
    """Sends records, for asyncio.

        async with Producer(bootstrap_servers="localhost:9092", linger_ms=5) as producer:
            delivery = await producer.send("orders", b"tea", key=b"anna")  # taken
            print(await delivery)  # written

    Instead of `async with` there are `start` and `close`. For one event loop; not for several threads.
    """

    def __init__(
        self, config: Mapping[str, object] | None = None, **keywords: Unpack[ProducerSettings[Key, Value]]
    ) -> None:
        """Settings by Kafka's names: as a dict, or as keywords with underscores. Raises InputError."""
        settings = self.settings = producer_settings(config, **keywords)
        self._network = NetworkClient(settings)
        self._metadata = self._network.metadata
        self._manager = _transaction_manager(settings, self._network)
        self._accumulator = RecordAccumulator(
            _accumulator_settings(settings),
            self._metadata.leader,
            self._network.backoff,
            self._network.random,
            self._manager,
        )
        self._topics = self._accumulator.topics
        self._memory = BufferMemory(self._accumulator, settings.max_block_ms)
        self._sender: Sender
        self._transactions: Transactions | None = None
        #: To its transaction, if the producer has any.
        self._add_partition: Callable[[TopicPartition], None] | None = None
        #: Why nothing is taken.
        self._refusal: ApiError | None = ProducerClosed(
            'the producer was not started: use it in a "with" statement, or call start() first'
        )
        self._seen_version = -1
        #: Since others last had their turn.
        self._full_batches = 0
        #: Whether values of bytes go to the batch that is filled just now, as they are.
        self._is_plain = False
        #: By topic: that batch.
        self._sticky_batches: dict[str, ProducerBatch] = {}
        self._key_serializer = None if settings.key_serializer is as_bytes else settings.key_serializer
        self._value_serializer = None if settings.value_serializer is as_bytes else settings.value_serializer
        self._round_robin = RoundRobinPartitioner() if settings.partitioner == "roundrobin" else None
        self._partitioner = settings.partitioner if callable(settings.partitioner) else None
        self._is_hashing = not settings.partitioner_ignore_keys

    async def start(self) -> None:
        """Raises Unreachable when no bootstrap server answers."""
        await self._network.start()
        self._sender = Sender(self.settings, self._network, self._accumulator, self._manager, self._memory.freed)
        self._memory.on_exhausted = self._sender.wake
        if self._manager is not None and self._manager.states.is_transactional:
            self._transactions = Transactions(self._manager, self._sender, self.settings.max_block_ms)
            self._add_partition = self._manager.add_partition
        self._refusal = None
        chooses = self._partitioner is not None or self._round_robin is not None
        self._is_plain = self._transactions is None and self._value_serializer is None and not chooses
        self._sender.wake()

    async def close(self, timeout_ms: float | None = None) -> None:
        """Send what was taken, wait for it for `timeout_ms`, then fail the rest and disconnect.

        Without `timeout_ms` it waits until each record was delivered or has failed, which takes up to
        delivery.timeout.ms while no broker can be reached. A transaction that is open is aborted. May be called
        twice."""
        if self._refusal is not None:
            return
        self._refusal, self._is_plain = ProducerClosed("the producer is closed"), False
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                await self._finish()
        except (TimeoutError, ApiError):
            pass  # what is left is failed now
        finally:
            self._memory.close(self._refusal)
            try:
                await self._sender.close()
            finally:  # even if whoever waits for it is cancelled
                await self._network.close()

    async def _finish(self) -> None:
        if self._transactions is not None:
            await self._transactions.abort_if_open()
        await self._flush()

    # Records

    async def send(
        self,
        topic: str,
        value: Value | None = None,
        key: Key | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """Take a record. `await` what is given to know where it was written.

        Raises RecordTooLarge, BufferExhausted, UnknownTopic and others of `odradek.errors` at once if the record
        cannot be taken; what happens later is raised by the delivery."""
        data: Any = value  # the type of values is not that of bytes to a type checker
        if self._is_plain and key is None and partition is None and data.__class__ is bytes:
            batch = self._sticky_batches.get(topic)
            if batch is not None:
                if timestamp_ms is None:
                    timestamp_ms = int(_time() * 1000)
                index = batch.packer.append(timestamp_ms, None, data, headers)
                if index >= 0:
                    delivery = Delivery(batch, index, timestamp_ms)
                    if on_delivery is not None:
                        _call_back(delivery, on_delivery)
                    return delivery
        return await self._send(topic, value, key, headers, partition, timestamp_ms, on_delivery)

    async def _send(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Headers,
        partition: int | None,
        timestamp_ms: int | None,
        on_delivery: OnDelivery | None,
    ) -> Delivery:
        """What is not as usual: a key, a partition, a transaction, no open batch that has room."""
        if self._refusal is not None:
            raise self._refusal
        queues = self._topics.get(topic)
        if queues is None or self._seen_version != self._metadata.version:
            queues = await self._topic(topic)
        if self._value_serializer is not None and value is not None:
            value = self._value_serializer(value)
        if value.__class__ is not bytes and value is not None:
            value = as_bytes(value)
        if key is not None:
            key = self._serialized_key(key)
        if timestamp_ms is None:
            timestamp_ms = int(_time() * 1000)
        if partition is None:
            partition = self._partition(queues, key, value)
            queue = queues.queues[queues.sticky.partition if partition is None else partition]
        else:
            queue = await self._named_queue(queues, partition)
        if self._add_partition is not None:
            self._add_partition(queue.topic_partition)
        batches = queue.batches
        index = batches[-1].packer.append(timestamp_ms, key, value, headers) if batches else -1
        if index >= 0:
            delivery = Delivery(batches[-1], index, timestamp_ms)
        else:
            delivery = await self._send_in_new_batch(
                queues, queue, partition is None, timestamp_ms, key, value, headers
            )
        if on_delivery is not None:
            _call_back(delivery, on_delivery)
        return delivery

    async def send_and_wait(
        self,
        topic: str,
        value: Value | None = None,
        key: Key | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        return await (await self.send(topic, value, key, headers, partition, timestamp_ms))

    async def send_batch(
        self, topic: str, records: Iterable[Value | OutgoingRecord | None], partition: int | None = None
    ) -> BatchDelivery:
        """Take many records at once: values, or `OutgoingRecord`s. The fastest way in.

        Waits for room as `send` does. What is given can be awaited for where they were written."""
        delivery = BatchDelivery()
        chooses = partition is None and (self._partitioner is not None or self._round_robin is not None)
        is_plain = self._value_serializer is None and not chooses
        untyped: Any = records  # the type of values is not that of bytes to a type checker
        if is_plain and untyped.__class__ is list and set(map(type, untyped)) == {bytes}:
            await self._send_values(topic, untyped, partition, delivery)
            return delivery
        values: list[bytes] = []
        for record in untyped:
            if is_plain and record.__class__ is bytes:
                values.append(record)
            else:
                await self._send_values(topic, values, partition, delivery)
                values = []
                await self._send_one_of_many(topic, record, partition, delivery)
        await self._send_values(topic, values, partition, delivery)
        return delivery

    async def flush(self, timeout_ms: float | None = None) -> None:
        """Send at once what was taken, and return when each record has succeeded or failed.

        Raises TimeoutError if it takes longer than is said."""
        if self._refusal is not None:
            raise self._refusal
        async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
            await self._flush()

    async def partitions_for(self, topic: str) -> tuple[int, ...]:
        found = await self._network.topic(topic, self.settings.max_block_ms)
        return tuple(range(len(found.partitions)))

    # Transactions

    async def init_transactions(self) -> None:
        """Once, before the first: ends what a producer with the same transactional id left, and fences it.

        `transaction()` calls it if it was not called."""
        await self._transactional().initialize()

    async def begin_transaction(self) -> None:
        self._transactional().begin()

    async def commit_transaction(self) -> None:
        """Flushes, and ends. Raises TransactionMustAbort if a record failed: then only an abort is possible."""
        await self._transactional().commit()

    async def abort_transaction(self) -> None:
        await self._transactional().abort()

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, CommittedOffset | int], group: GroupIdentity | str
    ) -> None:
        """Commit offsets of a consumer group with the transaction: the next to read of each partition."""
        await self._transactional().send_offsets(offsets, group)

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Begins, commits at the end, aborts when an exception leaves it."""
        return self._transactional().transaction()

    def _transactional(self) -> Transactions:
        if self._refusal is not None:
            raise self._refusal
        if self._transactions is None:
            raise InputError("the producer has no transactional_id, so that it has no transactions")
        return self._transactions

    # Inside

    async def _topic(self, name: str) -> TopicQueues:
        """Waits until it is known. Partitions may have been added since it was looked at."""
        if name not in self._topics:
            found = await self._network.topic(name, self.settings.max_block_ms)
            self._accumulator.topic(name, len(found.partitions))
        self._seen_version = self._metadata.version
        for queues in self._topics.values():
            queues.resize(len(self._metadata.partitions(queues.name)))
        return self._topics[name]

    def _serialized_key(self, key: Any) -> bytes | None:
        if self._key_serializer is not None:
            key = self._key_serializer(key)
        return key if key.__class__ is bytes or key is None else as_bytes(key)

    def _partition(self, queues: TopicQueues, key: bytes | None, value: bytes | None) -> int | None:
        """None is wherever the sticky partitioner is."""
        if self._partitioner is not None:
            count = queues.partition_count
            chosen = self._partitioner(queues.name, key, value, count)
            if not 0 <= chosen < count:
                raise InputError(f"the partitioner chose partition {chosen} of {queues.name}, which has {count}")
            return chosen
        if self._round_robin is not None:
            led = [each.partition for each in self._metadata.partitions(queues.name) if each.leader_id is not None]
            return self._round_robin.partition(queues.name, queues.partition_count, led)
        if key is not None and self._is_hashing:
            return partition_for_key(key, len(queues.queues))
        return None

    async def _named_queue(self, queues: TopicQueues, partition: int) -> PartitionQueue:
        """Of a partition that may be new; as in Kafka it is waited for."""
        if partition < 0:
            raise InputError(f"there is no partition {partition}: partitions are counted from 0")
        if partition >= len(queues.queues):
            deadline_s = asyncio.get_running_loop().time() + self.settings.max_block_ms / 1000
            while partition >= queues.partition_count:
                await self._await_partition(queues, partition, deadline_s)
        return queues.queues[partition]

    async def _await_partition(self, queues: TopicQueues, partition: int, deadline_s: float) -> None:
        """Until it is there, or until it is time to ask again."""
        now_s, version = asyncio.get_running_loop().time(), self._metadata.version
        if now_s >= deadline_s:
            count, waited_ms = queues.partition_count, self.settings.max_block_ms
            said = f"{queues.name} has no partition {partition}; there are 0 to {count - 1}"
            raise UnknownTopic(f"{said}, and after {waited_ms} ms no more")
        self._network.request_update()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(min(deadline_s, now_s + self.settings.retry_backoff_ms / 1000)):
                await self._network.updated(version)
        await self._topic(queues.name)

    async def _send_in_new_batch(
        self,
        queues: TopicQueues,
        queue: PartitionQueue,
        is_sticky: bool,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> Delivery:
        check_record(timestamp_ms, headers)  # now: a batch that nothing can be put into would stay behind
        size_bytes = record_size(key, value, headers)
        batch = await self._new_batch(queues, queue, is_sticky, size_bytes)
        index = batch.packer.append(timestamp_ms, key, value, headers)
        while index < 0:  # while room was waited for, others have filled it
            batch = await self._new_batch(queues, queue, is_sticky, size_bytes)
            index = batch.packer.append(timestamp_ms, key, value, headers)
        return Delivery(batch, index, timestamp_ms)

    async def _new_batch(
        self, queues: TopicQueues, queue: PartitionQueue, is_sticky: bool, size_bytes: int
    ) -> ProducerBatch:
        """One that has room, in this partition, or in the next if records are to stick to it no longer."""
        too_large = self._accumulator.too_large(size_bytes)
        if too_large is not None:
            raise RecordTooLarge(too_large)
        sender = self._sender
        if queue.batches:
            await self._give_turn()
        before = self._sticky_batches.get(queues.name) if is_sticky else None
        if before is not None:
            queues.sticky.batch_ended(before.packer.size_bytes + HEADER_BYTES, size_bytes)
            queue = queues.queues[queues.sticky.partition]
            if self._add_partition is not None:
                self._add_partition(queue.topic_partition)
        batch = await self._memory.new_batch(queue, queues, size_bytes, sender.now_ms)
        self._metadata.use_topic(queues.name, sender.now_ms())
        if is_sticky:
            self._sticky_batches[queues.name] = batch
        sender.wake()
        return batch

    async def _give_turn(self) -> None:
        """To the sender and to others, when a batch is full. Before the next one is there: it would be sent empty.

        While requests are on their way, only once in a while: what waits together goes out in one request."""
        self._full_batches += 1
        if self._sender.in_flight == 0 or self._full_batches >= _FULL_BATCHES_A_TURN:
            self._full_batches = 0
            self._sender.wake()
            await asyncio.sleep(0)

    async def _send_one_of_many(self, topic: str, record: Any, partition: int | None, delivery: BatchDelivery) -> None:
        value, key, headers, timestamp_ms = record if isinstance(record, OutgoingRecord) else (record, None, (), None)
        one = await self.send(topic, value, key, headers, partition, timestamp_ms)
        delivery.add(one._batch, one._index, 1)

    async def _send_values(self, topic: str, values: list[Any], partition: int | None, delivery: BatchDelivery) -> None:
        """Values without keys, into the open batch and as many new ones as they need."""
        at, timestamp_ms = 0, int(_time() * 1000)
        while at < len(values):
            first = await self.send(topic, values[at], None, (), partition, timestamp_ms)
            batch, start = first._batch, at
            at = batch.packer.append_values(values, at + 1, timestamp_ms)
            delivery.add(batch, first._index, at - start)

    async def _flush(self) -> None:
        accumulator = self._accumulator
        everything = BatchDelivery()
        for batch in accumulator.incomplete:
            everything.add(batch, 0, batch.count)
        accumulator.flushes += 1
        self._sender.wake()
        try:
            await everything.wait()
        finally:
            accumulator.flushes -= 1


def _call_back(delivery: Delivery, on_delivery: OnDelivery) -> None:
    def told(done: Delivery) -> None:
        error = done.exception()
        on_delivery(None if error is not None else done.result(), error)

    # One that nobody else can cancel: who waits no longer is told here all the same.
    Delivery(delivery._batch, delivery._index, delivery._timestamp_ms).add_done_callback(told)


def _transaction_manager(settings: ProducerConfig, network: NetworkClient) -> TransactionManager | None:
    if not settings.enable_idempotence:
        return None
    return TransactionManager(
        settings.transactional_id,
        settings.transaction_timeout_ms,
        settings.retry_backoff_ms,
        network.forget_coordinator,
    )


def _accumulator_settings(settings: ProducerConfig) -> AccumulatorSettings:
    codec, level = codec_and_level(settings)
    return AccumulatorSettings(
        batch_size=settings.batch_size,
        linger_ms=settings.linger_ms,
        buffer_memory=settings.buffer_memory,
        max_request_size=settings.max_request_size,
        delivery_timeout_ms=settings.delivery_timeout_ms,
        codec=codec,
        level=level,
        is_muting=settings.max_in_flight_requests_per_connection == 1,
        is_adaptive=settings.partitioner_adaptive_partitioning_enable,
        availability_timeout_ms=settings.partitioner_availability_timeout_ms,
    )
