"""Plain functions as handlers: each call in a thread, outside the event loop.

A thread cannot be stopped. A call that is given up (its time limit is over, or the service ends) runs on to its end,
and nobody hears what comes of it; another thread takes its place, up to a limit. Threads are daemons, so that one that
hangs does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from odradek.errors import TooManyAbandoned

#: Calls that were given up and still run. With more, something hangs, and more threads would only hang as well.
ABANDONED_MAX = 64


class _Call:
    __slots__ = ("arguments", "function", "future", "is_given_up", "is_running")

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], future: asyncio.Future[Any]) -> None:
        self.function = function
        self.arguments = arguments
        self.future = future
        self.is_running = False
        self.is_given_up = False


class Threads:
    """For one event loop. There are as many threads as calls at once, and they are kept."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._active = 0
        self._abandoned = 0

    @property
    def abandoned(self) -> int:
        return self._abandoned

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the function returns, or raise what it raises. Cancelling abandons the call."""
        if self._abandoned >= ABANDONED_MAX:
            raise TooManyAbandoned(f"{self._abandoned} calls that were given up still run; no more are begun.")
        call = _Call(function, arguments, asyncio.get_running_loop().create_future())
        self._begin(call)
        try:
            return await call.future
        except asyncio.CancelledError:
            self._give_up(call)
            raise
        finally:
            self._active -= 1

    def close(self) -> None:
        for _ in range(self._threads):
            self._calls.put(None)

    def _begin(self, call: _Call) -> None:
        self._active += 1
        if self._active + self._abandoned > self._threads:
            self._threads += 1
            threading.Thread(target=self._serve, name=f"handler-{self._threads}", daemon=True).start()
        self._calls.put(call)

    def _give_up(self, call: _Call) -> None:
        with self._lock:
            call.is_given_up = True
            if call.is_running:
                self._abandoned += 1

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            with self._lock:
                call.is_running = not call.is_given_up
            if call.is_running:
                self._run(call)

    def _run(self, call: _Call) -> None:
        outcome: Any = None
        failure: BaseException | None = None
        try:
            outcome = call.function(*call.arguments)
        except BaseException as error:  # noqa: BLE001 - the caller gets whatever it is
            failure = error
        with self._lock:
            call.is_running = False
            if call.is_given_up:
                self._abandoned -= 1
                return
        with suppress(RuntimeError):  # the loop may have ended meanwhile, and with it whoever waited
            call.future.get_loop().call_soon_threadsafe(_settle, call.future, outcome, failure)


def _settle(future: asyncio.Future[Any], outcome: Any, failure: BaseException | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(outcome)
    elif isinstance(failure, StopIteration):  # a future cannot carry it
        future.set_exception(RuntimeError("the handler raised StopIteration"))
    else:
        future.set_exception(failure)
