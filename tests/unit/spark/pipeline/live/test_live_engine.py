"""The engine of live mode with queries that run nothing: starts, restarts, failures for good, tables, the end."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from odradek.common.failures import InputError
from odradek.spark.pipeline import events
from odradek.spark.pipeline.live import engine as live_engine
from odradek.spark.pipeline.live.engine import BatchDone, FlowFailed, Idle, LiveEngine, NeedsUpdate, Stop, Terminated
from odradek.spark.pipeline.live.graph import Flow, Graph, Sink, Table, check_targets
from odradek.spark.pipeline.live.inputs import Inputs
from odradek.spark.pipeline.live.restarts import Restarts
from odradek.spark.pipeline.live.triggers import SETTING, Triggers
from odradek.spark.pipeline.live.views import Outcome
from support.waiting import wait_until

ORDERS = "spark_catalog.default.orders"
PRICES = "spark_catalog.default.prices"
PASSING = "odradek.errors.Unreachable: localhost:9092 does not answer"
LASTING = "odradek.errors.InputError: there is no topic orderz"


class Rows:
    """A DataFrame that only has a schema."""

    schema = "id STRING"
    #: Of tables that it reads.
    names: tuple[str, ...] = ()
    inputs = Inputs(frozenset(), reads_files=False, is_opaque=False)


class JoinedRows(Rows):
    names = ("prices",)
    inputs = Inputs(frozenset({PRICES}), reads_files=False, is_opaque=False)


class Query:
    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.runId = f"{name}-{number}"
        self.isActive = True
        self.is_stopped = False

    def exception(self) -> Exception | None:
        return None

    def stop(self) -> None:
        self.is_stopped = True


class Queries:
    """In place of `live.queries.Queries`; `failures` are raised by the next starts."""

    def __init__(self) -> None:
        self.started: list[Query] = []
        self.intervals_ms: list[int] = []
        self.failures: list[Exception] = []

    def named_by(self, frame: Any) -> list[str]:
        return list(frame.names)

    def start(self, flow: Flow, frame: Any, interval_ms: int) -> Query:
        if self.failures:
            raise self.failures.pop(0)
        query = Query(flow.name, len(self.started))
        self.started.append(query)
        self.intervals_ms.append(interval_ms)
        return query


class Catalog:
    def __init__(self, *tables: str, has_columns: bool = True) -> None:
        self.tables = list(tables)
        self._has_columns = has_columns

    def missing(self, tables: Iterable[Table]) -> list[Table]:
        return [table for table in tables if table.name not in self.tables]

    def create(self, table: Table, schema: Any) -> None:
        self.tables.append(table.name)

    def has_columns(self, table: Table, schema: Any) -> bool:
        return self._has_columns


class Checked:
    """In place of `live.checked.CheckedDefinitions`."""

    def __init__(self, is_current: bool) -> None:
        self.is_current = is_current
        self.is_remembered = False

    def remember(self) -> None:
        self.is_remembered = True


class Bench:
    def __init__(
        self, graph: Graph, catalog: Catalog | None = None, retries: int = 2, *, is_checked: bool = False
    ) -> None:
        self.checked = Checked(is_checked)
        self.queries = Queries()
        self.catalog = catalog or Catalog()
        self.told: list[events.Event] = []
        restarts = Restarts(retries, back_off_s=0.001)
        fakes: Any = (None, graph, self.catalog, self.queries, Triggers(None, {}), restarts, self.checked)
        self.engine = LiveEngine(*fakes, self.told.append)
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Bench":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.notify(Stop())
        self._thread.join()

    def _run(self) -> None:
        try:
            self.engine.run()
        except Exception as error:  # noqa: BLE001 - shown to the test
            self.failure = error

    def wait(self, condition: Callable[[], object], what: str) -> None:
        wait_until(condition, what, explain=lambda: f"{self.told} {self.failure!r}")

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.told if kind == event.KIND]


def graph_of(*flows: Flow) -> Graph:
    table = Table(ORDERS, True, None, None, (), (), {}, None)
    sink = Sink("copies", "odradek", {"topic": "copies"})
    return Graph({ORDERS: table}, {"copies": sink}, {}, {flow.name: flow for flow in flows})


TO_TABLE = Flow(ORDERS, ORDERS, Rows, {})
TO_SINK = Flow("copied", "copies", Rows, {SETTING: "2 seconds"})


def test_missing_tables_are_created_and_each_flow_is_started_with_its_trigger() -> None:
    with Bench(graph_of(TO_TABLE, TO_SINK)) as bench:
        bench.wait(lambda: bench.of("live"), "all flows run")
        assert bench.catalog.tables == [ORDERS]
        assert [query.name for query in bench.queries.started] == [ORDERS, "copied"]
        assert bench.queries.intervals_ms == [0, 2_000]
    assert bench.failure is None
    assert all(query.is_stopped for query in bench.queries.started), "nothing runs at the end"


def test_a_flow_that_fails_restarts_alone() -> None:
    with Bench(graph_of(TO_TABLE, TO_SINK)) as bench:
        bench.wait(lambda: len(bench.queries.started) == 2, "both run")
        bench.engine.notify(Terminated("copied-1", PASSING))
        bench.wait(lambda: len(bench.queries.started) == 3, "it is started again")
        assert bench.queries.started[2].name == "copied"
        (restart,) = bench.of("restart")
        assert (restart.flow, restart.attempt, restart.cause) == ("copied", 1, "localhost:9092 does not answer")


def test_a_flow_that_cannot_start_is_tried_again() -> None:
    bench = Bench(graph_of(TO_TABLE))
    bench.queries.failures = [ConnectionError("the cluster is away")]
    with bench:
        bench.wait(lambda: bench.queries.started, "it runs")
    assert [event.attempt for event in bench.of("restart")] == [1]


def test_retries_come_to_an_end_unless_a_batch_completes_between_them() -> None:
    with Bench(graph_of(TO_TABLE), retries=1) as bench:
        for number in range(3):
            bench.wait(lambda number=number: len(bench.queries.started) == number + 1, "it runs")
            bench.engine.notify(BatchDone(ORDERS, 5, 10))
            bench.engine.notify(Terminated(f"{ORDERS}-{number}", PASSING))
        bench.wait(lambda: len(bench.queries.started) == 4, "it runs again")
        bench.engine.notify(Terminated(f"{ORDERS}-3", PASSING))
        bench.wait(lambda: bench.failure, "the second failure in a row is not tried again")
    assert isinstance(bench.failure, FlowFailed)


def test_a_failure_that_cannot_pass_ends_the_pipeline_and_stops_the_others() -> None:
    with Bench(graph_of(TO_TABLE, TO_SINK)) as bench:
        bench.wait(lambda: len(bench.queries.started) == 2, "both run")
        bench.engine.notify(Terminated("copied-1", LASTING))
        bench.wait(lambda: bench.failure, "it has failed")
    assert isinstance(bench.failure, FlowFailed) and bench.failure.flow == "copied"
    assert bench.queries.started[0].is_stopped
    assert [(event.flow, event.state) for event in bench.of("flow")][-1] == ("copied", "failed")


def test_the_end_of_a_query_that_was_replaced_is_no_failure() -> None:
    with Bench(graph_of(TO_TABLE)) as bench:
        bench.wait(lambda: bench.queries.started, "it runs")
        bench.engine.notify(Terminated("another", PASSING))
        bench.engine.notify(Idle(f"{ORDERS}-0"))
        bench.wait(lambda: bench.of("idle"), "it goes on")
    assert not bench.of("restart")


def test_a_trigger_that_cannot_be_kept_is_reported() -> None:
    with Bench(graph_of(TO_TABLE, TO_SINK)) as bench:
        for _ in range(3):
            bench.engine.notify(BatchDone("copied", 5, 3_000))
        bench.wait(lambda: bench.of("late-trigger"), "it is reported")
    (late,) = bench.of("late-trigger")
    assert (late.flow, late.interval_ms, late.duration_ms) == ("copied", 2_000, 3_000)


def test_a_table_with_other_columns_needs_an_update() -> None:
    bench = Bench(graph_of(TO_TABLE), Catalog(ORDERS, has_columns=False))
    with pytest.raises(NeedsUpdate, match="orders has other columns than its definition"):
        bench.engine.run()


def test_a_driver_that_takes_over_does_not_check_tables_again_unless_one_is_missing() -> None:
    with Bench(graph_of(TO_TABLE), Catalog(ORDERS, has_columns=False), is_checked=True) as bench:
        bench.wait(lambda: bench.of("live"), "all flows run")
    assert bench.failure is None
    bench = Bench(graph_of(TO_TABLE), Catalog(has_columns=False), is_checked=True)
    with pytest.raises(NeedsUpdate):
        bench.engine.run()
    assert not bench.checked.is_remembered


class Views:
    """In place of `live.views.MaterializedViews`: what becomes of each refresh."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.joined: list[bool] = []

    def refresh(self, flow: Flow, *, is_joined: bool) -> Outcome:
        self.joined.append(is_joined)
        return self.outcomes.pop(0) if self.outcomes else Outcome.SAME_INPUTS


def test_a_flow_that_joins_a_view_restarts_when_its_rows_change(monkeypatch: pytest.MonkeyPatch) -> None:
    views = Views(Outcome.SAME_ROWS, Outcome.CHANGED, Outcome.SAME_INPUTS, Outcome.SAME_ROWS)
    monkeypatch.setattr(live_engine, "MaterializedViews", lambda *_: views)
    monkeypatch.setattr(live_engine, "explain_inputs", lambda rows, graph: rows.inputs)
    graph = graph_of(TO_TABLE, Flow("priced", "copies", JoinedRows, {}), Flow(PRICES, PRICES, Rows, {SETTING: "1 ms"}))
    graph.tables[PRICES] = Table(PRICES, False, None, None, (), (), {}, None)
    with Bench(graph) as bench:
        bench.wait(lambda: not views.outcomes and len(views.joined) > 8, "it was refreshed again and again")
    assert [query.runId for query in bench.queries.started] == [f"{ORDERS}-0", "priced-1", "priced-2"]
    assert [event.flow for event in bench.of("refresh")] == [PRICES] * 3
    assert not bench.of("restart"), "nothing has failed"
    assert views.joined[0], "the new rows are compared with those of before"


def test_a_flow_needs_a_target() -> None:
    with pytest.raises(InputError, match=r"flow copied writes to spark_catalog\.default\.nowhere, which is neither"):
        check_targets(graph_of(Flow("copied", "spark_catalog.default.nowhere", Rows, {})))
