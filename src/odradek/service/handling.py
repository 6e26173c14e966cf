"""One message from beginning to end: skipped, handled, tried again, moved to a retry topic, dead.

Who calls it says how outputs are delivered. A delivery that fails is a failed attempt: what cannot be sent (too large,
to a topic that does not exist) is the message's fault, and its retries and dead letters are there for that. What
`Handling` itself wants to be written, retries and dead letters, comes back in the `Outcome`; whoever gets it must not
rest before it is written, and only then may the message be called finished.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.common.dead_letter_headers import Reason
from odradek.common.ports import Clock
from odradek.common.printable import printable
from odradek.service.attempts import attempt, failure_of
from odradek.service.codecs import encode_any
from odradek.service.context import Context, Send
from odradek.service.counters import Ending, Figures
from odradek.service.handlers import Handler
from odradek.service.origin import Failure, Origin, dead_headers, retry_headers
from odradek.service.ports import Outgoing
from odradek.service.processed_store import Done
from odradek.service.retries import AgainHere, AgainLater, Verdict, verdict
from odradek.service.threads import Threads

logger = logging.getLogger("odradek.service")

Deliver = Callable[[Sequence[Outgoing]], Awaitable[None]]

DoneKey = Callable[[Context], str]


class Names(Protocol):
    """Names of the topics beside a handler's own."""

    def retry_topic(self, topic: str, delay: str) -> str: ...

    def dead_topic(self, topic: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Message:
    record: ConsumerRecord
    handler: Handler
    #: 0 in the handler's topic, n in its n-th retry topic.
    stage: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class Outcome:
    ending: Ending
    #: A retry or a dead letter.
    to_write: Outgoing | None = None
    #: To be marked as done once everything is written.
    done_key: str | None = None


class Handling:
    def __init__(
        self,
        group_id: str,
        names: Names,
        figures: Figures,
        *,
        clock: Clock,
        randomness: Random,
        done: Done | None = None,
        done_key: DoneKey | None = None,
    ) -> None:
        self.threads = Threads()
        self._group_id = group_id
        self._names = names
        self._figures = figures
        self._clock = clock
        self._randomness = randomness
        self._done = done
        self._done_key = done_key

    async def handle(self, message: Message, deliver: Deliver) -> Outcome:
        """Until it is finished here. Cancelled, it has not happened, but for effects of the handler."""
        figures = self._figures.of(message.handler.topic)
        if message.origin.group not in (None, self._group_id):
            return Outcome(Ending.SKIPPED)
        here = 0
        while True:
            here += 1
            context = self._context(message, here)
            if await self.was_done(context.done_key):
                return Outcome(Ending.SKIPPED)
            failure = await self._attempt(message, context, deliver)
            if failure is None:
                return Outcome(Ending.HANDLED, done_key=None if context.is_marked else context.done_key)
            figures.failed_attempts += 1
            next_step = verdict(
                message.handler.retries, message.stage, here, is_final=failure.is_final, draw=self._randomness.random()
            )
            if not isinstance(next_step, AgainHere):
                return self._outcome(message, context, failure, next_step)
            logger.debug("%s: %s, again in %.0f ms", message.origin.name, _short(failure), next_step.delay_ms)
            figures.retries_in_place += 1
            await asyncio.sleep(next_step.delay_ms / 1000)

    def after_failure(self, message: Message, failure: Failure) -> Outcome:
        """Return the outcome of a handled message whose outputs cannot be written: it is not retried in place."""
        self._figures.of(message.handler.topic).failed_attempts += 1
        retries = message.handler.retries
        next_step = verdict(retries, message.stage, retries.in_place + 1, is_final=failure.is_final, draw=0)
        return self._outcome(message, self._context(message, 1), failure, next_step)

    async def was_done(self, key: str | None) -> bool:
        if self._done is None or key is None:
            return False
        seen = self._done.seen(key)
        return await seen if inspect.isawaitable(seen) else seen

    async def mark_done(self, key: str | None) -> None:
        if self._done is not None and key is not None:
            marked = self._done.mark(key)
            if inspect.isawaitable(marked):
                await marked

    def close(self) -> None:
        self.threads.close()

    def _context(self, message: Message, here: int) -> Context:
        origin = message.origin
        context = Context(message.record, origin, origin.attempts + here, self._done)
        if self._done is not None:
            context.done_key = self._key_of(context)
        return context

    def _key_of(self, context: Context) -> str:
        if self._done_key is None:
            return context.origin.name
        try:
            return self._done_key(context)
        except Exception:  # a function of the application; its handler will say more about such a message
            logger.exception("%s: done_key failed; the message goes by its place", context.origin.name)
            return context.origin.name

    async def _attempt(self, message: Message, context: Context, deliver: Deliver) -> Failure | None:
        begun_ms = self._clock.monotonic_ms()
        result = await attempt(message.handler, context, self.threads)
        self._figures.of(message.handler.topic).add_attempt((self._clock.monotonic_ms() - begun_ms) / 1000)
        if isinstance(result, Failure):
            return result
        try:
            if result:
                await deliver([encoded(send) for send in result])
        except Exception as error:  # noqa: BLE001 - codecs are the application's
            return failure_of(error, Reason.FAILED)
        return None

    def _outcome(self, message: Message, context: Context, failure: Failure, step: Verdict) -> Outcome:
        handler, origin = message.handler, message.origin
        if isinstance(step, AgainLater):
            topic = self._names.retry_topic(handler.topic, step.delay)
            logger.debug("%s: %s, again in %s by way of %s", origin.name, _short(failure), step.delay, topic)
            due_ms = self._clock.wall_ms() + step.delay_ms
            headers = retry_headers(origin, self._group_id, context.attempt, due_ms)
            return Outcome(Ending.MOVED, Outgoing(topic, message.record.value, message.record.key, headers))
        if not handler.dead_letters:
            logger.error("%s: %s, attempt %d; dropped", origin.name, _short(failure), context.attempt)
            return Outcome(Ending.DROPPED, done_key=context.done_key)
        topic = self._names.dead_topic(handler.topic)
        logger.warning("%s: %s, attempt %d; dead, in %s", origin.name, _short(failure), context.attempt, topic)
        headers = dead_headers(origin, self._group_id, context.attempt, failure)
        dead = Outgoing(topic, message.record.value, message.record.key, headers)
        return Outcome(Ending.DEAD, dead, done_key=context.done_key)


def encoded(send: Send) -> Outgoing:
    return Outgoing(
        send.topic, encode_any(send.value), encode_any(send.key), send.headers, send.partition, send.timestamp_ms
    )


def _short(failure: Failure) -> str:
    first_line = failure.message.partition("\n")[0][:200]
    return printable(f"{failure.reason.value}: {failure.exception}: {first_line}" if first_line else failure.exception)
