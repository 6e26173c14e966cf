"""Runs a pipeline: starts Spark's driver, asks it for updates, tries again what may pass, and stops cleanly.

States: no driver → a driver that starts → idle → an update runs → idle … A driver that is gone, for whatever reason, is
a failure that may pass: another one is started. Failures in a row are counted; an update that completes ends the row.

Everything arrives in one queue: what the driver tells, that it is gone, that a signal came. Time is looked at in one
place, where the queue is waited for.
"""

import math
import os
import queue
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from types import FrameType
from typing import IO

from odradek.common.failures import InputError
from odradek.spark.pipeline import events
from odradek.spark.pipeline.causes import cause_of, may_pass
from odradek.spark.pipeline.driver import EXECUTORS_GONE, JVM_GONE, NO_EXECUTORS_S, SERVER_GONE, Job
from odradek.spark.pipeline.driver_log import log_size, open_log, start_failure
from odradek.spark.pipeline.driver_process import DriverEvent, DriverExited, DriverProcess
from odradek.spark.pipeline.events import Event
from odradek.spark.pipeline.live.restarts import back_off_s
from odradek.spark.pipeline.lock import alone
from odradek.spark.pipeline.process_ids import end_process
from odradek.spark.pipeline.project import Project
from odradek.spark.pipeline.run_record import RunRecord
from odradek.spark.pipeline.session import is_reachable
from odradek.spark.pipeline.state import RunState, move_problem
from odradek.spark.pipeline.watch.sampler import DeadLetterSample, EndSample, Sampler

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_DRIVER = (sys.executable, "-m", "odradek.spark.pipeline.driver")

_EXITS = {
    JVM_GONE: "Spark's JVM is gone",
    SERVER_GONE: "the Spark Connect server does not answer any more, or has lost the session",
    EXECUTORS_GONE: f"the cluster has had no executors for the pipeline for {NO_EXECUTORS_S:.0f} s",
}

#: A driver that was told to stop ends an update, a session and a JVM; then it is killed.
_STOP_TIMEOUT_S = 90.0

#: After a standby was needed, or died, another one is started when the flows have caught up.
_STANDBY_AGAIN_S = 60.0

#: Between two updates of a pipeline that live mode cannot run, unless the command says otherwise.
_UPDATE_INTERVAL_MS = 5_000

#: How often a Spark Connect server that is gone is looked for, and how long by a single update.
_LOOK_FOR_SERVER_S = 1.0
_SERVER_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Plan:
    job: Job
    #: From update to update; None: one update, or live mode.
    trigger_s: float | None
    retries: int
    #: Before the first retry; doubled for each that follows.
    back_off_s: float = 1.0
    driver: tuple[str, ...] = _DRIVER
    #: Long-running queries in place of updates.
    is_live: bool = False
    #: In live mode, a second driver waits to take the place of one that dies.
    has_standby: bool = False


class _Signal:
    pass


class _Stopped(Exception):
    """A signal came."""


class Runner:
    """`show` is called with each event and what is known then."""

    def __init__(self, project: Project, plan: Plan, show: Callable[[RunState, Event], None]) -> None:
        self._project = project
        self._plan = plan
        self._inbox: queue.SimpleQueue[DriverEvent | DriverExited | _Signal | EndSample | DeadLetterSample] = (
            queue.SimpleQueue()
        )
        self._driver: DriverProcess | None = None
        #: A driver that waits to take the place of the one that runs.
        self._standby: DriverProcess | None = None
        #: The session of a standby, once it is up.
        self._standby_session: events.Session | None = None
        #: When the next standby is to be started, by the monotonic clock; None while none is wanted.
        self._standby_due_s: float | None = None
        self._log: IO[bytes] | None = None
        self._attempt = 0
        self._had_session = False
        self._failures = 0
        self._lock_fd = -1
        #: Where the log of the driver that was started last begins.
        self._log_start = 0
        self._record = RunRecord(project, show, is_written=not plan.job.dry)
        self._sampler = Sampler(project.with_settings(plan.job.settings), self._inbox.put)

    @property
    def state(self) -> RunState:
        return self._record.state

    def run(self) -> str:
        """completed, stopped or failed. In the main thread: signals are heard here. Raises InputError."""
        moved = None if self._plan.job.remote else move_problem(self._project)
        if moved is not None:
            raise InputError(moved)
        self._project.ours.mkdir(parents=True, exist_ok=True)
        with alone(self._project) as self._lock_fd:
            return self._run()

    def _run(self) -> str:
        began_s, job = time.monotonic(), self._plan.job
        self._record.resume(has_positions=not (job.full_refresh or job.full_refresh_all))
        self._report(
            events.Started(
                time_ms=_now_ms(),
                pipeline=self._project.name,
                project=str(self._project.directory),
                storage=self._project.storage,
                log=str(self._project.log),
                pid=os.getpid(),
                continuous=self._is_continuous,
            )
        )
        error = None
        sampling = nullcontext() if self._plan.job.dry else self._sampler
        with open_log(self._project) as self._log, self._signals(), sampling:
            try:
                error = self._live() if self._plan.is_live else self._updates(self._plan.trigger_s)
                ending = events.COMPLETED if error is None else events.FAILED
            except _Stopped:
                self._report(events.Stopping(time_ms=_now_ms()))
                ending = events.STOPPED
            finally:
                self._stop_standby()
                self._stop_driver()
        self._record.sample(_now_ms())
        self._report(
            events.Ended(
                time_ms=_now_ms(),
                state=ending,
                updates=self.state.updates_completed,
                rows_in=self.state.rows_in,
                rows_out=self.state.rows_out,
                seconds=round(time.monotonic() - began_s, 3),
                error=error,
            )
        )
        return ending

    @property
    def _is_continuous(self) -> bool:
        return self._plan.is_live or self._plan.trigger_s is not None

    # Live mode

    def _live(self) -> str | None:
        """Return why it cannot go on. Raises _Stopped."""
        while True:
            failure = self._live_session()
            if failure.state == events.UNSUPPORTED:
                return self._updates((self._plan.job.trigger_ms or _UPDATE_INTERVAL_MS) / 1000)
            if not self._is_worth_another(failure):
                return failure.error
            # Results are waited for: a driver that had worked and was killed is started again at once.
            is_at_once = isinstance(failure, events.Update) and self._failures == 1
            self._back_off(failure.error or "", wait_s=0.0 if is_at_once else None)

    def _live_session(self) -> events.Live | events.Update:
        """Run live mode in one driver, to its failure."""
        if self._driver is None:
            failure = self._start_driver(0)
            if failure is not None:
                return failure
        self._command("live first" if self._attempt == 1 else "live")
        while True:
            event = self._next(self._standby_wait_s())
            if isinstance(event, DriverExited):
                return self._driver_gone(0)
            if isinstance(event, events.Progress):
                self._failures = 0
            if isinstance(event, events.Live) and event.state in (events.FAILED, events.UNSUPPORTED):
                return event
            if isinstance(event, events.Live) and event.state == events.RUNNING and self._plan.has_standby:
                wait_s = 0.0 if self._attempt == 1 else _STANDBY_AGAIN_S
                self._standby_due_s = time.monotonic() + wait_s
            self._start_standby()

    # A driver in reserve

    def _standby_wait_s(self) -> float | None:
        return None if self._standby_due_s is None else max(0.0, self._standby_due_s - time.monotonic())

    def _start_standby(self) -> None:
        """Start one if it is time."""
        if self._standby is None and self._standby_wait_s() == 0.0:
            self._standby_due_s = None
            self._attempt += 1
            self._standby = self._spawn(is_standby=True)

    def _handle_standby(self, message: DriverEvent | DriverExited) -> None:
        if isinstance(message, DriverExited):
            message.driver.reap()
            self._standby, self._standby_session = None, None
            self._standby_due_s = time.monotonic() + _STANDBY_AGAIN_S
        elif isinstance(message.event, events.Session):
            self._standby_session = message.event
            self._report(events.Standby(time_ms=_now_ms(), driver_pid=message.driver.pid))

    def _promote_standby(self) -> bool:
        """Let a standby that is ready take the place of a driver that is gone; return whether there was one."""
        if self._standby is None or self._standby_session is None:
            self._stop_standby()
            return False
        if self.state.jvm_pid is not None:
            end_process(self.state.jvm_pid)  # it may outlive its driver for a moment, and holds the catalog
        session = replace(self._standby_session, time_ms=_now_ms())
        self._driver, self._standby, self._standby_session = self._standby, None, None
        self._report(session)
        return True

    def _stop_standby(self) -> None:
        if self._standby is not None:
            self._standby.kill()
            self._standby.reap()
        self._standby, self._standby_session, self._standby_due_s = None, None, None

    # Updates

    def _updates(self, trigger_s: float | None) -> str | None:
        """Until all is done, or why it cannot be. Raises _Stopped."""
        number = 0
        while True:
            number += 1
            began_s = time.monotonic()
            failure = self._update(number)
            if failure is None:
                self._failures = 0
                if trigger_s is None:
                    return None
                self._wait(began_s + trigger_s - time.monotonic())
            elif not self._is_worth_another(failure):
                return failure.error
            else:
                self._back_off(failure.error or "")

    def _update(self, number: int) -> events.Update | None:
        """The failure, or None."""
        if self._driver is None:
            failure = self._start_driver(number)
            if failure is not None:
                return failure
        is_first = self.state.updates_completed == 0
        self._command(f"update {number}{' first' if is_first else ''}")
        while True:
            event = self._next()
            if isinstance(event, DriverExited):
                return self._driver_gone(number)
            if isinstance(event, events.Update) and event.state != events.RUNNING:
                return None if event.state == events.COMPLETED else event

    def _is_worth_another(self, failure: events.Update | events.Live) -> bool:
        self._failures += 1
        return failure.may_pass and self._failures <= self._plan.retries

    def _back_off(self, cause: str, wait_s: float | None = None) -> None:
        if wait_s is None:
            wait_s = back_off_s(self._plan.back_off_s, self._failures)
        self._report(
            events.Retry(
                time_ms=_now_ms(), attempt=self._failures, retries=self._plan.retries, wait_s=wait_s, cause=cause
            )
        )
        self._wait(wait_s)

    def _wait(self, seconds: float) -> None:
        deadline_s = time.monotonic() + seconds
        while (left_s := deadline_s - time.monotonic()) > 0:
            if isinstance(self._next(left_s), DriverExited):
                self._reap()

    # The driver

    def _start_driver(self, number: int) -> events.Update | None:
        """Waits until Spark is up. The failure, or None."""
        if self._promote_standby():
            return None
        self._wait_for_server()
        self._attempt += 1
        self._log_start = log_size(self._log)
        self._driver = self._spawn()
        while True:
            event = self._next()
            if isinstance(event, DriverExited):
                return self._driver_gone(number)
            if isinstance(event, events.Session):
                self._had_session = True
                return None

    def _wait_for_server(self) -> None:
        """A Spark Connect server that was there before is waited for while it is started again, however often we may
        retry: by a continuous run until it is stopped."""
        remote = self._plan.job.remote
        if remote is None or not self._had_session:
            return
        deadline_s = math.inf if self._is_continuous else time.monotonic() + _SERVER_TIMEOUT_S
        while not is_reachable(remote) and time.monotonic() < deadline_s:
            self._wait(_LOOK_FOR_SERVER_S)

    def _spawn(self, *, is_standby: bool = False) -> DriverProcess:
        job = replace(self._plan.job, attempt=self._attempt, kept_fd=self._lock_fd, is_standby=is_standby)
        return DriverProcess(self._plan.driver, job, self._log, self._inbox.put)

    def _command(self, line: str) -> None:
        if self._driver is not None:
            self._driver.command(line)

    def _driver_gone(self, number: int) -> events.Update:
        status = self._reap()
        traceback_text = start_failure(self._project, self._log_start) if status == 1 else ""
        ended = _EXITS.get(status, f"Spark's driver ended with status {status}")
        cause = cause_of(traceback_text) if traceback_text else ended
        failure = events.Update(
            time_ms=_now_ms(),
            update=number,
            state=events.FAILED,
            error=cause,
            may_pass=not traceback_text or may_pass(traceback_text),
        )
        self._report(failure)
        return failure

    def _reap(self) -> int:
        driver, self._driver = self._driver, None
        return 0 if driver is None else driver.reap()

    def _stop_driver(self) -> None:
        """Whatever it does: asked, and killed if it does not end in time, or is only just starting. What it has started
        ends when it does."""
        driver = self._driver
        if driver is None:
            return
        driver.command("stop")
        if not driver.wait(_STOP_TIMEOUT_S if self.state.driver_pid == driver.pid else 0):
            driver.kill()
        self._drain(driver)
        self._reap()

    def _drain(self, driver: DriverProcess) -> None:
        """Report the events that the driver sent before it ended."""
        while (message := self._inbox.get()) != DriverExited(driver):
            if isinstance(message, DriverEvent) and message.driver is driver:
                self._report(message.event)

    # What happens

    def _next(self, timeout_s: float | None = None) -> Event | DriverExited | None:
        """The next thing, shown and remembered; None when there was none in time. Raises _Stopped."""
        try:
            message = self._inbox.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if isinstance(message, _Signal):
            raise _Stopped
        if isinstance(message, EndSample | DeadLetterSample):
            self._record.add_sample(message)
            self._sampler.watch(self._record.partitions)
            return None
        if message.driver is self._standby:
            self._handle_standby(message)
            return None
        if message.driver is not self._driver:
            return None
        if isinstance(message, DriverExited):
            return message
        self._report(message.event)
        return message.event

    def _report(self, event: Event) -> None:
        self._record.add(event)
        self._sampler.watch(self._record.partitions)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """The first asks for the end; the second does not wait for it."""

        def stop(number: int, frame: FrameType | None) -> None:
            for other in _SIGNALS:
                signal.signal(other, kill)
            self._inbox.put(_Signal())

        def kill(number: int, frame: FrameType | None) -> None:
            if self._driver is not None:
                self._driver.kill()

        handlers = {number: signal.signal(number, stop) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


def dry_run(project: Project, job: Job) -> str | None:
    """Lets Spark analyse the graph, once. What is wrong with it; None if nothing is."""
    runner = Runner(project, Plan(job, None, 0), lambda state, event: None)
    ending = runner.run()
    return None if ending == events.COMPLETED else runner.state.last_error or ending


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
