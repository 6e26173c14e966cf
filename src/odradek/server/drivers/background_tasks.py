"""Tasks that nobody awaits: a failure of one is fatal to the node, and closing cancels those that still run."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from odradek.server.drivers.fatal import FatalHandler


class BackgroundTasks:
    def __init__(self, fatal: FatalHandler) -> None:
        self._fatal = fatal
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Cancel what still runs, and wait until it has ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fatal(error)
