"""The producer that applications use.

    async with Producer(bootstrap_servers="localhost:9092") as producer:
        delivery = await producer.send("orders", b"value", key=b"k")
        metadata = await delivery

`send` waits only for room (`buffer.memory`) and for the topic's metadata, together no longer than `max.block.ms`;
what it gives is waited for when the application wants to know. With `transactional.id`, records are sent within
transactions: `async with producer.transaction(): ...`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from odradek.client.admin import TopicPartition
from odradek.client.producer.delivery import Delivery, RecordMetadata

Headers = Sequence[tuple[str, bytes | None]]


class OutgoingRecord(NamedTuple):
    """One of many for `send_batch`."""

    value: Any = None
    key: Any = None
    headers: Headers = ()
    timestamp_ms: int | None = None


class GroupIdentity(Protocol):
    """What a transaction needs to know of the consumer whose offsets it commits: `consumer.group_metadata()`."""

    @property
    def group_id(self) -> str: ...
    @property
    def generation_id(self) -> int: ...
    @property
    def member_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...


class CommittedOffset(Protocol):
    """`OffsetAndMetadata`."""

    @property
    def offset(self) -> int: ...
    @property
    def leader_epoch(self) -> int | None: ...
    @property
    def metadata(self) -> str: ...


class Producer:
    """Use it as a context, or with `start` and `close`. For one event loop; not for several threads."""

    def __init__(self, config: Mapping[str, object] | None = None, **keywords: object) -> None:
        """Settings by Kafka's names: as a dict, or as keywords with underscores. Raises InputError."""
        raise NotImplementedError

    async def start(self) -> None:
        """Raises Unreachable when no bootstrap server answers."""
        raise NotImplementedError

    async def close(self, timeout_ms: float | None = None) -> None:
        """Send what was taken, wait for it as long as is said, then fail the rest and disconnect.

        A transaction that is open is aborted."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: Callable[[RecordMetadata | None, BaseException | None], object] | None = None,
    ) -> Delivery:
        """Take a record. `await` what is given to know where it was written.

        Raises RecordTooLarge, BufferExhausted, UnknownTopic and others of `odradek.client.errors` at once if the record
        cannot be taken; what happens later is raised by the delivery."""
        raise NotImplementedError

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        return await (await self.send(topic, value, key, headers, partition, timestamp_ms))

    async def send_batch(
        self,
        topic: str,
        records: Iterable[Any],
        partition: int | None = None,
    ) -> "BatchDelivery":
        """Take many records at once: values, or `OutgoingRecord`s. The fastest way in.

        Waits for room as `send` does. What is given can be awaited for where they were written."""
        raise NotImplementedError

    async def flush(self, timeout_ms: float | None = None) -> None:
        """Send at once what was taken, and return when each record has succeeded or failed."""
        raise NotImplementedError

    async def partitions_for(self, topic: str) -> tuple[int, ...]:
        raise NotImplementedError

    # Transactions

    async def init_transactions(self) -> None:
        """Once, before the first: ends what a producer with the same transactional id left, and fences it.

        `transaction()` calls it if it was not called."""
        raise NotImplementedError

    async def begin_transaction(self) -> None:
        raise NotImplementedError

    async def commit_transaction(self) -> None:
        """Flushes, and ends. Raises the error of a record that failed: then only an abort is possible."""
        raise NotImplementedError

    async def abort_transaction(self) -> None:
        raise NotImplementedError

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, CommittedOffset], group: GroupIdentity | str
    ) -> None:
        """Commit offsets of a consumer group with the transaction: the next to read of each partition."""
        raise NotImplementedError

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Begins, commits at the end, aborts when an exception leaves it."""
        raise NotImplementedError


class BatchDelivery:
    """The outcome of `send_batch`: one future for all of them."""
