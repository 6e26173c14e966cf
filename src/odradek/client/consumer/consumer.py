"""The consumer: reads records of topics, alone or as a member of a group.

    async with Consumer("orders", bootstrap_servers="localhost:9092", group_id="billing") as consumer:
        async for record in consumer:
            ...

Three ways to read, of the same positions: record by record (`async for`), lists (`poll`), and whole fetched chunks as
columns (`batches`). What was handed out counts as consumed: `commit()` commits it, and the next poll does so by itself
where enable.auto.commit says so.
"""

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import NamedTuple, Self

from odradek.client.consumer.batches import RecordColumns
from odradek.client.consumer.record import ConsumerRecord
from odradek.client.group.listener import RebalanceListener
from odradek.client.group.membership import GroupMetadata
from odradek.client.topic_partition import OffsetAndMetadata, TopicPartition


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a time."""

    offset: int
    timestamp_ms: int
    leader_epoch: int | None


class Consumer:
    def __init__(self, *topics: str, config: Mapping[str, object] | None = None, **keywords: object) -> None:
        """Settings by Kafka's names: a dict with dots, or keywords with underscores. Raises InputError."""

    async def start(self) -> None:
        """Raises Unreachable, with each address and what became of it."""

    async def close(self, timeout_ms: float | None = None) -> None:
        """Commits for the last time where that is automatic, leaves the group."""

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise NotImplementedError

    # What to read

    def subscribe(
        self,
        topics: Iterable[str] | str = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """As a member of the group. `pattern` matches whole names; a str goes to the broker under the consumer
        protocol (RE2), a compiled pattern is always matched here."""

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Partitions chosen by the application; no group decides."""

    async def unsubscribe(self) -> None: ...
    def subscription(self) -> frozenset[str]:
        raise NotImplementedError

    def assignment(self) -> frozenset[TopicPartition]:
        raise NotImplementedError

    # Reading

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        raise NotImplementedError

    async def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> list[ConsumerRecord]:
        """What is there, at most max.poll.records; empty when the time is up."""
        raise NotImplementedError

    def batches(self) -> AsyncIterator[RecordColumns]:
        """Whole fetched chunks of one partition each, as columns."""
        raise NotImplementedError

    # Where it stands

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None: ...
    def seek_to_beginning(self, *partitions: TopicPartition) -> None: ...
    def seek_to_end(self, *partitions: TopicPartition) -> None: ...
    async def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int:
        raise NotImplementedError

    def pause(self, *partitions: TopicPartition) -> None: ...
    def resume(self, *partitions: TopicPartition) -> None: ...
    def paused(self) -> frozenset[TopicPartition]:
        raise NotImplementedError

    def current_lag(self, partition: TopicPartition) -> int | None:
        raise NotImplementedError

    # The group

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, timeout_ms: float | None = None
    ) -> None:
        """`offsets`, or everything that was handed out."""

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        raise NotImplementedError

    def group_metadata(self) -> GroupMetadata:
        raise NotImplementedError

    def enforce_rebalance(self, reason: str | None = None) -> None: ...

    # The cluster

    async def partitions_for(self, topic: str, timeout_ms: float | None = None) -> tuple[int, ...]:
        raise NotImplementedError

    async def topics(self, timeout_ms: float | None = None) -> tuple[str, ...]:
        raise NotImplementedError

    async def offsets_for_times(
        self, timestamps_ms: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        raise NotImplementedError

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        raise NotImplementedError

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        raise NotImplementedError
