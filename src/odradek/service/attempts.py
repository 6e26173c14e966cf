"""One attempt at one message: decode, call the handler within its time limit, and say how it ended."""

from __future__ import annotations

import asyncio
import traceback

from odradek.common.dead_letter_headers import Reason
from odradek.service.codecs import Undecodable
from odradek.service.context import Context, Reject, Send
from odradek.service.handlers import Handler
from odradek.service.origin import Failure
from odradek.service.threads import Threads


class Failed(Exception):
    """Raised where the failure happened elsewhere, such as in a Celery worker: what is known of it comes along."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


async def attempt(handler: Handler, context: Context, threads: Threads) -> list[Send] | Failure:
    """Run the handler and return its outputs or its failure. Cancelling abandons the attempt."""
    try:
        message = handler.decode(context.record.value)
    except Exception as error:  # noqa: BLE001 - every codec has its own ways to say it
        return failure_of(error, Reason.UNDECODABLE)
    arguments = (message, context) if handler.takes_context else (message,)
    limit = asyncio.timeout(handler.time_limit_s)
    try:
        async with limit:
            if handler.is_async:
                returned = await handler.function(*arguments)
            else:
                returned = await threads.run(handler.function, *arguments)
        return context.take_sends(returned)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return failure_of(error, Reason.FAILED)  # nobody gives the message up: something that it waited for was
    except Failed as error:
        return error.failure
    except Reject as error:
        return failure_of(error, Reason.REJECTED)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a handler may raise anything
        if limit.expired() and isinstance(error, TimeoutError):
            return Failure(Reason.TIME_LIMIT, "TimeoutError", f"not done in {handler.time_limit_s} s")
        return failure_of(error, Reason.FAILED)


def failure_of(error: BaseException, reason: Reason) -> Failure:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    trace = "" if isinstance(error, Undecodable) else "".join(traceback.format_exception(error))
    return Failure(reason, name, str(error), trace)
