"""Waiting for the answer of a core, or for many of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from odradek.coordinator.runtime.reply import Reply

Answer = TypeVar("Answer")
Asked = TypeVar("Asked")

#: One of them takes some tenths of a millisecond, and a request may name any number.
_AT_ONCE = 50


async def answer(reply: Reply[Answer]) -> Answer:
    """Raises the ApiError that it failed with."""
    if not reply.is_done:
        completed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        reply.then(lambda _: None if completed.done() else completed.set_result(None))
        await completed
    return reply.answer()


async def answers(ask: Callable[[Asked], Awaitable[Answer]], about: Sequence[Asked]) -> list[Answer]:
    """In their order. Others have the loop now and then."""
    found: list[Answer] = []
    for first in range(0, len(about), _AT_ONCE):
        found += await asyncio.gather(*(ask(each) for each in about[first : first + _AT_ONCE]))
    return found
