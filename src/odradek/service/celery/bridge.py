"""Messages as Celery tasks: each is sent as a task, and its offset is committed once the task has ended.

    bridge = CeleryBridge(celery, "orders-to-celery", bootstrap_servers="localhost:9092")
    bridge.forward("orders", "shop.handle_order", in_flight=200, order="key")

`odradek service run shop:bridge` runs it. It is a service whose handlers wait for Celery: drain, rebalances, order by
key, dead letters, health and metrics are the service's. What differs:

* A task's id is the place of its message, so that a bridge that starts anew finds in the result backend what was done,
  and does not send it again. Celery must keep results (a backend, no `ignore_result`), for longer than it takes to
  start the bridge again.
* Retries are Celery's (`autoretry_for`, `retry`). A task that fails in the end goes to the dead letters, with its
  exception and trace.
* A task that nobody has news of for `resend_after_s` is sent again: its worker has died. It must be longer than a task
  may wait in the queue or for its retry (Celery's default is three minutes), and run; or it runs twice, which it may do
  anyway, as Celery's tasks always may. One that was sent `sends_max` times without a result goes to the dead letters.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from odradek.common.dead_letter_headers import Reason
from odradek.common.failures import InputError
from odradek.common.ports import Clock
from odradek.common.printable import printable
from odradek.common.system_clock import SystemClock
from odradek.service.application import Service
from odradek.service.attempts import Failed
from odradek.service.celery.tracking import PENDING, Step, Tracking
from odradek.service.codecs import Codec
from odradek.service.context import Context
from odradek.service.handlers import Order
from odradek.service.origin import Failure
from odradek.service.retries import NO_RETRIES
from odradek.service.threads import Threads

logger = logging.getLogger("odradek.service")

#: A task that ends its worker each time would otherwise be sent for ever.
_SENDS_MAX = 5

#: After Celery's broker or result backend could not be reached.
_AGAIN_MS = 1_000

#: Message and context -> the task's positional and keyword arguments.
Arguments = Callable[[Any, Context], tuple[Sequence[Any], Mapping[str, Any]]]


def _message_alone(message: Any, context: Context) -> tuple[Sequence[Any], Mapping[str, Any]]:
    return (message,), {}


class CeleryBridge(Service):
    def __init__(self, celery: Any, name: str, *, sends_max: int = _SENDS_MAX, **options: Any) -> None:
        """`celery` is the Celery application; `options` are those of `Service`, but for exactly_once."""
        if not hasattr(celery, "send_task"):
            raise InputError(f"CeleryBridge takes a celery.Celery, not a {type(celery).__name__}.")
        if type(celery.backend).__name__ == "DisabledBackend":
            raise InputError("CeleryBridge needs results of tasks: Celery(..., backend='redis://…') or another one.")
        if options.get("exactly_once"):
            raise InputError("exactly_once is not possible through Celery: a task may always run twice.")
        super().__init__(name, **options)
        self._waiter = _Waiter(celery, sends_max, SystemClock())

    def forward(
        self,
        topic: str,
        task: Any,
        *,
        message: Any = dict,
        codec: Codec | None = None,
        arguments: Arguments = _message_alone,
        in_flight: int = 100,
        order: Order | str = Order.NONE,
        resend_after_s: float = 300,
        dead_letters: bool = True,
        send_options: Mapping[str, Any] | None = None,
    ) -> None:
        """`task` is its name, or the task itself. `in_flight` tasks are sent at most before one has ended, and with
        order "key" one for each key. `send_options` go to Celery's `send_task`: queue, priority, …"""
        task_name = task if isinstance(task, str) else task.name

        async def wait_for_celery(value: Any, context: Context) -> None:
            args, kwargs = arguments(value, context)
            sending = _Sending(
                self._task_id(context), task_name, args, kwargs, int(resend_after_s * 1000), dict(send_options or {})
            )
            await self._waiter.ended(sending)

        wait_for_celery.__qualname__ = f"Celery {task_name}"
        self.handler(
            topic,
            message=message,
            codec=codec,
            retries=NO_RETRIES,
            dead_letters=dead_letters,
            concurrency=in_flight,
            order=order,
        )(wait_for_celery)

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            self._waiter.close()

    def _task_id(self, context: Context) -> str:
        """Return an id that includes the time: a recreated topic has other messages at the same offsets."""
        return f"{self.group_id}-{context.origin.name}-{context.origin.timestamp_ms}"


@dataclass(frozen=True, slots=True)
class _Sending:
    task_id: str
    task: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    resend_after_ms: int
    options: dict[str, Any] = field(default_factory=dict)


class _Waiter:
    """Sends tasks and looks for their results, all from one thread: Celery's calls block."""

    def __init__(self, celery: Any, sends_max: int, clock: Clock) -> None:
        self._celery = celery
        self._sends_max = sends_max
        self._clock = clock
        self._tracking = Tracking(sends_max)
        self._threads = Threads()
        self._waiting: dict[str, tuple[_Sending, asyncio.Future[Mapping[str, Any]]]] = {}
        self._loop: asyncio.Task[None] | None = None
        self._added = asyncio.Event()

    async def ended(self, sending: _Sending) -> None:
        """Returns when the task has succeeded. Raises Failed."""
        future: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[sending.task_id] = sending, future
        self._tracking.begin(sending.task_id, sending.resend_after_ms, self._clock.monotonic_ms())
        self._added.set()
        if self._loop is None or self._loop.done():
            self._loop = asyncio.ensure_future(self._serve())
            self._loop.add_done_callback(self._served)
        try:
            meta = await future
        finally:
            self._waiting.pop(sending.task_id, None)
            self._tracking.forget(sending.task_id)
        if meta["status"] != "SUCCESS":
            raise Failed(_failure(meta))

    def close(self) -> None:
        self._threads.close()

    async def _serve(self) -> None:
        """Serve as long as a caller waits."""
        while self._waiting:
            self._added.clear()
            due = self._tracking.to_look(self._clock.monotonic_ms())
            if due:
                await self._look(due)
            else:
                await self._until_next_look()

    def _served(self, task: asyncio.Task[None]) -> None:
        """An error of ours must not leave anybody waiting."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            for _, future in self._waiting.values():
                if not future.done():
                    future.set_exception(error)

    async def _until_next_look(self) -> None:
        next_ms = self._tracking.next_look_ms()
        if next_ms is None:
            return
        try:
            async with asyncio.timeout(max(0, next_ms - self._clock.monotonic_ms()) / 1000):
                await self._added.wait()
        except TimeoutError:
            pass

    async def _look(self, task_ids: list[str]) -> None:
        metas = await self._threads.run(self._metas_of, task_ids)
        now_ms = self._clock.monotonic_ms()
        self._tracking.later((task_id for task_id in task_ids if task_id not in metas), now_ms + _AGAIN_MS)
        to_send: list[_Sending] = []
        for task_id, meta in metas.items():
            step = self._tracking.seen(task_id, meta["status"], now_ms)
            if step is Step.READY:
                self._settle(task_id, meta)
            elif step is Step.GIVE_UP:
                self._settle(task_id, {"status": _LOST, "result": f"sent {self._sends_max} times, no result came"})
            elif step is Step.SEND and task_id in self._waiting:
                to_send.append(self._waiting[task_id][0])
        if to_send:
            await self._send(to_send)

    async def _send(self, sendings: list[_Sending]) -> None:
        sent, rejected = await self._threads.run(self._send_all, sendings)
        now_ms = self._clock.monotonic_ms()
        self._tracking.sent(sent, now_ms)
        self._tracking.later(
            (sending.task_id for sending in sendings if sending.task_id not in sent), now_ms + _AGAIN_MS
        )
        for task_id, error in rejected.items():
            self._settle(task_id, {"status": "FAILURE", "result": error})

    def _settle(self, task_id: str, meta: Mapping[str, Any]) -> None:
        waiting = self._waiting.get(task_id)
        if waiting is not None and not waiting[1].done():
            waiting[1].set_result(meta)

    # In the thread

    def _metas_of(self, task_ids: list[str]) -> dict[str, Mapping[str, Any]]:
        """Return the states of tasks in the result backend; tasks that it cannot report are left out."""
        metas: dict[str, Mapping[str, Any]] = {}
        for task_id in task_ids:
            try:
                metas[task_id] = self._celery.backend.get_task_meta(task_id, cache=False)
            except Exception as error:  # noqa: BLE001 - each backend has errors of its own
                if not _is_unreadable(error):
                    logger.warning("Celery's result backend does not answer: %s", printable(str(error)))
                    break
                metas[task_id] = {"status": PENDING}  # a worker died while it wrote: there is no result
        return metas

    def _send_all(self, sendings: list[_Sending]) -> tuple[list[str], dict[str, Exception]]:
        """Return the messages that were sent and those that never can be, for which the others do not wait."""
        sent: list[str] = []
        rejected: dict[str, Exception] = {}
        for sending in sendings:
            try:
                self._celery.send_task(
                    sending.task, sending.args, sending.kwargs, task_id=sending.task_id, **sending.options
                )
            except Exception as error:  # noqa: BLE001 - each broker has errors of its own
                if _is_unwritable(error):
                    rejected[sending.task_id] = error
                    continue
                logger.warning("Celery's broker takes no task: %s", printable(str(error)))
                break
            sent.append(sending.task_id)
        return sent, rejected


def _is_unreadable(error: Exception) -> bool:
    """There is a result, and it is none. Told by its name: kombu is not imported for that."""
    return isinstance(error, ValueError | EOFError) or type(error).__name__ in ("DecodeError", "ContentDisallowed")


def _is_unwritable(error: Exception) -> bool:
    """Arguments that the task's serializer does not take."""
    return isinstance(error, ValueError | TypeError) or type(error).__name__ in ("EncodeError", "PicklingError")


_LOST = "LOST"


def _failure(meta: Mapping[str, Any]) -> Failure:
    error = meta.get("result")
    if meta["status"] == _LOST:
        return Failure(Reason.TIME_LIMIT, "TimeoutError", str(error))
    kind = type(error)
    name = f"{kind.__module__}.{kind.__qualname__}" if isinstance(error, BaseException) else str(meta["status"])
    return Failure(Reason.FAILED, name.removeprefix("builtins."), str(error), str(meta.get("traceback") or ""))
