"""Ports to a consumer and a producer. `odradek.client` implements them; unit tests bring their own."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.client.types import OffsetAndMetadata, TopicPartition


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record as it is to be written, in bytes."""

    topic: str
    value: bytes | None
    key: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class Source(Protocol):
    """Callbacks of rebalances run inside `poll`."""

    async def poll(self, timeout_ms: float, max_records: int | None = None) -> list[ConsumerRecord]: ...

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float | None = None
    ) -> None: ...

    def seek(self, partition: TopicPartition, offset: int) -> None: ...

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def current_lag(self, partition: TopicPartition) -> int | None: ...

    def group_metadata(self) -> Any: ...


class Sink(Protocol):
    async def send(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Sequence[tuple[str, bytes | None]],
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Awaitable[object]:
        """Takes the record; what is given is awaited until it is written."""


class TransactionalSink(Sink, Protocol):
    async def begin_transaction(self) -> None: ...

    async def commit_transaction(self) -> None: ...

    async def abort_transaction(self) -> None: ...

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: Any
    ) -> None: ...


async def post(sink: Sink, message: Outgoing) -> Awaitable[object]:
    return await sink.send(
        message.topic, message.value, message.key, message.headers, message.partition, message.timestamp_ms
    )
