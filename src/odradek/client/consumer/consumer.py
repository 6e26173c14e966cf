"""The consumer: reads records of topics, alone or as a member of a group.

    async with Consumer("orders", bootstrap_servers="localhost:9092", group_id="billing") as consumer:
        async for record in consumer:
            ...

Three ways to read, of the same positions: record by record (`async for`), lists (`poll`), and whole fetched chunks as
columns (`batches`). What was handed out counts as consumed: `commit()` commits it, and a later poll does so by itself
where enable.auto.commit says so.

This is the face. Behind it: `Subscriptions` (what is read, and where it stands), `Offsets` (positions), `Fetcher`,
`FetchBuffer` and `FetchCollector` (records), the group's `Membership`, and the `Reader` that turns them all.

A consumer belongs to one event loop and to one task at a time.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Generic, NamedTuple, Unpack, cast

from odradek.client.async_context import AsyncContext
from odradek.client.consumer.completed_fetch import Reading
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_collector import FetchCollector
from odradek.client.consumer.fetcher import Fetcher
from odradek.client.consumer.offset_requests import ListedOffset
from odradek.client.consumer.partition_state import FetchPosition
from odradek.client.consumer.position_resolver import Offsets
from odradek.client.consumer.record_reader import Reader
from odradek.client.consumer.subscriptions import SubscriptionKind, Subscriptions
from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.client.errors import refusal
from odradek.client.group.listener import RebalanceListener
from odradek.client.group.membership import GroupMetadata, Membership, membership
from odradek.client.net.network_client import NetworkClient
from odradek.client.serializers import from_bytes
from odradek.client.settings.settings import (
    ConsumerConfig,
    IsolationLevel,
    OffsetReset,
    ResetStrategy,
    consumer_settings,
)
from odradek.client.settings.typed_dicts import ConsumerSettings
from odradek.client.types import Key, OffsetAndMetadata, TopicPartition, Value
from odradek.common import list_offsets_timestamps
from odradek.common.failures import InputError
from odradek.errors import Disconnected, RequestTimedOut
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.metadata_response import MetadataResponse

if TYPE_CHECKING:
    from odradek.client.consumer.record_columns import RecordColumns

#: What `close` takes at most unless told otherwise, as in Kafka's Java consumer.
CLOSE_TIMEOUT_MS = 30_000

#: Errors of a topic's metadata that no waiting helps against.
_HOPELESS = (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a time."""

    offset: int
    timestamp_ms: int
    leader_epoch: int | None


class _Parts(NamedTuple):
    """What there is while the consumer runs."""

    network: NetworkClient
    offsets: Offsets
    fetcher: Fetcher
    reader: Reader
    membership: Membership


class Consumer(AsyncContext, Generic[Key, Value]):
    """Reads records, for asyncio: alone (`assign`), or as a member of the group of `group_id`.

        async with Consumer("orders", bootstrap_servers="localhost:9092", group_id="billing") as consumer:
            async for record in consumer:
                print(record.key, record.value)

    `poll` gives lists of records, `batches` whole chunks as columns. Instead of `async with` there are `start` and
    `close`. For one event loop, and one task at a time.
    """

    def __init__(self, *topics: str | Mapping[str, object], **settings: Unpack[ConsumerSettings[Key, Value]]) -> None:
        """Topics to subscribe to, and settings by Kafka's names: a dict with dots among the arguments, or keywords with
        underscores. Raises InputError."""
        given = [each for each in topics if not isinstance(each, str)]
        if len(given) > 1:
            raise InputError("a consumer takes the names of topics and one dict with settings")
        self.settings: ConsumerConfig = consumer_settings(given[0] if given else None, **settings)
        self._subscriptions = Subscriptions(self.settings.auto_offset_reset)
        self._listener: RebalanceListener | None = None
        self._running: _Parts | None = None
        self._watch: asyncio.Task[None] | None = None
        names = [each for each in topics if isinstance(each, str)]
        if names:
            self.subscribe(names)

    async def start(self) -> None:
        """Raises Unreachable, with each address and what became of it."""
        network = NetworkClient(self.settings)
        await network.start()
        settings, subscriptions = self.settings, self._subscriptions
        group = membership(settings, network, subscriptions, lambda: self._listener)
        offsets = Offsets(settings, network, subscriptions, self._committed_or_nothing, lambda: time.time() * 1000)
        buffer = FetchBuffer()
        reading = _reading(settings)
        fetcher = Fetcher(settings, network, subscriptions, buffer, reading)
        collector = FetchCollector(subscriptions, buffer)
        reader = Reader(subscriptions, collector, fetcher, offsets, group)
        reader.on_topics = self._want_topics
        self._running = _Parts(network, offsets, fetcher, reader, group)
        self._watch = asyncio.ensure_future(self._watch_metadata(network, reader))
        reader.step_soon()

    async def close(self, timeout_ms: float | None = None) -> None:
        """Commits for the last time where that is automatic, and leaves the group. May be called twice.

        Takes at most `timeout_ms` (30 s unless given), beside callbacks of rebalances; less when every broker refuses
        connections. Offsets that could not be committed by then are logged, and read again by the group."""
        running, watch = self._running, self._watch
        if running is None or watch is None:
            return
        self._watch = None
        try:
            running.reader.withdraw()
            await running.membership.close(CLOSE_TIMEOUT_MS if timeout_ms is None else timeout_ms)
        finally:
            self._running = None
            running.reader.close()
            watch.cancel()
            async with AsyncExitStack() as ending:  # all of it, even if whoever waits for it is cancelled
                ending.push_async_callback(running.network.close)
                ending.push_async_callback(running.fetcher.close)
                ending.push_async_callback(running.offsets.close)
                await asyncio.wait([watch])

    # What to read

    def subscribe(
        self,
        topics: Iterable[str] | str = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """As a member of the group. A pattern matches whole names: a compiled one here, a str by the broker under the
        consumer protocol (RE2), here otherwise."""
        if self.settings.group_id is None:
            raise InputError("subscribe() needs a group.id; without a group assign() takes partitions")
        names = [topics] if isinstance(topics, str) else list(topics)
        if bool(names) == (pattern is not None):
            raise InputError("subscribe() takes topics or a pattern; unsubscribe() ends a subscription")
        if pattern is None:
            self._subscriptions.subscribe(names)
        elif isinstance(pattern, str) and self.settings.group_protocol == "consumer":
            self._subscriptions.subscribe_server_pattern(pattern)
        else:
            self._subscriptions.subscribe_pattern(_compiled(pattern))
        self._listener = listener
        self._look_again()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Partitions that the application chooses; no group decides."""
        chosen = [TopicPartition(*each) for each in partitions]
        self._subscriptions.assign(chosen)

    async def unsubscribe(self) -> None:
        """Leaves the group, and reads nothing."""
        if self._running is not None:
            await self._running.membership.leave(self.settings.default_api_timeout_ms)
        self._subscriptions.unsubscribe()

    def subscription(self) -> frozenset[str]:
        return frozenset(self._subscriptions.topics)

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self._subscriptions.partitions())

    # Reading

    def __aiter__(self) -> AsyncIterator[ConsumerRecord[Key, Value]]:
        records = self._parts().reader.records(self.settings.max_poll_records)
        return cast("AsyncIterator[ConsumerRecord[Key, Value]]", records)

    async def _run(self) -> Iterator[ConsumerRecord[Key, Value]] | None:
        """For the blocking face: what `async for` would give out next, without a turn of the loop for each. None when
        the consumer is closed."""
        running = self._running
        run = None if running is None else await running.reader.run(self.settings.max_poll_records)
        return cast("Iterator[ConsumerRecord[Key, Value]] | None", run)

    async def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> list[ConsumerRecord[Key, Value]]:
        """What is there, at most max.poll.records of it; empty when the time is up."""
        if self._subscriptions.kind is SubscriptionKind.NONE:
            raise InputError("nothing to poll: subscribe() or assign() first")
        limit = self.settings.max_poll_records if max_records is None else max_records
        if limit < 1:
            raise InputError(f"max_records={limit}: at least one record is to be polled for")
        return cast("list[ConsumerRecord[Key, Value]]", await self._parts().reader.poll(limit, timeout_ms))

    def batches(self) -> "AsyncIterator[RecordColumns]":
        """Whole fetched chunks of one partition each, as columns."""
        return self._parts().reader.columns()

    # Where it stands

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """The next record is the one at this offset, or the first after it."""
        target = OffsetAndMetadata(offset) if isinstance(offset, int) else offset
        if target.offset < 0:
            raise InputError(f"seek to {target.offset}: offsets begin with 0")
        partition = TopicPartition(*partition)
        leader = None if self._running is None else self._running.network.metadata.leader(partition)
        self._subscriptions.seek(partition, FetchPosition(target.offset, target.leader_epoch, leader))

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """These, or all; where that is, is found out when records are wanted."""
        for partition in partitions or self._subscriptions.partitions():
            self._subscriptions.request_reset(TopicPartition(*partition), OffsetReset(ResetStrategy.EARLIEST))

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        for partition in partitions or self._subscriptions.partitions():
            self._subscriptions.request_reset(TopicPartition(*partition), OffsetReset(ResetStrategy.LATEST))

    async def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int:
        """The offset of the next record. Waits until there is one; raises RequestTimedOut."""
        partition = TopicPartition(*partition)
        self._subscriptions.assigned_state(partition)
        running = self._parts()
        limit_ms = self._limit_ms(timeout_ms)
        await running.reader.wait_for(lambda: self._subscriptions.position(partition) is not None, limit_ms)
        position = self._subscriptions.position(partition)
        if position is None:
            raise RequestTimedOut(f"{partition} has no position after {limit_ms:g} ms")
        return position.offset

    def pause(self, *partitions: TopicPartition) -> None:
        """Nothing of them is handed out until `resume`; they stay assigned."""
        self._subscriptions.pause([TopicPartition(*partition) for partition in partitions])

    def resume(self, *partitions: TopicPartition) -> None:
        self._subscriptions.resume([TopicPartition(*partition) for partition in partitions])

    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(self._subscriptions.paused())

    def current_lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end, as the last fetch knew it; None before there was one."""
        is_committed = self.settings.isolation_level is IsolationLevel.READ_COMMITTED
        return self._subscriptions.lag(TopicPartition(*partition), read_committed=is_committed)

    # The group

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """`offsets` (of the next record to read, each), or everything that was handed out."""
        running = self._parts()
        if offsets is None:
            chosen = self._subscriptions.all_consumed()
        else:
            chosen = {
                TopicPartition(*partition): OffsetAndMetadata(each) if isinstance(each, int) else each
                for partition, each in offsets.items()
            }
        await running.membership.commit(chosen, self._limit_ms(timeout_ms))

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed; None where it has nothing."""
        return await self._parts().membership.committed(partitions, self._limit_ms(timeout_ms))

    def group_metadata(self) -> GroupMetadata:
        return self._parts().membership.group_metadata()

    def enforce_rebalance(self, reason: str | None = None) -> None:
        self._parts().membership.enforce_rebalance(reason)

    # The cluster

    async def partitions_for(self, topic: str, timeout_ms: float | None = None) -> tuple[int, ...]:
        """Raises UnknownTopic when the time is up."""
        found = await self._parts().network.topic(topic, self._limit_ms(timeout_ms))
        return tuple(each.partition for each in found.partitions)

    async def offsets_for_times(
        self, timestamps_ms: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each time; None where there is none."""
        for partition, time_ms in timestamps_ms.items():
            if time_ms < 0:
                raise InputError(f"{TopicPartition(*partition)}: {time_ms} is no time; milliseconds since 1970 are")
        listed = await self._list(timestamps_ms, timeout_ms)
        return {partition: None if found is None else OffsetAndTimestamp(*found) for partition, found in listed.items()}

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        return await self._ends(partitions, list_offsets_timestamps.EARLIEST, timeout_ms)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Behind the last record; with read_committed behind the last one that is decided."""
        return await self._ends(partitions, list_offsets_timestamps.LATEST, timeout_ms)

    async def topics(self, timeout_ms: float | None = None) -> tuple[str, ...]:
        """All that the consumer may see, internal ones too."""
        response: MetadataResponse = await self._parts().network.send_to_any(
            MetadataRequest(topics=None, allow_auto_topic_creation=False), self._limit_ms(timeout_ms)
        )
        return tuple(sorted(each.name for each in response.topics if each.name is not None and not each.error_code))

    # Inside

    def _parts(self) -> _Parts:
        if self._running is None:
            raise InputError('the consumer is not running: use it in a "with" statement, or call start() first')
        return self._running

    def _limit_ms(self, timeout_ms: float | None) -> float:
        return self.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms

    async def _list(
        self, timestamps_ms: Mapping[TopicPartition, int], timeout_ms: float | None
    ) -> dict[TopicPartition, ListedOffset | None]:
        asked = {TopicPartition(*partition): time_ms for partition, time_ms in timestamps_ms.items()}
        listed = await self._parts().offsets.list(asked, self._limit_ms(timeout_ms))
        return {partition: listed[partition] for partition in asked}

    async def _ends(
        self, partitions: Iterable[TopicPartition], timestamp_ms: int, timeout_ms: float | None
    ) -> dict[TopicPartition, int]:
        listed = await self._list(dict.fromkeys(partitions, timestamp_ms), timeout_ms)
        return {partition: found.offset for partition, found in listed.items() if found is not None}

    async def _committed_or_nothing(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        if self.settings.group_id is None:
            return {}
        return await self._parts().membership.committed(partitions, self.settings.default_api_timeout_ms)

    def _look_again(self) -> None:
        if self._running is not None:
            self._running.reader.step_soon()

    def _want_topics(self) -> None:
        """Tells the network whose metadata is needed."""
        network = self._parts().network
        if self._subscriptions.kind is SubscriptionKind.PATTERN:
            network.want_all_topics()
            self._match_topics()
        else:
            network.want_topics(self._subscriptions.metadata_topics())

    def _match_topics(self) -> None:
        skips_internal = self.settings.exclude_internal_topics
        known = self._parts().network.metadata.topics
        self._subscriptions.match_topics(
            name for name, topic in known.items() if not (skips_internal and topic.is_internal)
        )

    async def _watch_metadata(self, network: NetworkClient, reader: Reader) -> None:
        """Whenever there is news: leaders of positions, topics that match, topics that cannot be read."""
        version = -1
        while True:
            try:
                await network.updated(version)
            except Disconnected:  # closed
                return
            version = network.metadata.version
            if self._subscriptions.kind is SubscriptionKind.PATTERN:
                self._match_topics()
            for topic in self._subscriptions.metadata_topics():
                code = network.metadata.topic_error(topic)
                if code in _HOPELESS:
                    reader.error = refusal(code, f"topic {topic}")
            reader.step_soon()


def _reading(settings: ConsumerConfig) -> Reading:
    """The default deserializer changes nothing, and is not called at all."""
    return Reading(
        check_crcs=settings.check_crcs,
        read_committed=settings.isolation_level is IsolationLevel.READ_COMMITTED,
        key_deserializer=None if settings.key_deserializer is from_bytes else settings.key_deserializer,
        value_deserializer=None if settings.value_deserializer is from_bytes else settings.value_deserializer,
    )


def _compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(f"the pattern {pattern!r} cannot be read: {error}") from None
