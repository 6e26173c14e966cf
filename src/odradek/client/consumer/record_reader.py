"""Hands records out, and sees to it that there are some: the engine of a consumer.

Between two pieces that are handed out everything else has its turn: the group (callbacks of rebalances run here, in the
application's task), errors that the application must know, fetches, and the event loop itself.

`async for` gives out single records without a turn of the loop for each. What it works on is an iterator over a list of
records, and how far that has come is not noted for each record either: `settle` asks the iterator when somebody wants
to know a position (a commit), and `withdraw` takes back what it has not given out yet when it may not go on (a seek, a
pause, a partition that is given up). Records, lists and columns may be taken in turn.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from operator import length_hint
from typing import TYPE_CHECKING, TypeVar

from odradek.client.consumer.completed_fetch import CompletedFetch
from odradek.client.consumer.fetch_collector import FetchCollector, Taken
from odradek.client.consumer.fetcher import Fetcher
from odradek.client.consumer.partition_state import FetchPosition
from odradek.client.consumer.position_resolver import PositionResolver
from odradek.client.consumer.record import ConsumerRecord
from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.group.membership import Membership
from odradek.common.failures import ApiError, InputError

if TYPE_CHECKING:
    from odradek.client.consumer.record_columns import RecordColumns

_Piece = TypeVar("_Piece")

#: How long records may be handed out before the loop gets a turn: heartbeats and the next fetch wait for it.
_TURN_S = 0.002

#: A poll of the group while records are waited for; it is woken when there is something to do.
_GROUP_POLL_MS = 0.0


class RecordReader:
    def __init__(
        self,
        subscriptions: Subscriptions,
        collector: FetchCollector,
        fetcher: Fetcher,
        offsets: PositionResolver,
        membership: Membership,
    ) -> None:
        #: Of the cluster's metadata; raised once.
        self.error: ApiError | None = None
        #: Called when other topics are subscribed to or assigned than before.
        self.on_topics: Callable[[], None] = lambda: None
        self._versions = (-1, -1)
        self._loop = asyncio.get_running_loop()
        self._subscriptions = subscriptions
        self._collector = collector
        self._fetcher = fetcher
        self._offsets = offsets
        self._membership = membership
        self._handed: Taken | None = None
        self._iterator: Iterator[ConsumerRecord] = iter(())
        self._waiter: asyncio.Future[None] | None = None
        self._is_stepping = False
        self._is_closed = False
        self._turn_s = 0.0
        subscriptions.on_change = self.step_soon
        subscriptions.before_read = self.update_positions
        subscriptions.before_change = self.withdraw
        fetcher.on_data = self.wake
        fetcher.on_change = self.step_soon
        offsets.on_change = self.step_soon
        membership.wake = self.wake

    # What goes on meanwhile

    def close(self) -> None:
        """Whoever waits for records gets none."""
        self._is_closed = True
        self.wake()

    def step_soon(self) -> None:
        """Something has changed: positions may be missing, partitions fetchable. From the loop, never from within."""
        if not self._is_stepping:
            self._is_stepping = True
            self._loop.call_soon(self._step)

    def wake(self) -> None:
        """Whoever waits for records looks again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _step(self) -> None:
        self._is_stepping = False
        if self._is_closed:
            return
        versions = (self._subscriptions.subscription_version, self._subscriptions.assignment_version)
        if versions != self._versions:
            self._versions = versions
            self.on_topics()
        self._offsets.begin()
        self._fetcher.send()
        self.wake()

    # Positions of what is being handed out

    def update_positions(self) -> None:
        """Notes how far the iterator has come."""
        handed = self._handed
        if handed is None or handed.fetch.is_stale:
            return
        left = length_hint(self._iterator)
        if not left:
            position = handed.after
            self._handed = None
        elif left == len(handed.rows):
            return
        else:
            last = handed.rows[-left - 1]
            position = FetchPosition(last.offset + 1, last.leader_epoch, handed.before.leader)
        handed.fetch.state.advance(position)

    def withdraw(self) -> None:
        """Takes back what the iterator has not given out."""
        self.update_positions()
        handed, self._handed = self._handed, None
        left = list(self._iterator)  # it ends for whoever holds it
        if handed is not None and left and not handed.fetch.is_stale:
            handed.fetch.give_back(left)

    # Handing out

    async def records(self, limit: int) -> AsyncIterator[ConsumerRecord]:
        """One after the other, until the consumer is closed. `limit`: how many before the group has its turn."""
        while True:
            for record in self._iterator:
                yield record
            if await self.run(limit) is None:
                return

    async def run(self, limit: int) -> Iterator[ConsumerRecord] | None:
        """The next records of one partition. How far the iterator has come is what was handed out; it may be another
        thread that does so, and it ends early when they are taken back. None when the consumer is closed."""
        if length_hint(self._iterator):  # whoever asked for it before has not come for it
            return self._iterator
        run = await self._next(lambda: self._collector.take(limit), None)
        if run is None:
            return None
        self._handed, self._iterator = run, iter(run.rows)
        return self._iterator

    async def poll(self, limit: int, timeout_ms: float) -> list[ConsumerRecord]:
        self.withdraw()
        deadline_s = self._loop.time() + timeout_ms / 1000
        return await self._next(lambda: self._collector.collect(limit) or None, deadline_s) or []

    async def columns(self) -> "AsyncIterator[RecordColumns]":
        """Chunks of one partition each, none of them empty, until the consumer is closed."""
        self._fetcher.use_columns()
        while True:
            self.withdraw()
            fetch = await self._next(self._collector.next, None)
            if fetch is None:
                return
            columns = self._columns_of(fetch)
            if columns is not None:
                yield columns

    def _columns_of(self, fetch: CompletedFetch) -> "RecordColumns | None":
        from odradek.client.consumer.record_columns import RecordColumns  # numpy: only for those who want columns

        position = fetch.state.position
        columns = fetch.take_columns()
        leader = None if position is None else position.leader
        fetch.state.advance(FetchPosition(fetch.next_offset, fetch.last_epoch, leader))
        return RecordColumns(fetch.partition, columns, fetch.reading) if len(columns) else None

    async def wait_for(self, condition: Callable[[], bool], timeout_ms: float) -> None:
        """Until it holds, or the time is up. Hands nothing out."""
        self.step_soon()
        deadline_s = self._loop.time() + timeout_ms / 1000
        await self._next(lambda: condition() or None, deadline_s)

    async def _next(self, take: Callable[[], _Piece | None], deadline_s: float | None) -> _Piece | None:
        """Wait until `take` returns something, and return it; None after the timeout or when the consumer is closed.

        Nothing is awaited once something was taken: a caller that is cancelled meanwhile would lose it."""
        while not self._is_closed:
            await self._let_others_run()
            if self._membership.needs_poll:
                self.update_positions()
                await self._membership.poll(_GROUP_POLL_MS)
            self._raise_errors()
            self.update_positions()
            piece = take()
            if self._collector.has_room:
                self._collector.has_room = False
                self._fetcher.send()
            if piece is not None:
                return piece
            if deadline_s is not None and self._loop.time() >= deadline_s:
                await asyncio.sleep(0)  # who polls without waiting, again and again, lets others run all the same
                return None
            await self._wait(deadline_s)
        return None

    def _raise_errors(self) -> None:
        error = self.error or self._offsets.error or self._fetcher.error
        if error is not None:
            self.error = self._offsets.error = self._fetcher.error = None
            self._offsets.begin()
            raise error

    async def _let_others_run(self) -> None:
        now_s = self._loop.time()
        if now_s - self._turn_s >= _TURN_S:
            await asyncio.sleep(0)
            self._turn_s = self._loop.time()

    async def _wait(self, deadline_s: float | None) -> None:
        """Until somebody wakes us, or the time is up."""
        if self._waiter is not None:
            raise InputError(
                "another task already waits for records of this consumer; each task needs its own consumer"
            )
        self._waiter = waiter = self._loop.create_future()
        timer = None if deadline_s is None else self._loop.call_at(deadline_s, self.wake)
        if self._membership.needs_poll or self._is_closed:
            self.wake()
        try:
            await waiter
        finally:
            self._turn_s = self._loop.time()
            if timer is not None:
                timer.cancel()
            self._waiter = None
