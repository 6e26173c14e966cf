"""One event loop in a thread of its own, for all blocking clients of the process.

`call` runs a coroutine there and waits for it. While it waits, its thread does what the coroutine asks it to do
(`in_caller`): callbacks of rebalances belong to the thread that polls, and may call the client again.

The thread is a daemon, so that a program can end; before it does, clients that are open are closed. A child that was
forked has no such thread: its clients are made anew, and those of its parent say so.
"""

import asyncio
import atexit
import inspect
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from odradek.client.async_context import EXIT_TIMEOUT_MS
from odradek.common.event_loop import new_event_loop
from odradek.common.failures import ApiError, InputError

_Value = TypeVar("_Value")


class _Job:
    """Something that the waiting thread is to do; the coroutine waits for what comes of it."""

    def __init__(self, do: Callable[[], Any]) -> None:
        self.do = do
        self.loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Any] = self.loop.create_future()

    def run(self) -> None:
        try:
            value = self.do()
        except BaseException as error:
            self.loop.call_soon_threadsafe(self._fail, error)
            if not isinstance(error, Exception):
                raise
        else:
            self.loop.call_soon_threadsafe(self._succeed, value)

    def _succeed(self, value: Any) -> None:
        if not self.outcome.done():
            self.outcome.set_result(value)

    def _fail(self, error: BaseException) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())


_Inbox = SimpleQueue[_Job | None]

#: Of the call that a task belongs to.
_inbox: ContextVar[_Inbox | None] = ContextVar("inbox", default=None)


class Closable(Protocol):
    def close_at_exit(self) -> None: ...


class LoopThread:
    def __init__(self) -> None:
        self.loop = new_event_loop()
        self.is_orphaned = False
        #: Closed when the interpreter ends. Those that the program has forgotten, too: they may have records to send.
        self.open: set[Closable] = set()
        self._thread = threading.Thread(target=self._run, name="odradek-clients", daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, _Value]) -> _Value:
        """Its outcome. A thread that is interrupted while it waits (Ctrl-C) takes the coroutine with it."""
        try:
            self.check_usable()
        except InputError:
            coroutine.close()
            raise
        inbox: _Inbox = SimpleQueue()
        context = copy_context()
        context.run(_inbox.set, inbox)
        tasks: list[asyncio.Task[_Value]] = []

        def start() -> None:
            task = self.loop.create_task(coroutine, context=context)
            tasks.append(task)
            task.add_done_callback(lambda finished_task: inbox.put(None))

        self.loop.call_soon_threadsafe(start)
        try:
            while (job := inbox.get()) is not None:
                job.run()
        except BaseException:
            self.loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            raise
        return tasks[0].result()

    def do(self, function: Callable[[], _Value]) -> _Value:
        """Something short that must be done in the loop's thread, where its state is."""

        async def run() -> _Value:
            return function()

        return self.call(run())

    def check_usable(self) -> None:
        if self.is_orphaned:
            raise InputError("the client belongs to the parent process; make another one after the fork")
        if threading.current_thread() is self._thread:
            raise InputError(
                "a callback must not wait for its own client; pass the work to another thread, or use asyncio"
            )

    def close(self) -> None:
        """At the end of the interpreter."""
        for client in list(self.open):
            # The last one: by now the interpreter starts no threads any more, not even to look up a host.
            with suppress(ApiError, InputError, TimeoutError, RuntimeError):
                client.close_at_exit()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(EXIT_TIMEOUT_MS / 1000)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()


async def in_caller(do: Callable[[], Any]) -> Any:
    """Has the thread that waits for this task's call do something; what that gives is awaited if it can be."""
    inbox = _inbox.get()
    if inbox is None:  # a task of the client's own: nobody waits for it
        value = await asyncio.get_running_loop().run_in_executor(None, do)
    else:
        job = _Job(do)
        inbox.put(job)
        value = await job.outcome
    return await value if inspect.isawaitable(value) else value


_shared: LoopThread | None = None
_lock = threading.Lock()


def shared_loop() -> LoopThread:
    """The one of this process; made at the first call."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = LoopThread()
            atexit.register(_shared.close)
        return _shared


def _orphan() -> None:
    global _shared, _lock
    _lock = threading.Lock()
    if _shared is not None:
        _shared.is_orphaned = True
        atexit.unregister(_shared.close)
        _shared = None


os.register_at_fork(after_in_child=_orphan)
