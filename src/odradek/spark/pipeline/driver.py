"""Spark's driver: a process that does what it is told on standard input, and tells what happens on standard output.

The first line is the `Job`. Then a line `update N` asks for an update, `update N first` for one that begins anew what
the job says, `live` or `live first` for live mode, and `stop` for the end: an update that runs is given a moment to end
by itself, queries of live mode are stopped. When standard input ends, the process that started the driver is gone, and
the driver ends at once. Whatever else is printed here, by Spark or a definition, goes to standard error, the log.
"""

import json
import os
import queue
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from odradek.common.printable import traceback_lines
from odradek.spark.pipeline import events
from odradek.spark.pipeline.causes import cause_of, may_pass, text_of
from odradek.spark.pipeline.definitions import read_definitions, uses_of
from odradek.spark.pipeline.live.checked import CheckedDefinitions
from odradek.spark.pipeline.live.engine import BatchDone, FlowFailed, Idle, Stop, Terminated
from odradek.spark.pipeline.live.restarts import Restarts
from odradek.spark.pipeline.live.run import LiveRun, Unsupported
from odradek.spark.pipeline.live.triggers import Triggers
from odradek.spark.pipeline.project import Project, read_project
from odradek.spark.pipeline.session import SparkConnection, SparkTarget, is_reachable, open_session, runtime_settings
from odradek.spark.pipeline.streams import listener
from odradek.spark.pipeline.topics import Lags
from odradek.spark.pipeline.warm_up import warm_up
from odradek.spark.source.offset_limits import Offsets

#: An update that runs when the end is asked for may go on for so long; what it had begun is done again next time.
_GRACE_S = 10.0

#: Exit status.
JVM_GONE = 3
SERVER_GONE = 4
EXECUTORS_GONE = 5

#: How often the Spark Connect server is asked whether it is there; one that does not answer is asked again.
_ASK_EVERY_S = 2.0
_ASK_AGAIN_S = 0.5
_ASK_TIMES = 3

#: A cluster replaces executors within seconds, but a Master that was started again and knows nothing of us never does.
NO_EXECUTORS_S = 60.0

#: For a server to end the session of a driver that nobody needs any more.
_RELEASE_TIMEOUT_S = 5.0

#: Removing the listener of queries takes milliseconds, or deadlocks.
_LISTENER_TIMEOUT_S = 5.0

#: How Spark tells what becomes of a flow: "Flow x is RUNNING.", "Flow 'x' has FAILED.\nError: …"
_FLOW = re.compile(r"Flow '?(?P<flow>[^']+?)'? (?:(?:is|has) )?(?P<state>[A-Z]{3,})\b")
#: Before any runs: "Failed to resolve flow: 'x'.\nError: …"
_UNRESOLVED = re.compile(r"Failed to resolve flow: '(?P<flow>[^']+)'")
_STATES = {
    "QUEUED": events.QUEUED,
    "PLANNING": events.STARTING,
    "STARTING": events.STARTING,
    "RUNNING": events.RUNNING,
    "COMPLETED": events.COMPLETED,
    "IDLE": events.COMPLETED,
    "FAILED": events.FAILED,
    "SKIPPED": events.SKIPPED,
    "EXCLUDED": events.SKIPPED,
    "STOPPED": events.STOPPED,
}


@dataclass(frozen=True, slots=True)
class Job:
    spec: str
    attempt: int
    master: str | None = None
    remote: str | None = None
    #: Of Spark; they count more than what the project says.
    settings: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False
    refresh: tuple[str, ...] = ()
    full_refresh: tuple[str, ...] = ()
    full_refresh_all: bool = False
    #: Let Spark analyse the graph, and run nothing.
    dry: bool = False
    #: Of live mode: the trigger interval of flows that have none of their own, and failures of a flow in a row.
    trigger_ms: int | None = None
    retries: int = 0
    kept_fd: int | None = None
    #: The driver of somebody else still runs: get ready, and wait.
    is_standby: bool = False

    @property
    def target(self) -> SparkTarget:
        return SparkTarget(self.master, self.remote, self.verbose, self.kept_fd, opens_catalog=not self.is_standby)


class EventWriter:
    """Events on their way out, from any thread."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, event: events.Event) -> None:
        with self._lock:
            self._stream.write(events.to_line(event) + "\n")
            self._stream.flush()


class Driver:
    def __init__(self, job: Job, writer: EventWriter) -> None:
        self._job = job
        self._writer = writer
        self._project: Project = read_project(job.spec).with_settings(job.settings)
        self._spark: SparkConnection = open_session(self._project, job.target)
        self._update = 0
        #: Flows of the update that failed, with what Spark says of them.
        self._failed: dict[str, str] = {}
        self.is_stopping = False
        self._is_released = False
        self._live_run: LiveRun | None = None
        self._is_idle = threading.Event()
        self._is_idle.set()
        session = self._spark.session
        self._settings = runtime_settings(session, self._project)
        self._lags = Lags(uses_of(read_definitions(self._project)))
        self._listener = listener(self)
        session.streams.addListener(self._listener)
        if job.is_standby:
            self._warm_up()
        self._writer.write(
            events.Session(
                time_ms=_now_ms(),
                attempt=job.attempt,
                driver_pid=os.getpid(),
                jvm_pid=None if self._spark.jvm is None else self._spark.jvm.pid,
                spark=session.version,
            )
        )

    def _warm_up(self) -> None:
        """Run a query that loads and compiles what flows need; without it the first batches take twice as long."""
        try:
            warm_up(self._spark.session)
        except Exception as error:  # noqa: BLE001 - it is of no use to anybody but this driver
            _log("\n".join(["the standby could not warm up:", *traceback_lines(error)]))

    def watch_jvm(self) -> None:
        """Spark's client would go on asking one that is gone."""
        if self._spark.jvm is not None:
            self._spark.jvm.wait()
            if not self.is_stopping:
                _log("the JVM is gone")
                os._exit(JVM_GONE)

    def watch_server(self) -> None:
        """End with the server or the session: Spark's client would ask a server that is gone for ten minutes, and one
        that was started again does not know the session."""
        while True:
            time.sleep(_ASK_EVERY_S)
            reason = self._why_lost()
            if self.is_stopping and self._spark.jvm is not None:
                return  # the server is our own, and ends now
            if reason is not None:
                _log(reason)
                os._exit(SERVER_GONE)

    def _why_lost(self) -> str | None:
        for _ in range(_ASK_TIMES):
            if is_reachable(self._spark.url):
                break
            time.sleep(_ASK_AGAIN_S)
        else:
            return "the Spark Connect server is gone"
        try:
            self._spark.session.conf.get("spark.app.name", None)
        except Exception as error:  # noqa: BLE001 - whatever it is, the session is of no use any more
            return None if self.is_stopping else f"the session is lost: {text_of(error)}"
        return None

    def watch_executors(self) -> None:
        """End when a cluster has taken all executors away: it may give some to another application."""
        seen_s: float | None = None
        while not self.is_stopping and (count := self._spark.executors()) is not None:
            if count:
                seen_s = time.monotonic()
            elif seen_s is not None and time.monotonic() - seen_s > NO_EXECUTORS_S:
                _log("there are no executors any more")
                os._exit(EXECUTORS_GONE)
            time.sleep(_ASK_EVERY_S)

    def abandon(self) -> None:
        """End the session on a server of somebody else's, whose queries would go on without us."""
        if self._job.remote is not None:
            release = threading.Thread(target=self._spark.session.client.release_session, daemon=True)
            release.start()
            release.join(_RELEASE_TIMEOUT_S)

    def update(self, number: int, is_first: bool) -> None:
        """Run one update to its end, and report what goes wrong."""
        self._update = number
        self._failed.clear()
        self._is_idle.clear()
        began_s = time.monotonic()
        self._report_update(events.RUNNING)
        try:
            self._run(is_first)
        except Exception as error:  # noqa: BLE001 - a definition may raise anything, and so may Spark
            _log("\n".join([f"update {number} failed:", *traceback_lines(error)]))
            self._report_failure(began_s, error)
        else:
            self._report_update(events.COMPLETED, began_s)
        finally:
            self._is_idle.set()

    def live(self, is_first: bool) -> None:
        """Run live mode until it is stopped, or fails; what happens is told."""
        self._update = 0
        self._is_idle.clear()
        try:
            self._live_run = LiveRun(
                self._spark.session,
                self._spark.java(),
                self._project,
                Triggers(self._job.trigger_ms, self._project.configuration),
                Restarts(self._job.retries),
                CheckedDefinitions(self._project, self._job.attempt),
                is_remote=self._job.remote is not None,
            )
            if is_first and (self._job.refresh or self._job.full_refresh or self._job.full_refresh_all):
                self._run(is_first)
            self._report_live(events.STARTING)
            self._live_run.run(self._settings, self._report_of_flow, lambda: self._run(is_first=False))
        except Unsupported as reason:
            self._report_live(events.UNSUPPORTED, str(reason))
        except FlowFailed as failed:
            self._report_live(events.FAILED, f"flow {self.short(failed.flow)}: {cause_of(failed.error)}")
        except Exception as error:  # noqa: BLE001 - a definition may raise anything, and so may Spark
            if self.is_stopping:
                self._report_live(events.STOPPED)
                return
            _log("\n".join(["live mode failed:", *traceback_lines(error)]))
            text = text_of(error)
            location = _location(error, self._project.directory)
            self._report_live(events.FAILED, f"{location}{cause_of(text)}", passes=may_pass(text))
        else:
            self._report_live(events.STOPPED)
        finally:
            self._live_run = None
            self._is_idle.set()

    # What the streams tell

    def short(self, flow: str) -> str:
        """Return the name without the catalog and the database of the pipeline."""
        prefix = f"{self._project.catalog_name}.{self._project.database_name}."
        return flow.removeprefix(prefix)

    def lag_of(self, position: Offsets) -> int | None:
        return self._lags.of(position)

    def batch_done(self, event: events.Progress, query_name: str) -> None:
        self._writer.write(replace(event, update=self._update))
        live_run = self._live_run
        if live_run is not None:
            live_run.notify(BatchDone(query_name, event.rows_in, event.duration_ms))

    def query_idle(self, run_id: str) -> None:
        live_run = self._live_run
        if live_run is not None:
            live_run.notify(Idle(run_id))

    def query_ended(self, run_id: str, error: str | None) -> None:
        live_run = self._live_run
        if live_run is not None:
            live_run.notify(Terminated(run_id, error))

    # The end

    def stop_within_grace(self) -> None:
        """Returns when nothing runs any more."""
        self.is_stopping = True
        live_run = self._live_run
        if live_run is not None:
            live_run.notify(Stop())
        if not self._is_idle.wait(_GRACE_S):
            self._is_released = True
            self._spark.session.client.release_session()

    def close(self) -> bool:
        """Close the session. Return False if a thread of Spark's client is left that keeps the process."""
        is_removed = self._is_released or ends_within(
            _LISTENER_TIMEOUT_S, lambda: self._spark.session.streams.removeListener(self._listener)
        )
        self._spark.close()
        return is_removed

    # An update

    def _run(self, is_first: bool) -> None:
        from pyspark.pipelines.cli import load_pipeline_spec, register_definitions
        from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
        from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, start_run

        session, project, job = self._spark.session, self._project, self._job
        graph = create_dataflow_graph(session, project.catalog, project.database, self._settings)
        registry = SparkConnectGraphElementRegistry(session, graph)
        spec = load_pipeline_spec(project.spec_path)
        register_definitions(project.spec_path, registry, spec, session, graph)
        for response in start_run(
            session,
            graph,
            full_refresh=job.full_refresh if is_first else (),
            full_refresh_all=job.full_refresh_all and is_first,
            refresh=job.refresh,
            dry=job.dry,
            storage=project.storage,
        ):
            if "pipeline_event_result" in response:
                self._handle_pipeline_event(response["pipeline_event_result"].event.message)

    def _report_of_flow(self, event: events.Event) -> None:
        """The flow by the name that people know."""
        name: str = getattr(event, "flow", "")
        self._writer.write(replace(event, flow=self.short(name)) if name else event)  # type: ignore[call-arg]

    def _report_live(self, state: str, error: str | None = None, *, passes: bool = False) -> None:
        self._writer.write(events.Live(time_ms=_now_ms(), state=state, error=error, may_pass=passes))

    def _handle_pipeline_event(self, message: str) -> None:
        _log(message)
        named = flow_state(message)
        if named is None:
            return
        flow, state = self.short(named[0]), named[1]
        error = None
        if state == events.FAILED:
            reason = message.partition("Error: ")[2]
            error = cause_of(reason)
            self._failed.setdefault(flow, reason)
        self._writer.write(events.Flow(time_ms=_now_ms(), flow=flow, update=self._update, state=state, error=error))

    def _report_failure(self, began_s: float, error: Exception) -> None:
        if self.is_stopping:
            self._report_update(events.STOPPED, began_s)
            return
        text = text_of(error)
        location = _location(error, self._project.directory)
        if self._failed:  # what Spark says in the end is only that some flow failed
            flow, text = next(iter(self._failed.items()))
            location = f"flow {flow}: "
        self._report_update(events.FAILED, began_s, f"{location}{cause_of(text)}", passes=may_pass(text))

    def _report_update(
        self, state: str, began_s: float | None = None, error: str | None = None, *, passes: bool = False
    ) -> None:
        seconds = None if began_s is None else round(time.monotonic() - began_s, 3)
        self._writer.write(
            events.Update(
                time_ms=_now_ms(), update=self._update, state=state, seconds=seconds, error=error, may_pass=passes
            )
        )


def flow_state(message: str) -> tuple[str, str] | None:
    """The flow that an event of Spark's speaks of, and its state; None where it speaks of none."""
    unresolved = _UNRESOLVED.match(message)
    if unresolved is not None:
        return unresolved["flow"], events.FAILED
    named = _FLOW.match(message)
    return None if named is None or named["state"] not in _STATES else (named["flow"], _STATES[named["state"]])


def _location(error: Exception, directory: Path) -> str:
    """The line of a definition that raised it, if one did."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if directory in Path(frame.filename).parents:
            return f"{Path(frame.filename).relative_to(directory)}:{frame.lineno}: "
    return ""


def _log(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _serve(driver: Driver) -> None:
    """Updates run in this thread, for which the session is the active one; another hears that they are to stop."""
    commands: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(driver, commands), daemon=True).start()
    threading.Thread(target=driver.watch_jvm, daemon=True).start()
    threading.Thread(target=driver.watch_server, daemon=True).start()
    threading.Thread(target=driver.watch_executors, daemon=True).start()
    while (command := commands.get())[0] != "stop":
        if command[0] == "live":
            driver.live("first" in command)
        else:
            driver.update(int(command[1]), "first" in command)


def _listen(driver: Driver, commands: "queue.SimpleQueue[list[str]]") -> None:
    for line in sys.stdin:
        command = line.split()
        commands.put(command)
        if command[0] == "stop":
            driver.stop_within_grace()
    driver.abandon()
    os._exit(1)  # whoever started us is gone; the JVM goes with us


def ends_within(timeout_s: float, call: Callable[[], object]) -> bool:
    """Make a call that may never return, and return whether it has returned in time.

    Spark Connect's client waits, when the last listener is removed, for the thread that receives events, and holds the
    lock that this thread needs for an event that arrives meanwhile."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(timeout_s)
    return not thread.is_alive()


def main() -> int:
    writer = EventWriter(os.fdopen(os.dup(sys.stdout.fileno()), "w"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    job = Job(**json.loads(sys.stdin.readline()))
    os.chdir(Path(job.spec).parent)
    driver = Driver(job, writer)
    try:
        _serve(driver)
        is_closed = driver.close()
    except Exception:  # noqa: BLE001 - threads of Spark's client would keep the process
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    if not is_closed:
        sys.stderr.flush()
        os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
