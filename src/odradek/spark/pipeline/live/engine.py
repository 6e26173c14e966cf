"""Runs a pipeline live: starts its queries, restarts those that fail, refreshes materialized views, until stopped.

One thread does all of it, in `run`; the threads of Spark's listener and of the one who stops it only put notices into
a queue. Micro-batches run in the JVM meanwhile, whatever this thread does.
"""

import queue
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from odradek.common.failures import InputError
from odradek.spark.pipeline import events
from odradek.spark.pipeline.causes import cause_of, text_of
from odradek.spark.pipeline.live.checked import CheckedDefinitions
from odradek.spark.pipeline.live.graph import Flow, Graph, Table, View
from odradek.spark.pipeline.live.names import quoted
from odradek.spark.pipeline.live.queries import Queries
from odradek.spark.pipeline.live.references import References, sources_first
from odradek.spark.pipeline.live.restarts import Restarts
from odradek.spark.pipeline.live.tables import Catalog
from odradek.spark.pipeline.live.triggers import LateTriggers, Triggers
from odradek.spark.pipeline.live.views import MaterializedViews, Outcome, TableVersions, explain_inputs

#: Notices of the listener can be lost with its connection: queries are looked at as well.
_LOOK_EVERY_S = 5.0

#: A flow that is idle is reported so often.
_IDLE_EVERY_S = 1.0

#: Of analysis: what is read is not there yet, perhaps because it is created a moment later.
_NOT_FOUND = "TABLE_OR_VIEW_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class BatchDone:
    flow: str
    rows_in: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Idle:
    run_id: str


@dataclass(frozen=True, slots=True)
class Terminated:
    run_id: str
    #: None for a query that was stopped.
    error: str | None


class Stop:
    pass


Notice = BatchDone | Idle | Terminated | Stop
Report = Callable[[events.Event], None]


class FlowFailed(Exception):
    """A flow failed for good: `error` is what Spark says of it."""

    def __init__(self, flow: str, error: str) -> None:
        super().__init__(f"flow {flow}: {cause_of(error)}")
        self.flow = flow
        self.error = error


class NeedsUpdate(Exception):
    """A table has to be changed as its definition was, which Spark's own engine does in an update."""


@dataclass(slots=True)
class _Running:
    query: Any
    run_id: str
    #: Materialized views that it reads as they were when it started.
    views: frozenset[str]
    #: When it was last reported to be idle, by the monotonic clock.
    idle_s: float = 0.0


class LiveEngine:
    def __init__(
        self,
        session: Any,
        graph: Graph,
        catalog: Catalog,
        queries: Queries,
        triggers: Triggers,
        restarts: Restarts,
        checked: CheckedDefinitions,
        report: Report,
    ) -> None:
        self._session = session
        self._graph = graph
        self._checked = checked
        self._catalog = catalog
        self._queries = queries
        self._triggers = triggers
        self._restarts = restarts
        self._report = report
        self._late = LateTriggers()
        self._versions = TableVersions()
        self._views = MaterializedViews(session, graph, catalog, self._versions)
        self._notices: queue.SimpleQueue[Notice] = queue.SimpleQueue()
        self._running: dict[str, _Running] = {}
        #: The DataFrames of flows and views as they were first built, for their first use.
        self._frames: dict[str, Any] = {}
        #: Tables that a flow may read.
        self._reads: dict[str, list[str]] = {}
        #: When a flow is started or a view is refreshed, by the monotonic clock.
        self._due_s: dict[str, float] = {}
        self._intervals_ms = {
            flow.name: triggers.interval_ms(flow.settings, is_streaming=graph.is_streaming(flow))
            for flow in graph.flows.values()
        }

    def notify(self, notice: Notice) -> None:
        """Accept a notice from any thread."""
        self._notices.put(notice)

    def run(self) -> None:
        """Return when it was stopped. Raises FlowFailed, NeedsUpdate, and what Spark says of a definition."""
        try:
            created = self._create_missing()
            self._collect_reads()
            looked_s = time.monotonic()
            self._due_s = {flow.name: looked_s for flow in self._start_order()}
            self._do_what_is_due()
            self._frames.clear()
            self._report(events.Live(time_ms=_now_ms(), state=events.RUNNING))
            self._schedule_views(created)
            while True:
                self._do_what_is_due()
                notice = self._next_notice()
                if isinstance(notice, Stop):
                    return
                if isinstance(notice, BatchDone):
                    self._handle_batch(notice)
                elif isinstance(notice, Idle):
                    self._handle_idle(notice)
                elif isinstance(notice, Terminated):
                    self._handle_end(notice)
                if time.monotonic() - looked_s > _LOOK_EVERY_S:
                    self._look_at_queries()
                    looked_s = time.monotonic()
        finally:
            self._stop_queries()

    # The tables and views that flows read

    def _create_missing(self) -> set[str]:
        """Create views, and tables that do not exist, each after those that it reads; return the created tables.

        What is not found yet is tried again after the others.
        """
        missing = {table.name for table in self._catalog.missing(self._graph.tables.values())}
        is_checked = self._checked.is_current and not missing
        tables = () if is_checked else self._graph.tables.values()
        pending: list[Callable[[], None]] = [
            *(partial(self._create_view, view) for view in self._graph.views.values()),
            *(partial(self._create_table, table, table.name in missing) for table in tables),
        ]
        while pending:
            not_found: list[Callable[[], None]] = []
            failure: Exception | None = None
            for create in pending:
                try:
                    create()
                except Exception as error:
                    if _NOT_FOUND not in str(error):
                        raise
                    failure = failure or error
                    not_found.append(create)
            if failure is not None and len(not_found) == len(pending):
                raise failure
            pending = not_found
        self._checked.remember()
        return missing

    def _create_view(self, view: View) -> None:
        if view.persisted_query is not None:
            self._session.sql(f"CREATE OR REPLACE VIEW {quoted(view.name)} AS {view.persisted_query}")
        else:
            self._frame(view).createOrReplaceTempView(view.name)

    def _create_table(self, table: Table, is_missing: bool) -> None:
        """Create a table that is missing; raise NeedsUpdate for one that is not as its definition says."""
        flows = [flow for flow in self._graph.flows.values() if flow.target == table.name]
        schemas = [self._frame(flow).schema for flow in flows]
        if is_missing:
            if not schemas and table.schema is None:
                raise InputError(f"table {table.name} has neither a schema nor a flow that writes to it")
            self._catalog.create(table, schemas[0] if schemas else None)
        if not all(self._catalog.has_columns(table, schema) for schema in schemas):
            raise NeedsUpdate(f"table {table.name} has other columns than its definition")

    def _frame(self, query: Flow | View) -> Any:
        """Return the DataFrame of a flow or view, built once: each costs Spark a request."""
        if query.name not in self._frames:
            self._frames[query.name] = query.query()
        return self._frames[query.name]

    def _collect_reads(self) -> None:
        views = {view.name: self._queries.named_by(self._frame(view)) for view in self._graph.views.values()}
        references, tables = References(views), list(self._graph.tables)
        for flow in self._graph.flows.values():
            self._reads[flow.name] = references.may_read(self._queries.named_by(self._frame(flow)), tables)

    def _start_order(self) -> list[Flow]:
        """Order streaming flows so that those which others read start first: they have the most to catch up with."""
        return sources_first(self._graph.streaming_flows, self._reads)

    def _schedule_views(self, created: set[str]) -> None:
        """Refresh materialized views: those that are new at once, others when flows have caught up a little."""
        now_s = time.monotonic()
        for flow in self._graph.materialized_views:
            wait_s = 0.0 if flow.target in created else self._intervals_ms[flow.name] / 1000
            self._due_s[flow.name] = now_s + wait_s

    # What is due

    def _do_what_is_due(self) -> None:
        for name, due_s in sorted(self._due_s.items(), key=lambda entry: entry[1]):
            if due_s > time.monotonic():
                break
            flow = self._graph.flows[name]
            if self._graph.is_streaming(flow):
                self._start(flow)
            else:
                self._refresh(flow)

    def _start(self, flow: Flow) -> None:
        del self._due_s[flow.name]
        self._report_state(flow, events.STARTING)
        try:
            frame = self._frames.pop(flow.name, None) or flow.query()
            query = self._queries.start(flow, frame, self._intervals_ms[flow.name])
            views = self._views_read_by(flow, frame)
        except Exception as error:  # noqa: BLE001 - a definition may raise anything, and so may Spark
            self._failed(flow, text_of(error))
            return
        self._running[flow.name] = _Running(query, str(query.runId), views)
        self._report_state(flow, events.RUNNING)

    def _views_read_by(self, flow: Flow, frame: Any) -> frozenset[str]:
        """Return the materialized views that a flow reads; Spark is asked only where it may read one."""
        views = {view.target for view in self._graph.materialized_views}
        if not views & set(self._reads[flow.name]):
            return frozenset()
        return explain_inputs(frame, self._graph).tables & views

    def _refresh(self, flow: Flow) -> None:
        began_s = time.monotonic()
        self._due_s[flow.name] = began_s + self._intervals_ms[flow.name] / 1000
        is_joined = any(flow.target in running.views for running in self._running.values())
        try:
            outcome = self._views.refresh(flow, is_joined=is_joined)
        except Exception as error:  # noqa: BLE001 - a definition may raise anything, and so may Spark
            self._failed(flow, text_of(error))
            return
        self._restarts.completed_batch(flow.name)
        if outcome is Outcome.SAME_INPUTS:
            self._report(events.Idle(time_ms=_now_ms(), flow=flow.name))
            return
        duration_ms = round((time.monotonic() - began_s) * 1000)
        self._report(events.Refresh(time_ms=_now_ms(), flow=flow.name, duration_ms=duration_ms))
        self._report_late(flow.name, duration_ms)
        if outcome is Outcome.CHANGED:
            self._restart_readers(flow.target)

    def _restart_readers(self, view: str) -> None:
        """A query that joins a view reads the files that the view had when the query started."""
        for name, running in list(self._running.items()):
            if view in running.views:
                self._running.pop(name)
                running.query.stop()
                self._due_s[name] = time.monotonic()

    # What Spark reports

    def _next_notice(self) -> Notice | None:
        wait_s = min([_LOOK_EVERY_S, *(due_s - time.monotonic() for due_s in self._due_s.values())])
        try:
            return self._notices.get(timeout=max(wait_s, 0.0)) if wait_s > 0 else self._notices.get_nowait()
        except queue.Empty:
            return None

    def _handle_batch(self, batch: BatchDone) -> None:
        self._restarts.completed_batch(batch.flow)
        flow = self._graph.flows.get(batch.flow)
        if flow is None:
            return
        if batch.rows_in:
            self._versions.changed(flow.target)
        self._report_late(batch.flow, batch.duration_ms)

    def _report_late(self, flow: str, duration_ms: int) -> None:
        interval_ms = self._intervals_ms[flow]
        if self._late.is_worth_reporting(flow, duration_ms, interval_ms):
            self._report(
                events.LateTrigger(time_ms=_now_ms(), flow=flow, interval_ms=interval_ms, duration_ms=duration_ms)
            )

    def _handle_idle(self, idle: Idle) -> None:
        """A query that is triggered as soon as there is data reports it all the time."""
        for name, running in self._running.items():
            if running.run_id == idle.run_id and time.monotonic() - running.idle_s > _IDLE_EVERY_S:
                running.idle_s = time.monotonic()
                self._report(events.Idle(time_ms=_now_ms(), flow=name))

    def _handle_end(self, terminated: Terminated) -> None:
        for name, running in list(self._running.items()):
            if running.run_id == terminated.run_id:
                del self._running[name]
                self._failed(self._graph.flows[name], terminated.error or "the query ended without an error")

    def _look_at_queries(self) -> None:
        for name, running in list(self._running.items()):
            if not running.query.isActive:
                error = running.query.exception()
                del self._running[name]
                self._failed(self._graph.flows[name], str(error) if error else "the query ended without an error")

    def _failed(self, flow: Flow, error: str) -> None:
        restart = self._restarts.failed(flow.name, error)
        cause = cause_of(error)
        if restart is None:
            self._report_state(flow, events.FAILED, cause)
            raise FlowFailed(flow.name, error)
        self._due_s[flow.name] = time.monotonic() + restart.wait_s
        self._report(
            events.Restart(
                time_ms=_now_ms(),
                flow=flow.name,
                attempt=restart.attempt,
                retries=self._restarts.retries,
                wait_s=restart.wait_s,
                cause=cause,
            )
        )

    def _report_state(self, flow: Flow, state: str, error: str | None = None) -> None:
        self._report(events.Flow(time_ms=_now_ms(), flow=flow.name, update=0, state=state, error=error))

    # The end

    def _stop_queries(self) -> None:
        running = [entry.query for entry in self._running.values()]
        self._running.clear()
        if running:
            with ThreadPoolExecutor(len(running), thread_name_prefix="stop") as pool:
                list(pool.map(_stop, running))


def _stop(query: Any) -> None:
    query.stop()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
