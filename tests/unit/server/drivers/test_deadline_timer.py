"""A timer that follows a deadline: at the deadline, not before it, and not after it was closed."""

import asyncio
from collections.abc import Awaitable, Callable

from odradek.common.system_clock import SystemClock
from odradek.server.drivers.deadline_timer import DeadlineTimer


class Core:
    def __init__(self) -> None:
        self.clock = SystemClock()
        self.deadline_ms: int | None = None
        self.ticks: list[int] = []
        self.errors: list[BaseException] = []
        self.error: Exception | None = None
        self.timer = DeadlineTimer(self.clock, lambda: self.deadline_ms, self.tick, self.errors.append)

    def tick(self, now_ms: int) -> None:
        assert self.deadline_ms is not None
        assert now_ms >= self.deadline_ms
        self.ticks.append(now_ms)
        self.deadline_ms = None
        if self.error is not None:
            raise self.error

    def due_in(self, delay_ms: int) -> None:
        self.deadline_ms = self.clock.monotonic_ms() + delay_ms
        self.timer.reschedule()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def run(scenario: Callable[[Core], Awaitable[None]]) -> Core:
    async def body() -> Core:
        core = Core()
        await scenario(core)
        return core

    return asyncio.run(body())


def test_nothing_happens_without_a_deadline() -> None:
    async def scenario(core: Core) -> None:
        core.timer.reschedule()
        await asyncio.sleep(0.01)

    assert not run(scenario).ticks


def test_it_ticks_once_at_the_deadline() -> None:
    async def scenario(core: Core) -> None:
        core.due_in(5)
        await until(lambda: bool(core.ticks))
        await asyncio.sleep(0.01)

    assert len(run(scenario).ticks) == 1


def test_an_earlier_deadline_counts() -> None:
    async def scenario(core: Core) -> None:
        core.due_in(60_000)
        core.due_in(1)
        await until(lambda: bool(core.ticks))

    assert len(run(scenario).ticks) == 1


def test_a_deadline_that_moved_back_is_waited_for() -> None:
    async def scenario(core: Core) -> None:
        core.due_in(1)
        core.due_in(30)
        await until(lambda: bool(core.ticks))

    assert len(run(scenario).ticks) == 1


def test_a_closed_timer_does_not_tick() -> None:
    async def scenario(core: Core) -> None:
        core.due_in(1)
        core.timer.close()
        core.due_in(1)
        await asyncio.sleep(0.02)

    assert not run(scenario).ticks


def test_an_error_of_the_core_is_fatal() -> None:
    async def scenario(core: Core) -> None:
        core.error = ValueError("a bug")
        core.due_in(0)
        await until(lambda: bool(core.errors))

    core = run(scenario)
    assert core.errors == [core.error]
