"""Messages as they come in: partitions that are ours, what is in hand of each, what waits until it is due.

A partition is paused while enough of it is in hand, so that memory is bounded and polling can go on: it is polling that
keeps us in the group. A partition of a retry topic is paused while its next message is not due. Its messages all have
the same delay, so that the first is due first; the others of the partition are held with it.

When a partition is taken away its `Work` is given up for good. Messages that still run find that out at their end. If
the partition comes back it has a new `Work` and begins at what was committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.ports import Clock
from odradek.service.counters import Figures
from odradek.service.handlers import Handler
from odradek.service.handling import Message
from odradek.service.origin import first_origin, moved_origin
from odradek.service.ports import Source
from odradek.service.progress import Progress
from odradek.service.retries import parse_delay_ms

#: Of one partition: as much as one poll brings by default, so that there is always something to run.
_IN_HAND_MIN = 500
#: For each message that may run at once, so that lanes that are busy do not leave others idle.
_IN_HAND_PER_CONCURRENCY = 4


@dataclass(frozen=True, slots=True)
class Route:
    """Handler and delay for the messages of a topic."""

    handler: Handler
    #: 0 for the handler's topic, n for its n-th retry topic.
    stage: int

    @property
    def delay_ms(self) -> int:
        """Delay of the retry topic; 0 for the handler's own."""
        return parse_delay_ms(self.handler.retries.topics[self.stage - 1]) if self.stage else 0

    @property
    def in_hand_max(self) -> int:
        return max(_IN_HAND_MIN, _IN_HAND_PER_CONCURRENCY * self.handler.concurrency)


class Phase(Enum):
    OPEN = "open"
    #: Only what lies below something that was begun is begun: without it, what is finished above would be done again.
    CLOSING = "closing"
    #: Nothing is begun.
    CLOSED = "closed"


@dataclass(slots=True, eq=False)
class Work:
    """Work on one partition, from its assignment until it is revoked or lost."""

    partition: TopicPartition
    route: Route
    progress: Progress = field(default_factory=Progress)
    held: deque[Job] = field(default_factory=deque)
    is_paused: bool = False
    phase: Phase = Phase.OPEN
    #: The highest offset of those that were begun.
    last_begun: int = -1

    def may_begin(self, offset: int) -> bool:
        return self.phase is Phase.OPEN or (self.phase is Phase.CLOSING and offset < self.last_begun)

    @property
    def has_holes(self) -> bool:
        """Something that was begun, or lies below that, is not finished."""
        lowest = self.progress.lowest_unfinished
        return lowest is not None and lowest <= self.last_begun

    @property
    def wants_pause(self) -> bool:
        """Between the limit and half of it, it stays as it is."""
        if self.held:
            return True
        limit = self.route.in_hand_max
        return self.progress.unfinished > (limit // 2 if self.is_paused else limit)


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    message: Message
    work: Work
    #: Not to be tried before, by the calendar.
    due_ms: int = 0

    @property
    def offset(self) -> int:
        return self.message.record.offset


class Intake:
    def __init__(self, source: Source, routes: Mapping[str, Route], figures: Figures, clock: Clock) -> None:
        self._source = source
        self._routes = routes
        self._figures = figures
        self._clock = clock
        self.works: dict[TopicPartition, Work] = {}

    @property
    def in_hand(self) -> int:
        return sum(work.progress.unfinished for work in self.works.values())

    @property
    def held(self) -> int:
        return sum(len(work.held) for work in self.works.values())

    def next_due_ms(self) -> int | None:
        """Wall-clock time at which the next held message is due."""
        return min((work.held[0].due_ms for work in self.works.values() if work.held), default=None)

    async def poll(self, timeout_ms: float, max_records: int | None = None) -> list[Job]:
        """Return the jobs that can run now: due and new ones. Rebalances happen in here."""
        self._pause_and_resume()
        due_ms = self.next_due_ms()
        if due_ms is not None:
            timeout_ms = min(timeout_ms, max(0, due_ms - self._clock.wall_ms()))
        jobs: list[Job] = []
        for record in await self._source.poll(timeout_ms, max_records):
            jobs += self._accept(record)
        return [*self._due(), *jobs]

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """Start anew with the partitions, even if they were assigned before, at the committed offsets."""
        for partition in partitions:
            if partition.topic in self._routes:
                self.give_up(self.works_of([partition]))
                self.works[partition] = Work(partition, self._routes[partition.topic])

    def works_of(self, partitions: Iterable[TopicPartition]) -> list[Work]:
        return [self.works[partition] for partition in partitions if partition in self.works]

    def give_up(self, works: Iterable[Work]) -> None:
        for work in works:
            work.phase = Phase.CLOSED
            self.works.pop(work.partition, None)

    def to_commit(self, works: Iterable[Work]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Only of what is still ours."""
        ours = [work for work in works if self.works.get(work.partition) is work]
        offsets = ((work.partition, work.progress.committable) for work in ours)
        return {partition: OffsetAndMetadata(offset) for partition, offset in offsets if offset is not None}

    def to_commit_with(self, jobs: Iterable[Job]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets to commit once these are finished, too."""
        offsets: dict[TopicPartition, set[int]] = {}
        for job in jobs:
            offsets.setdefault(job.work.partition, set()).add(job.offset)
        return dict(self._to_commit_with(offsets))

    def _to_commit_with(
        self, offsets: Mapping[TopicPartition, Collection[int]]
    ) -> Iterator[tuple[TopicPartition, OffsetAndMetadata]]:
        for partition, finished in offsets.items():
            offset = self.works[partition].progress.committable_with(finished)
            if offset is not None:
                yield partition, OffsetAndMetadata(offset)

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for partition, committed in offsets.items():
            if partition in self.works:
                self.works[partition].progress.committed(committed.offset)

    def _accept(self, record: ConsumerRecord) -> Iterator[Job]:
        """A record that somebody else put into a retry topic has nothing to wait for, and none waits for longer than
        its topic says, whatever its header says."""
        partition = TopicPartition(record.topic, record.partition)
        work = self.works.get(partition)
        if work is None:  # the consumer never hands out what was taken away; without a group nobody assigns
            self.assigned([partition])
            work = self.works[partition]
        route = work.route
        origin = (moved_origin(record) if route.stage else None) or first_origin(record)
        now_ms = self._clock.wall_ms()
        due_ms = min(origin.due_ms, now_ms + route.delay_ms)
        job = Job(Message(record, route.handler, route.stage, origin), work, due_ms)
        work.progress.begin(record.offset)
        self._figures.of(route.handler.topic).received += 1
        if work.held or due_ms > now_ms:
            work.held.append(job)
        else:
            yield job

    def _due(self) -> list[Job]:
        now_ms = self._clock.wall_ms()
        jobs: list[Job] = []
        for work in self.works.values():
            while work.held and work.held[0].due_ms <= now_ms:
                jobs.append(work.held.popleft())
        return jobs

    def _pause_and_resume(self) -> None:
        for work in self.works.values():
            wants_pause = work.wants_pause
            if wants_pause != work.is_paused:
                (self._source.pause if wants_pause else self._source.resume)(work.partition)
                work.is_paused = wants_pause
