"""One batch of a service's messages, with an end: for a task that polls, handles, commits and returns.

The engine is that of a service that runs for ever: order by key, retries, dead letters, and offsets that are committed
only once their messages are finished. What differs is where records come from (`BatchSource`) and that the run ends: at
what was there when it began, at `max_records`, or after `max_seconds`, whichever comes first.

By default a run assigns all partitions to itself, from the offsets that the group has committed. It joins nothing, so
that it begins at once, also after a run that was killed: no session has to expire. The price is that nobody keeps two
such runs apart. Both would handle the same messages, which at-least-once handlers must bear anyway. A run that is about
to commit looks first whether the group's offsets are still those that it knows; if not, another run is under way, and
this one ends without a commit. So an overlap costs duplicates, and does not move offsets back unless both runs commit
within the same round trip, which costs more duplicates.

With `parallel`, a run is a member of the group, and runs at the same time share its partitions. A run that is killed
keeps its partitions then until its session expires.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from odradek.client.consumer.consumer import Consumer
from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.client.errors import is_retriable
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.errors import CommitFailed, GroupInUse, RebalanceInProgress
from odradek.service.counters import Ending, Figures
from odradek.service.engine import Engine
from odradek.service.message_intake import Intake

#: Between two looks at whether a run is over.
_LOOK_S = 0.01

#: Offsets up to the end may belong to no record (markers of transactions): nothing more comes after so long.
_SILENCE_MAX_MS = 3_000


#: A run asks for the ends of partitions behind its fetches, on the same connections: those are not to wait for long.
_FETCH_MAX_WAIT_MS = 20


def batch_settings(*, parallel: bool) -> dict[str, object]:
    """Defaults of the consumer. A member of the consumer protocol has its partitions after one round trip, where the
    classic one would wait for group.initial.rebalance.delay.ms in each run."""
    settings: dict[str, object] = {"fetch.max.wait.ms": _FETCH_MAX_WAIT_MS}
    return settings | {"group.protocol": "consumer"} if parallel else settings


class BatchEnd(Enum):
    """Why a run has ended."""

    #: All that was there when it began was handled.
    CAUGHT_UP = "caught up"
    MAX_RECORDS = "max_records"
    MAX_SECONDS = "max_seconds"
    #: Another run, or somebody else, has committed offsets of the group meanwhile.
    OVERLAP = "overlap"


class Overlap(ApiError):
    """The group's offsets are not those that this run knows."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    max_records: int
    max_seconds: float


@dataclass(frozen=True, slots=True)
class BatchResult:
    end: BatchEnd
    #: Messages by what became of them; their sum is what this run has finished.
    handled: int
    retried_later: int
    dead: int
    dropped: int
    skipped: int
    #: Retries that are not due yet: a later run handles them.
    waiting: int
    #: Records behind those that this run has read.
    lag: int

    @property
    def finished(self) -> int:
        return self.handled + self.retried_later + self.dead + self.dropped + self.skipped

    @property
    def has_more(self) -> bool:
        """True if another run would find messages at once."""
        return self.lag > 0 and self.end is not BatchEnd.OVERLAP


class BatchSource:
    """A consumer that gives out no more than a run may have, and that knows when it has reached the end."""

    def __init__(self, consumer: Consumer, max_records: int, clock: Clock, *, guards_offsets: bool) -> None:
        self._consumer = consumer
        self._left = max_records
        self._clock = clock
        self._guards_offsets = guards_offsets
        self._positions: dict[TopicPartition, int] = {}
        #: Of each partition when it was first seen.
        self._ends: dict[TopicPartition, int] = {}
        #: What the group has committed, as far as this run knows.
        self._committed: dict[TopicPartition, int | None] = {}
        #: What this run has asked the group to commit. A commit without an answer may have been made or not.
        self._unanswered: dict[TopicPartition, int] = {}
        self._last_record_ms = clock.monotonic_ms()
        #: Why the run is to end: somebody else commits for the group, or the group refuses our commits.
        self.commit_error: ApiError | None = None

    @property
    def is_exhausted(self) -> bool:
        return self._left <= 0

    def is_caught_up(self) -> bool:
        if not self._ends:
            return False
        if all(self._positions[partition] >= end for partition, end in self._ends.items()):
            return True
        return self._clock.monotonic_ms() - self._last_record_ms > _SILENCE_MAX_MS

    async def lag(self) -> int:
        ends = await self._consumer.end_offsets(list(self._positions))
        return sum(max(0, ends.get(partition, 0) - offset) for partition, offset in self._positions.items())

    async def poll(self, timeout_ms: float, max_records: int | None = None) -> list[ConsumerRecord]:
        """Polls on when there is nothing more to give out: a member of a group must."""
        if self.is_exhausted:
            self._consumer.pause(*self._consumer.assignment())
        limit = max(1, min(self._left, max_records or self._consumer.settings.max_poll_records))
        records = await self._consumer.poll(timeout_ms, limit)
        await self._meet_partitions()
        for record in records:
            self._positions[TopicPartition(record.topic, record.partition)] = record.offset + 1
        if records:
            self._last_record_ms = self._clock.monotonic_ms()
        self._left -= len(records)
        return records

    async def _meet_partitions(self) -> None:
        assigned = self._consumer.assignment()
        for partition in [partition for partition in self._ends if partition not in assigned]:
            for offsets in (self._ends, self._positions, self._committed, self._unanswered):
                offsets.pop(partition, None)
        new = [partition for partition in assigned if partition not in self._ends]
        if not new:
            return
        ends = await self._consumer.end_offsets(new)
        for partition, committed in (await self._consumer.committed(new)).items():
            self._committed[partition] = None if committed is None else committed.offset
            self._positions[partition] = await self._first_position(partition)
        self._ends.update(ends)
        self._last_record_ms = self._clock.monotonic_ms()

    async def _first_position(self, partition: TopicPartition) -> int:
        committed = self._committed[partition]
        return committed if committed is not None else await self._consumer.position(partition)

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float | None = None
    ) -> None:
        try:
            if self._guards_offsets:
                await self._check_nobody_else_committed(offsets, timeout_ms)
            self._unanswered |= {
                partition: offset_and_metadata.offset for partition, offset_and_metadata in offsets.items()
            }
            await self._consumer.commit(offsets, timeout_ms)
        except CommitFailed as error:
            self.commit_error = error
            if self._guards_offsets:
                group_id = self._consumer.settings.group_id
                self.commit_error = GroupInUse(
                    f"group {group_id} has members, so that only they may commit its offsets: stop the service, or "
                    f"whatever reads as this group, or use parallel=True",
                    error.code,
                )
            raise self.commit_error from None
        except ApiError as error:
            may_pass = is_retriable(error) or isinstance(error, RebalanceInProgress)
            if isinstance(error, Overlap) or not may_pass:
                self.commit_error = error
            raise
        self._committed |= {partition: offset_and_metadata.offset for partition, offset_and_metadata in offsets.items()}

    async def _check_nobody_else_committed(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float | None
    ) -> None:
        if self.commit_error is not None:
            raise self.commit_error
        for partition, committed in (await self._consumer.committed(offsets, timeout_ms)).items():
            offset = None if committed is None else committed.offset
            if offset is not None and offset == self._unanswered.get(partition):
                self._committed[partition] = offset  # by this run: the answer was late or lost
            if offset != self._committed.get(partition):
                raise Overlap(
                    f"{partition}: the group has committed {offset}, this run expected "
                    f"{self._committed.get(partition)}; another run is under way"
                )

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._consumer.seek(partition, offset)

    def pause(self, *partitions: TopicPartition) -> None:
        self._consumer.pause(*partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self._consumer.resume(*partitions)

    def current_lag(self, partition: TopicPartition) -> int | None:
        return self._consumer.current_lag(partition)

    def group_metadata(self) -> Any:
        return self._consumer.group_metadata()


async def run_batch(
    engine: Engine, source: BatchSource, intake: Intake, figures: Figures, clock: Clock, limits: BatchLimits
) -> BatchResult:
    """Raises what a service's run raises, and errors of the group that do not pass."""
    running = asyncio.ensure_future(engine.run())
    try:
        end = await _until_over(running, source, intake, clock, limits)
        waiting = intake.held
        engine.stop()
        await running
    finally:
        if not running.done():
            engine.stop()
            await asyncio.wait([running])
    if isinstance(source.commit_error, Overlap):
        end = BatchEnd.OVERLAP
    elif source.commit_error is not None:
        raise source.commit_error
    return BatchResult(
        end,
        handled=figures.count(Ending.HANDLED),
        retried_later=figures.count(Ending.MOVED),
        dead=figures.count(Ending.DEAD),
        dropped=figures.count(Ending.DROPPED),
        skipped=figures.count(Ending.SKIPPED),
        waiting=waiting,
        lag=await source.lag(),
    )


async def _until_over(
    running: asyncio.Task[None], source: BatchSource, intake: Intake, clock: Clock, limits: BatchLimits
) -> BatchEnd:
    ends_ms = clock.monotonic_ms() + limits.max_seconds * 1000
    while not running.done() and source.commit_error is None:
        if clock.monotonic_ms() >= ends_ms:
            return BatchEnd.MAX_SECONDS
        if intake.in_hand == intake.held:  # all that may be handled now has been
            if source.is_caught_up():
                return BatchEnd.CAUGHT_UP
            if source.is_exhausted:
                return BatchEnd.MAX_RECORDS
        await asyncio.sleep(_LOOK_S)
    return BatchEnd.CAUGHT_UP
