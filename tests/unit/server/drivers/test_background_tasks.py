"""Tasks that nobody awaits: their failures are reported, and closing ends them."""

import asyncio

from odradek.server.drivers.background_tasks import BackgroundTasks


def test_a_failure_is_fatal() -> None:
    errors: list[BaseException] = []
    error = ValueError("a bug")

    async def fail() -> None:
        raise error

    async def body() -> None:
        task = BackgroundTasks(errors.append).start(fail())
        await asyncio.wait([task])
        await asyncio.sleep(0)

    asyncio.run(body())
    assert errors == [error]


def test_closing_cancels_what_still_runs_and_is_not_fatal() -> None:
    errors: list[BaseException] = []
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    async def body() -> None:
        tasks = BackgroundTasks(errors.append)
        tasks.start(wait())
        await asyncio.sleep(0)
        await tasks.close()
        await tasks.close()

    asyncio.run(body())
    assert (errors, ended) == ([], ["cancelled"])
