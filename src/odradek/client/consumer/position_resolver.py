"""Gives partitions their positions: committed ones, those of the reset policy, and those that a new leader confirmed.

One task, there while a partition is without a valid position. It asks, tells `Subscriptions`, and after
retry.backoff.ms asks again for what was not answered. What the application has to decide (no reset policy, no rights)
is kept in `error` until the next poll raises it.

A position is validated when its leader changes (KIP-320): the new leader says where the epoch of the last record that
was consumed ends. If that is before the position, the log was cut off: the position goes back to there, or, without a
reset policy, LogTruncation is raised. A topic that was made anew under its old name has nothing to do with the position
at all: it is reset.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from odradek.client.consumer.offset_requests import (
    EpochEnd,
    ListedOffset,
    by_leader,
    epoch_ends,
    epochs_request,
    list_offsets_request,
    listed_offsets,
)
from odradek.client.consumer.partition_state import FetchPosition, FetchState
from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.net.metadata_cache import LeaderAndEpoch
from odradek.client.net.network_client import NetworkClient
from odradek.client.settings.settings import ConsumerConfig, OffsetReset, ResetStrategy
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common import list_offsets_timestamps
from odradek.common.failures import ApiError, Fault
from odradek.errors import (
    LogTruncation,
    NoOffsetForPartition,
    RequestTimedOut,
    TopicAuthorizationFailed,
    VersionsDiffer,
)

Committed = Callable[[Iterable[TopicPartition]], Awaitable[Mapping[TopicPartition, OffsetAndMetadata | None]]]

_TIMESTAMPS = {
    ResetStrategy.EARLIEST: list_offsets_timestamps.EARLIEST,
    ResetStrategy.LATEST: list_offsets_timestamps.LATEST,
}


class Offsets:
    def __init__(
        self,
        settings: ConsumerConfig,
        network: NetworkClient,
        subscriptions: Subscriptions,
        committed: Committed,
        wall_clock_ms: Callable[[], float],
    ) -> None:
        """`committed` asks the group; `wall_clock_ms` is for resets by duration."""
        self.error: Exception | None = None
        #: Called when a partition got a position, or an error is there.
        self.on_change: Callable[[], None] = lambda: None
        self._settings = settings
        self._network = network
        self._subscriptions = subscriptions
        self._committed = committed
        self._wall_clock_ms = wall_clock_ms
        self._topic_ids: dict[str, bytes] = {}
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    # Positions

    def begin(self) -> None:
        """Something may have lost its position, or gained its leader."""
        self.meet_leaders()
        if self._task is None and not self._closed and not self._subscriptions.has_all_positions():
            self._task = asyncio.ensure_future(self._run())
            self._task.add_done_callback(self._ended)

    async def close(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def meet_leaders(self) -> None:
        """Tells positions who leads their partitions by now."""
        metadata = self._network.metadata
        for partition in self._subscriptions.partitions():
            topic_id = metadata.topic_id(partition.topic)
            if topic_id is not None and self._topic_ids.setdefault(partition.topic, topic_id) != topic_id:
                self._forget_topic(partition.topic)
                self._topic_ids[partition.topic] = topic_id
            leader = metadata.leader(partition)
            if leader is not None:
                self._subscriptions.meet_leader(partition, leader)

    def _forget_topic(self, topic: str) -> None:
        """It was deleted and made anew: no position of the old one means anything."""
        for partition, state in tuple(self._subscriptions.states()):
            if partition.topic == topic and state.state is not FetchState.INITIALIZING:
                self._subscriptions.request_reset(partition)
                if self._subscriptions.reset.strategy is ResetStrategy.NONE:
                    state.begin_anew()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self.error = error if isinstance(error, ApiError) else Fault(f"finding positions: {error!r}")
        self.on_change()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._subscriptions.has_all_positions() and self.error is None:
            version = self._network.metadata.version
            self.meet_leaders()
            await self._initialize()
            now_ms = loop.time() * 1000
            # Not again before then, unless an answer says otherwise.
            asked_until_ms = now_ms + self._settings.request_timeout_ms
            await asyncio.gather(self._reset(now_ms, asked_until_ms), self._validate(now_ms, asked_until_ms))
            self.on_change()
            if not self._subscriptions.has_all_positions() and self.error is None:
                await self._pause(version)

    async def _pause(self, version: int) -> None:
        """Until it is time to ask again, or the metadata is newer than it was: it may have been a leader that was
        missing."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.retry_backoff_ms / 1000):
                await self._network.updated(version)

    async def _initialize(self) -> None:
        partitions = self._subscriptions.initializing()
        if not partitions:
            return
        try:
            committed = await self._committed(partitions)
        except ApiError:
            if any(partition in partitions for partition in self._subscriptions.initializing()):
                raise
            return  # nobody wants to know any more: who leaves its group is refused as no member
        without: list[TopicPartition] = []
        for partition in partitions:
            state = self._subscriptions.state(partition)
            if state is None or state.state is not FetchState.INITIALIZING:
                continue  # sought, or given up, meanwhile
            found = committed.get(partition)
            if found is not None:
                self._see_epoch(partition, found.leader_epoch)
                state.seek(FetchPosition(found.offset, found.leader_epoch, self._network.metadata.leader(partition)))
            elif self._subscriptions.reset.strategy is ResetStrategy.NONE:
                without.append(partition)
            else:
                state.await_reset(self._subscriptions.reset)
        if without:
            raise NoOffsetForPartition(tuple(without))

    async def _reset(self, now_ms: float, asked_until_ms: float) -> None:
        asked: dict[TopicPartition, OffsetReset] = {}
        for partition in self._subscriptions.awaiting_reset(now_ms):
            state = self._subscriptions.state(partition)
            if state is not None and state.reset is not None:
                asked[partition] = state.reset
        if not asked:
            return
        self._subscriptions.back_off(asked, asked_until_ms)
        timestamps = {partition: self._timestamp_ms(reset) for partition, reset in asked.items()}
        listed = await self._list(timestamps)
        late = {partition: list_offsets_timestamps.LATEST for partition, found in listed.items() if found is None}
        if late:  # no record is as young as by_duration wants it: what comes next is
            listed |= await self._list(late)
        for partition, reset in asked.items():
            state = self._subscriptions.state(partition)
            if state is None or state.state is not FetchState.AWAIT_RESET or state.reset != reset:
                continue
            found = listed.get(partition)
            if found is None:
                state.next_retry_ms = 0.0
            else:
                self._see_epoch(partition, found.leader_epoch)
                state.seek_validated(FetchPosition(found.offset, None, self._network.metadata.leader(partition)))

    async def _validate(self, now_ms: float, asked_until_ms: float) -> None:
        positions: dict[TopicPartition, FetchPosition] = {}
        leaders: dict[TopicPartition, LeaderAndEpoch] = {}
        for partition in self._subscriptions.awaiting_validation(now_ms):
            state = self._subscriptions.state(partition)
            if state is not None and state.position is not None and state.position.leader is not None:
                positions[partition], leaders[partition] = state.position, state.position.leader
        self._subscriptions.back_off(positions, asked_until_ms)
        truncated: dict[TopicPartition, int] = {}
        diverging: dict[TopicPartition, OffsetAndMetadata] = {}
        for node_id, of_node in by_leader(leaders):
            ends = await self._epoch_ends(node_id, {each: positions[each] for each in of_node})
            for partition, end in ends.items():
                self._complete_validation(partition, positions[partition], end, truncated, diverging)
        if truncated:
            raise LogTruncation(truncated, diverging)

    async def _epoch_ends(
        self, node_id: int, positions: Mapping[TopicPartition, FetchPosition]
    ) -> dict[TopicPartition, EpochEnd]:
        try:
            response = await self._network.send(node_id, epochs_request(positions))
        except VersionsDiffer:  # a node that is too old to be asked
            return {partition: EpochEnd(0, position.offset) for partition, position in positions.items()}
        except ApiError:
            self._ask_again(positions)
            return {}
        answers = epoch_ends(response)
        if answers.forbidden:
            raise TopicAuthorizationFailed(tuple(answers.forbidden))
        self._ask_again(answers.retry)
        return answers.found

    def _complete_validation(
        self,
        partition: TopicPartition,
        asked: FetchPosition,
        end: EpochEnd,
        truncated: dict[TopicPartition, int],
        diverging: dict[TopicPartition, OffsetAndMetadata],
    ) -> None:
        state = self._subscriptions.state(partition)
        if state is None or state.state is not FetchState.AWAIT_VALIDATION or state.position != asked:
            return
        has_policy = self._subscriptions.reset.strategy is not ResetStrategy.NONE
        if not end.is_undefined and end.end_offset >= asked.offset:
            state.complete_validation()
        elif not has_policy:
            truncated[partition] = asked.offset
            if not end.is_undefined:
                diverging[partition] = OffsetAndMetadata(end.end_offset, end.epoch)
        elif end.is_undefined:
            state.await_reset(self._subscriptions.reset)
        else:
            state.seek_validated(FetchPosition(end.end_offset, end.epoch, asked.leader))

    def _ask_again(self, partitions: Iterable[TopicPartition]) -> None:
        partitions = list(partitions)
        if partitions:
            self._subscriptions.back_off(partitions, 0.0)
            self._network.request_update()

    def _timestamp_ms(self, reset: OffsetReset) -> int:
        if reset.strategy is ResetStrategy.BY_DURATION:
            return int(self._wall_clock_ms()) - (reset.duration_ms or 0)
        return _TIMESTAMPS[reset.strategy]

    def _see_epoch(self, partition: TopicPartition, epoch: int | None) -> None:
        if epoch is not None:
            self._network.metadata.see_epoch(partition, epoch)

    # Listing

    async def list(
        self, timestamps_ms: Mapping[TopicPartition, int], timeout_ms: float
    ) -> dict[TopicPartition, ListedOffset | None]:
        """For the application, until every partition is answered. Raises RequestTimedOut."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + timeout_ms / 1000
        left = dict(timestamps_ms)
        found: dict[TopicPartition, ListedOffset | None] = {}
        for topic in dict.fromkeys(partition.topic for partition in left):
            await self._network.topic(topic, timeout_ms)
        while left:
            found |= await self._list(left)
            left = {partition: time_ms for partition, time_ms in left.items() if partition not in found}
            if left and loop.time() >= deadline_s:
                named = ", ".join(str(partition) for partition in left)
                raise RequestTimedOut(f"no offsets of {named} in {timeout_ms:g} ms")
            if left:
                await asyncio.sleep(self._settings.retry_backoff_ms / 1000)
        return found

    async def _list(self, timestamps_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, ListedOffset | None]:
        """One question to each leader; what was not answered is missing."""
        leaders = {
            partition: leader
            for partition in timestamps_ms
            if (leader := self._network.metadata.leader(partition)) is not None
        }
        if len(leaders) < len(timestamps_ms):
            self._network.request_update()
        answers = await asyncio.gather(
            *(
                self._list_at(node_id, {each: timestamps_ms[each] for each in of_node}, of_node)
                for node_id, of_node in by_leader(leaders)
            )
        )
        return {partition: found for each in answers for partition, found in each.items()}

    async def _list_at(
        self,
        node_id: int,
        timestamps_ms: Mapping[TopicPartition, int],
        leaders: Mapping[TopicPartition, LeaderAndEpoch],
    ) -> dict[TopicPartition, ListedOffset | None]:
        timeout_ms = self._settings.request_timeout_ms
        request: Any = list_offsets_request(timestamps_ms, leaders, self._settings.isolation_level.value, timeout_ms)
        try:
            response = await self._network.send(node_id, request)
        except ApiError:
            self._network.request_update()
            return {}
        answers = listed_offsets(response)
        if answers.forbidden:
            raise TopicAuthorizationFailed(tuple(answers.forbidden))
        if answers.retry:
            self._network.request_update()
        return answers.found
