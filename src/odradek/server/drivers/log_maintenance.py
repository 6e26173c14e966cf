"""Periodic maintenance of the logs, on the event loop and in worker threads.

Jobs that only decide and rename run on the loop. Those that wait for the disk are taken apart as
`log.manager.maintenance` says: what touches the logs runs on the loop, what syncs, cleans or removes runs in a worker.
One job at a time: they share the disks.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from odradek.common.failures import ApiError, Fault
from odradek.common.ports import Clock
from odradek.log.cleaner.cleaner import Cleaning, CleaningAborted, Step, Swap
from odradek.log.errors import StorageFault
from odradek.log.manager import maintenance
from odradek.log.manager.log_manager import LogManager
from odradek.log.manager.maintenance_schedule import Job

logger = logging.getLogger("odradek.log")

#: Nothing is due: look again after this, since jobs may come nearer by themselves.
_LOOK_AGAIN_MS = 1_000


class LogJobs:
    def __init__(self, logs: LogManager, clock: Clock) -> None:
        self._logs = logs
        self._clock = clock
        self._schedule = maintenance.make_schedule(logs, pause=lambda _: None)
        self._worker = ThreadPoolExecutor(1, "log-jobs")
        self._in_parts: dict[str, Callable[[], asyncio.Future[None] | object]] = {
            "kafka-log-flusher": lambda: self._flush(rolled_only=False),
            "flush-after-roll": lambda: self._flush(rolled_only=True),
            "kafka-delete-logs": self._remove,
            "kafka-log-cleaner": self._clean,
            "highwatermark-checkpoint": self._write_high_watermarks,
            "kafka-log-retention": self._retain,
        }

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                for job in self._schedule.due(self._clock.monotonic_ms()):
                    await self._run(job)
                await asyncio.sleep(self._delay_ms() / 1000)
        finally:
            self._worker.shutdown()

    def _delay_ms(self) -> int:
        due_ms = self._schedule.next_due_ms()
        if due_ms is None:
            return _LOOK_AGAIN_MS
        return max(1, min(_LOOK_AGAIN_MS, due_ms - self._clock.monotonic_ms()))

    async def _run(self, job: Job) -> None:
        in_parts = self._in_parts.get(job.name)
        if in_parts is None:
            job.run()
        else:
            await in_parts()  # type: ignore[misc]

    async def _beside(self, work: Callable[[], None]) -> StorageFault | None:
        """In the worker. A disk that fails takes its directory offline, not the node."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._worker, work)
        except StorageFault as fault:
            self._logs.fail_dir(fault)
            return fault
        return None

    async def _flush(self, *, rolled_only: bool) -> None:
        for log, plan in maintenance.flushes(self._logs, rolled_only=rolled_only):
            if await self._beside(plan.run) is None:
                self._logs.for_each((log,), lambda log, plan=plan: log.flusher.finish(plan))  # type: ignore[misc]

    async def _remove(self) -> None:
        for removal in maintenance.take_removals(self._logs):
            if removal.log_dir in self._logs.live:
                await self._beside(removal.run)

    async def _write_high_watermarks(self) -> None:
        for log_dir in list(self._logs.live):
            await self._beside(self._logs.plan_high_watermarks(log_dir))

    async def _retain(self) -> None:
        for logs in maintenance.retention_parts(self._logs):
            maintenance.delete_old(self._logs, logs)
            await asyncio.sleep(0)

    async def _clean(self) -> None:
        """Rounds until no log is worth one."""
        while (cleaning := maintenance.begin_round(self._logs)) is not None:
            error: Exception | None = None
            try:
                await self._clean_one(cleaning)
            except (ApiError, Fault, CleaningAborted) as caught:
                error = caught
            maintenance.finish_round(self._logs, cleaning, error)
        maintenance.run_retention_of_compacted(self._logs)
        # Another `log.cleaner.backoff.ms` may have been set meanwhile.
        due_ms = self._clock.monotonic_ms() + max(1, self._logs.cleaner.config.backoff_ms)
        self._schedule.reschedule("kafka-log-cleaner", due_ms)

    async def _clean_one(self, cleaning: Cleaning) -> None:
        steps = cleaning.steps()
        loop = asyncio.get_running_loop()

        def advance() -> Step | None:
            return next(steps, None)

        while (step := await loop.run_in_executor(self._worker, advance)) is not None:
            if isinstance(step, Swap):
                log = self._logs.current.get(cleaning.plan.topic_partition)
                if log is not None:
                    cleaning.swap(step, log)
            elif step.ms:
                await asyncio.sleep(step.ms / 1000)
