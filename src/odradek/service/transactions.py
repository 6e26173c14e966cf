"""Exactly once: consume, transform, produce, with outputs and offsets in one transaction.

Messages are read in batches. Handlers of a batch run side by side as their orders allow; what they want to be sent,
with retries and dead letters, is kept until all have ended, and is written in one transaction with the offsets. So the
effects of a batch, as far as they are in the cluster, happen together or not at all; a handler itself may run again.

A batch whose transaction cannot be committed is aborted. Is one of its outputs at fault (too large, to a topic that
does not exist), then each message has a transaction of its own, and the one that cannot be written goes the way of a
failed message. For every other reason, such as a rebalance, the consumer goes back to where the last transaction ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from odradek.client.group.listener import RebalanceListener
from odradek.client.types import TopicPartition
from odradek.common.dead_letter_headers import Reason
from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.common.printable import printable
from odradek.protocol.error_codes import ErrorCode
from odradek.service.attempts import failure_of
from odradek.service.counters import Ending, Figures
from odradek.service.engine import POLL_TIMEOUT_MS, TOO_LARGE, smaller
from odradek.service.handling import Handling, Outcome
from odradek.service.message_intake import Intake, Job, Phase, Work
from odradek.service.ports import Outgoing, Source, TransactionalSink, post
from odradek.service.runner import Runner

logger = logging.getLogger("odradek.service")

#: Before what was aborted is read again: what hinders it, an election or a rebalance, takes about as long.
_AGAIN_S = 0.5

#: Errors that the next try will meet as well, since they are about what is written.
_OF_OUTPUTS = (
    *TOO_LARGE,
    ErrorCode.INVALID_TOPIC_EXCEPTION,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.INVALID_CONFIG,
)


@dataclass(slots=True)
class _Handled:
    """A message whose handler has ended, with everything that is to be written for it."""

    job: Job
    outcome: Outcome
    outputs: list[Outgoing] = field(default_factory=list)


class TransactionalEngine(RebalanceListener):
    """Also the listener of rebalances; no transaction is open while they happen."""

    def __init__(
        self,
        source: Source,
        sink: TransactionalSink,
        intake: Intake,
        handling: Handling,
        figures: Figures,
        clock: Clock,
        *,
        batch_records: int,
        drain_limit_s: float,
    ) -> None:
        self._source = source
        self._sink = sink
        self._intake = intake
        self._handling = handling
        self._figures = figures
        self._clock = clock
        self._batch_records = batch_records
        self._drain_limit_s = drain_limit_s
        self._runner = Runner(self._work, self._broken)
        self._handled: dict[Job, _Handled] = {}
        self._failure: BaseException | None = None
        self._stopping = False
        self.last_poll_ms = clock.monotonic_ms()

    @property
    def running(self) -> int:
        return self._runner.running

    def stop(self) -> None:
        """Let running handlers finish within the limit, commit them, and end `run`."""
        self._stopping = True
        asyncio.get_running_loop().call_later(self._drain_limit_s, self._give_up)

    async def run(self) -> None:
        """Until `stop`. Raises what makes it pointless to go on, such as another producer in our place."""
        while not self._stopping:
            jobs = await self._intake.poll(POLL_TIMEOUT_MS, self._batch_records)
            self.last_poll_ms = self._clock.monotonic_ms()
            if jobs:
                await self._transact(jobs)
            if self._failure is not None:
                raise self._failure

    def _give_up(self) -> None:
        for work in self._intake.works.values():
            work.phase = Phase.CLOSED
        self._runner.cancel()

    # Rebalances

    async def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self._intake.assigned(partitions)

    async def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self._intake.give_up(self._intake.works_of(partitions))

    # A batch

    async def _transact(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._runner.add(job)
        await self._runner.all_ended()
        handled = self._below_gaps(jobs)
        self._handled.clear()
        if self._failure is not None or not handled:
            return
        error = await self._commit(handled)
        if error is None:
            return
        if error.code in _OF_OUTPUTS:
            logger.warning(
                "a transaction of %d messages was aborted, each has its own now: %s",
                len(handled),
                printable(str(error)),
            )
            for message in handled:
                error = await self._commit_alone(message)
                if error is not None:
                    break
        if error is not None:
            await self._go_back(error)

    def _below_gaps(self, jobs: Sequence[Job]) -> list[_Handled]:
        """Return the messages whose offsets can be committed. Messages above an abandoned one will be read again, so
        their outputs are not to be written now."""
        gaps: dict[Work, int] = {}
        for job in jobs:
            if job not in self._handled:
                gaps[job.work] = min(job.offset, gaps.get(job.work, job.offset))
        return [self._handled[job] for job in jobs if job.work not in gaps or job.offset < gaps[job.work]]

    async def _work(self, job: Job) -> None:
        outputs: list[Outgoing] = []

        async def keep(messages: Sequence[Outgoing]) -> None:
            outputs.extend(messages)

        outcome = await self._handling.handle(job.message, keep)
        self._handled[job] = _with_its_own(job, outcome, outputs)

    async def _commit(self, handled: Sequence[_Handled]) -> ApiError | None:
        """One transaction, or why there was none. Raises if it could not even be aborted."""
        offsets = self._intake.to_commit_with(handled_message.job for handled_message in handled)
        await self._sink.begin_transaction()
        try:
            for handled_message in handled:
                for message in handled_message.outputs:
                    await post(self._sink, message)
            await self._sink.send_offsets_to_transaction(offsets, self._source.group_metadata())
            await self._sink.commit_transaction()
        except Exception as error:  # noqa: BLE001 - what a handler wants to be sent may be anything
            self._figures.aborted_transactions += 1
            await self._sink.abort_transaction()
            return _root(error) if isinstance(error, ApiError) else ApiError(str(error), ErrorCode.INVALID_RECORD)
        self._figures.transactions += 1
        for handled_message in handled:
            handled_message.job.work.progress.finish(handled_message.job.offset)
            self._figures.of(handled_message.job.message.handler.topic).end(handled_message.outcome.ending)
        self._intake.committed(offsets)
        for handled_message in handled:
            await self._handling.mark_done(handled_message.outcome.done_key)
        return None

    async def _commit_alone(self, handled: _Handled) -> ApiError | None:
        """Commit one message. It counts as failed if its outputs cannot be written; a dead letter is made smaller."""
        while (error := await self._commit([handled])) is not None and error.code in _OF_OUTPUTS:
            if handled.outcome.ending in (Ending.HANDLED, Ending.SKIPPED):
                outcome = self._handling.after_failure(handled.job.message, failure_of(error, Reason.FAILED))
                handled = _with_its_own(handled.job, outcome, [])
            elif error.code in TOO_LARGE and handled.outputs:
                less = smaller(handled.outputs[0])
                handled = _Handled(handled.job, handled.outcome, [less] if less is not None else [])
            else:
                return error
        return error

    async def _go_back(self, error: ApiError) -> None:
        """To the lowest message of each partition that is not finished; all are read and handled again."""
        logger.warning("a transaction was aborted, its messages are read again: %s", printable(str(error)))
        for work in list(self._intake.works.values()):
            self._restart(work)
        await asyncio.sleep(_AGAIN_S)

    def _restart(self, work: Work) -> None:
        lowest = work.progress.lowest_unfinished
        if lowest is None:
            return
        self._intake.give_up([work])
        self._source.seek(work.partition, lowest)
        if work.is_paused:
            self._source.resume(work.partition)
        self._intake.assigned([work.partition])

    def _broken(self, error: BaseException) -> None:
        self._failure = self._failure or error


def _root(error: ApiError) -> ApiError:
    """A transaction says that it must be aborted, and the error before it says why."""
    while isinstance(error.__cause__, ApiError):
        error = error.__cause__
    return error


def _with_its_own(job: Job, outcome: Outcome, outputs: Sequence[Outgoing]) -> _Handled:
    """Outputs of a message that has failed are not written; its retry or dead letter is."""
    if outcome.ending is Ending.HANDLED:
        return _Handled(job, outcome, list(outputs))
    return _Handled(job, outcome, [outcome.to_write] if outcome.to_write is not None else [])
