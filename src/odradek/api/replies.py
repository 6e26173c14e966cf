"""Waiting for the answer of a core."""

import asyncio
from typing import TypeVar

from odradek.coordinator.reply import Reply

Answer = TypeVar("Answer")


async def answer(reply: Reply[Answer]) -> Answer:
    """Raises the ApiError that it failed with."""
    if not reply.is_done:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        reply.then(lambda _: None if done.done() else done.set_result(None))
        await done
    return reply.answer()
