"""Copies replicas from one log directory to another while the broker serves.

The core (`replica.log_dir_moves`) copies a bounded piece in each step; between two steps all other tasks that are
ready run, and what must be synced is synced in a worker. While a replica waits for the controller's word, or the limit
is exceeded, it is looked at again after a moment: what is written to the current log meanwhile must get into the future
one too.
"""

import asyncio

from odradek.log.errors import StorageFault
from odradek.log.log_flusher import FlushPlan
from odradek.log.manager.log_manager import LogManager
from odradek.log.unified_log import UnifiedLog
from odradek.replica.log_dir_moves import LogDirMoves
from odradek.server.drivers.background_tasks import BackgroundTasks
from odradek.server.drivers.fatal import FatalHandler

#: How far behind the future log may fall while there is nothing else to do.
_LOOK_AGAIN_MS = 50


class DirMoveTask:
    def __init__(self, moves: LogDirMoves, logs: LogManager, fatal: FatalHandler) -> None:
        self._moves = moves
        self._logs = logs
        self._tasks = BackgroundTasks(fatal)
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        moves.on_ready(self.wake)

    def wake(self) -> None:
        """There is something to move. A broker that moves nothing has no task for it."""
        self._wake.set()
        if self._task is None:
            self._task = self._tasks.start(self._run())
            self._task.add_done_callback(self._ended)

    async def close(self) -> None:
        self._moves.on_ready(lambda: None)
        await self._tasks.close()

    async def _run(self) -> None:
        while self._moves.moves:
            self._wake.clear()
            flush = self._moves.next_flush()
            if flush is not None:
                await self._flush(*flush)
            elif self._moves.step().has_more:
                await asyncio.sleep(0)
            else:
                await self._until_woken()

    async def _until_woken(self) -> None:
        try:
            async with asyncio.timeout(_LOOK_AGAIN_MS / 1000):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _flush(self, log: UnifiedLog, plan: FlushPlan) -> None:
        """A disk that fails takes its directory offline, and the move with it."""
        try:
            await asyncio.to_thread(plan.run)
        except StorageFault as fault:
            self._logs.fail_dir(fault)
        else:
            self._logs.for_each((log,), lambda log: log.flusher.finish(plan))

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
