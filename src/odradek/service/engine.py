"""At least once: messages run side by side, and an offset is committed when all below it are finished.

The loop polls, whatever runs: what a poll brings is handed to the runner, and partitions of which enough is in hand are
paused. A message is finished when its handler has succeeded and its outputs are written, or when its retry or its dead
letter is. Offsets are committed once in a while, before partitions are given up, and at the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from odradek.client.group.listener import RebalanceListener
from odradek.client.types import TopicPartition
from odradek.common.dead_letter_headers import TRACE
from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.common.printable import printable
from odradek.protocol.error_codes import ErrorCode
from odradek.service.counters import Figures
from odradek.service.handling import Handling, Outcome
from odradek.service.message_intake import Intake, Job, Phase, Work
from odradek.service.ports import Outgoing, Sink, Source, post
from odradek.service.runner import Runner

logger = logging.getLogger("odradek.service")

#: A stop, a resume and a message that is due are noticed within this.
POLL_TIMEOUT_MS = 100

#: Nothing is polled, and a stop not noticed, while offsets are committed: a commit that takes longer is made again.
_COMMIT_TIMEOUT_MS = 10_000
#: The last commit, before the group is left, is tried for so long: what it does not commit is read again.
_LAST_COMMIT_TIMEOUT_MS = 5_000

#: Between two attempts to write a retry or a dead letter, which is tried until it succeeds.
_WRITE_AGAIN_S = 1.0

TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class Engine(RebalanceListener):
    """Also the listener of rebalances."""

    def __init__(
        self,
        source: Source,
        sink: Sink,
        intake: Intake,
        handling: Handling,
        figures: Figures,
        clock: Clock,
        *,
        commit_interval_ms: int,
        drain_limit_s: float,
    ) -> None:
        self._source = source
        self._sink = sink
        self._intake = intake
        self._handling = handling
        self._figures = figures
        self._clock = clock
        self._commit_interval_ms = commit_interval_ms
        self._drain_limit_s = drain_limit_s
        self._runner = Runner(self._work, self._broken)
        self._failure: BaseException | None = None
        self._stopping = False
        self._has_ended = False
        self.last_poll_ms = clock.monotonic_ms()

    @property
    def running(self) -> int:
        return self._runner.running

    def stop(self) -> None:
        """`run` ends once what was begun has ended, and what lies below it."""
        self._stopping = True
        self._close(self._intake.works.values())

    async def run(self) -> None:
        """Until `stop`. Raises what makes it pointless to go on."""
        commit_at_ms = self._clock.monotonic_ms() + self._commit_interval_ms
        try:
            while not self._stopping and self._failure is None:
                for job in await self._intake.poll(POLL_TIMEOUT_MS):
                    self._runner.add(job)
                self.last_poll_ms = self._clock.monotonic_ms()
                if self.last_poll_ms >= commit_at_ms:
                    await self._commit(self._intake.works.values(), _COMMIT_TIMEOUT_MS)
                    commit_at_ms = self._clock.monotonic_ms() + self._commit_interval_ms
        finally:
            await self._drain(list(self._intake.works.values()))
            self._has_ended = True
        if self._failure is not None:
            raise self._failure

    # Rebalances

    async def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self._intake.assigned(partitions)

    async def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        works = self._intake.works_of(partitions)
        if not self._has_ended:  # or the group is left, and all was done and committed, or tried to, before
            await self._drain(works)
        self._intake.give_up(works)

    async def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        """Somebody else may have them already: what runs is not worth finishing, and nothing may be committed."""
        works = self._intake.works_of(partitions)
        self._intake.give_up(works)
        await self._runner.ended(works, 0)

    async def _drain(self, works: Sequence[Work]) -> None:
        self._close(works)
        late = await self._runner.ended(works, self._drain_limit_s)
        if late:
            logger.warning("%d messages were not done in %s s; they will be read again", late, self._drain_limit_s)
        await self._commit(works, _LAST_COMMIT_TIMEOUT_MS if self._stopping else None)

    def _close(self, works: Iterable[Work]) -> None:
        for work in works:
            work.phase = Phase.CLOSING

    async def _commit(self, works: Iterable[Work], timeout_ms: float | None = None) -> None:
        """A commit that fails is made again the next time; at the end it means that messages are read again."""
        offsets = self._intake.to_commit(works)
        if not offsets:
            return
        try:
            await self._source.commit(offsets, timeout_ms)
        except ApiError as error:
            self._figures.failed_commits += 1
            logger.warning("offsets were not committed: %s", printable(str(error)))
            return
        self._figures.commits += 1
        self._intake.committed(offsets)

    # One message

    async def _work(self, job: Job) -> None:
        message = job.message
        outcome = await self._handling.handle(message, self._deliver)
        await self._write_surely(outcome)
        await self._handling.mark_done(outcome.done_key)
        job.work.progress.finish(job.offset)
        self._figures.of(message.handler.topic).end(outcome.ending)

    async def _deliver(self, messages: Sequence[Outgoing]) -> None:
        """All are under way before any is waited for."""
        for delivery in [await post(self._sink, message) for message in messages]:
            await delivery

    async def _write_surely(self, outcome: Outcome) -> None:
        """Retry until the message is written: one that is neither handled nor written must not be passed over."""
        message = outcome.to_write
        while message is not None:
            try:
                await self._deliver([message])
                return
            except ApiError as error:
                if error.code in TOO_LARGE:
                    message = smaller(message)
                    continue
                logger.warning(
                    "%s cannot be written now, again in %.0f s: %s",
                    message.topic,
                    _WRITE_AGAIN_S,
                    printable(str(error)),
                )
            await asyncio.sleep(_WRITE_AGAIN_S)

    def _broken(self, error: BaseException) -> None:
        """Nothing that a message can cause: a store of what is done that fails, or a mistake of ours."""
        self._failure = self._failure or error


def smaller(message: Outgoing) -> Outgoing | None:
    """Remove the trace, then the value, from a message that the added headers made too large: the headers name its
    position. None if nothing is left to leave out."""
    if any(key == TRACE and value for key, value in message.headers):
        headers = [(key, b"" if key == TRACE else value) for key, value in message.headers]
        return replace(message, headers=headers)
    if message.value:
        logger.error("%s: too large for this topic; written without its value", message.topic)
        return replace(message, value=None)
    logger.error("%s: too large for this topic, even without its value; dropped", message.topic)
    return None
