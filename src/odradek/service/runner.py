"""Jobs as tasks, by the lanes of their handlers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable

from odradek.service.handlers import Handler, Order
from odradek.service.message_intake import Job, Phase, Work
from odradek.service.ordered_lanes import Lanes


class Runner:
    """Runs what is added, each handler's messages as its order and concurrency allow."""

    def __init__(self, run: Callable[[Job], Awaitable[None]], on_error: Callable[[BaseException], None]) -> None:
        """`on_error` hears of what `run` should never raise."""
        self._run = run
        self._on_error = on_error
        self._lanes: dict[Handler, Lanes[Job]] = {}
        self._tasks: dict[asyncio.Task[None], Work] = {}

    @property
    def running(self) -> int:
        return len(self._tasks)

    @property
    def queued(self) -> int:
        return sum(lanes.queued for lanes in self._lanes.values())

    def add(self, job: Job) -> None:
        handler = job.work.route.handler
        lanes = self._lanes.get(handler)
        if lanes is None:
            lanes = self._lanes[handler] = Lanes(handler.concurrency)
        lanes.add(_lane(job), job)
        self._begin(lanes)

    async def ended(self, works: Collection[Work], timeout_s: float) -> int:
        """Wait until nothing is left to do below what was begun of these. After the time, cancel what runs of them and
        say how many that were."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + timeout_s
        while self._tasks and any(work.has_holes for work in works):
            left_s = deadline_s - loop.time()
            if left_s <= 0:
                return await self._give_up(works)
            # Others may hold the places that these need: whatever ends is looked at.
            await asyncio.wait(list(self._tasks), timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        return 0

    async def _give_up(self, works: Collection[Work]) -> int:
        for work in works:
            work.phase = Phase.CLOSED
        late = [task for task, work in self._tasks.items() if work in works]
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        return len(late)

    async def all_ended(self) -> None:
        """Wait until all jobs have ended, including those that wait in lanes."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    def cancel(self) -> None:
        """Give up what runs. Whether something else begins then is up to the phases of their works."""
        for task in self._tasks:
            task.cancel()

    def _begin(self, lanes: Lanes[Job]) -> None:
        while (next_job := lanes.take()) is not None:
            lane, job = next_job
            if not job.work.may_begin(job.offset):
                lanes.done(lane)
                continue
            job.work.last_begun = max(job.work.last_begun, job.offset)
            task = asyncio.ensure_future(self._guarded(job))
            self._tasks[task] = job.work
            task.add_done_callback(lambda task, lane=lane: self._ended(task, lanes, lane))  # type: ignore[misc]

    async def _guarded(self, job: Job) -> None:
        try:
            await self._run(job)
        except asyncio.CancelledError:
            pass  # given up: it will be read again
        except BaseException as error:  # noqa: BLE001 - nobody awaits the task
            self._on_error(error)

    def _ended(self, task: asyncio.Task[None], lanes: Lanes[Job], lane: Hashable) -> None:
        del self._tasks[task]
        lanes.done(lane)
        self._begin(lanes)


def _lane(job: Job) -> Hashable:
    """Jobs of one lane run one after the other. A partition that was away and came back has lanes of its own."""
    order = job.work.route.handler.order
    if order is Order.PARTITION:
        return job.work
    key = job.message.record.key
    return job if order is Order.NONE or key is None else (job.work, key)
