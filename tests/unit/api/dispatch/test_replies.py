import asyncio

from odradek.api.dispatch.replies import answers


async def _in_turns() -> int:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def ask(number: int) -> int:
        return number

    task = asyncio.ensure_future(other())
    assert await answers(ask, range(1_000)) == list(range(1_000))
    task.cancel()
    return turns


def test_many_answers_come_in_order_and_leave_others_the_loop() -> None:
    assert asyncio.run(_in_turns()) >= 20
