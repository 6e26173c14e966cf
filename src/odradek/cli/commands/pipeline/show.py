"""Display of a run of a pipeline: a table that changes on a terminal, plain lines elsewhere, JSON for programs."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings
from odradek.cli.base.output import format_timestamp, plural, print_json, print_table
from odradek.cli.commands.pipeline.columns import NOTHING, columns_for, flow_lines, total_row
from odradek.common.printable import printable
from odradek.spark.pipeline import events
from odradek.spark.pipeline.events import Event
from odradek.spark.pipeline.state import RunState
from odradek.spark.pipeline.status import FlowStatus, flow_status

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

Show = Callable[[RunState, Event], None]

#: Events whose lines stay above the table of a terminal.
_KEPT_EVENTS = (
    *(events.Session, events.Live, events.Restart, events.Retry),
    *(events.LateTrigger, events.Warned, events.Stopping),
)

#: Columns of the summary that stays when a run is over.
SUMMARY = ("flow", "state", "batches", "rows in", "rows out", "lag", "restarts")

_REFRESHES_PER_S = 4

_COLOURS = {
    events.RUNNING: "green",
    events.STARTING: "green",
    events.IDLE: "green",
    events.COMPLETED: "cyan",
    events.FAILED: "red",
    events.SKIPPED: "yellow",
    events.STOPPED: "yellow",
}


@contextmanager
def display(settings: Settings) -> Iterator[Show]:
    """Yield a function to call with each event."""
    if settings.as_json:
        yield _as_json
    elif sys.stderr.isatty():
        with _Table(settings) as table:
            yield table.show
        table.finish()
    else:
        yield lambda state, event: _as_line(event, utc=settings.utc)


def _as_json(state: RunState, event: Event) -> None:
    print_json(events.to_document(event))
    sys.stdout.flush()


def _as_line(event: Event, *, utc: bool) -> None:
    line = line_of(event)
    if line is not None:
        echo(f"{_moment(event.time_ms, utc=utc)} {line}")
        sys.stdout.flush()


def _moment(time_ms: int, *, utc: bool) -> str:
    """Format a time to the millisecond, without its zone."""
    return format_timestamp(time_ms, utc=utc)[:23]


# Lines


def line_of(event: Event) -> str | None:
    """Return the line for an event; None for one that needs no line."""
    if isinstance(event, events.Started):
        mode = "until it is stopped" if event.continuous else "once"
        return f"pipeline {event.pipeline} runs {mode}; Spark's log is {event.log}"
    if isinstance(event, events.Session):
        return f"Spark {event.spark} is up, process {event.jvm_pid or event.driver_pid}"
    if isinstance(event, events.Standby):
        return f"a second driver is ready to take over, process {event.driver_pid}"
    if isinstance(event, events.Update):
        return _update_line(event)
    if isinstance(event, events.Live):
        return _live_line(event)
    if isinstance(event, events.Restart):
        again = f"restarts in {event.wait_s:g} s ({event.attempt} of {event.retries} retries)"
        return f"flow {event.flow} failed and {again}: {event.cause}"
    if isinstance(event, events.Refresh):
        return f"materialized view {event.flow} refreshed in {event.duration_ms / 1000:.1f} s"
    if isinstance(event, events.LateTrigger):
        interval, duration = f"{event.interval_ms / 1000:g} s", f"{event.duration_ms / 1000:.1f} s"
        return f"flow {event.flow} cannot keep its trigger interval of {interval}: its batches take {duration}"
    if isinstance(event, events.Flow):
        return f"flow {event.flow} failed: {event.error}" if event.state == events.FAILED else None
    if isinstance(event, events.Progress):
        return _progress_line(event)
    if isinstance(event, events.Retry):
        return f"trying again in {event.wait_s:g} s ({event.attempt} of {event.retries} retries): {event.cause}"
    if isinstance(event, events.Warned):
        return event.message
    if isinstance(event, events.Stopping):
        return "stopping within ten seconds; press Ctrl-C or send SIGTERM again to stop at once"
    if isinstance(event, events.Ended):
        rows = f"{_rows(event.rows_in)} in, {_rows(event.rows_out)} out"
        updates = f"{plural(event.updates, 'update')}, " if event.updates else ""
        return f"{event.state}: {updates}{rows}, {event.seconds:.1f} s"
    return None


def _live_line(event: events.Live) -> str | None:
    if event.state == events.STARTING:
        return "live mode: each flow runs as a long-running query"
    if event.state == events.RUNNING:
        return "all flows run"
    if event.state == events.UNSUPPORTED:
        return f"live mode cannot run this pipeline, it runs as updates: {event.error}"
    return f"live mode failed: {event.error}" if event.error else None


def _update_line(event: events.Update) -> str | None:
    if event.state == events.RUNNING:
        return None
    if not event.update:  # in live mode, and while Spark starts
        return f"Spark failed: {event.error}"
    took = "" if event.seconds is None else f" in {event.seconds:.1f} s"
    why = f": {event.error}" if event.error else ""
    return f"update {event.update} {event.state}{took}{why}"


def _progress_line(event: events.Progress) -> str:
    out = "" if event.rows_out is None else f", {_rows(event.rows_out)} out"
    lag = "" if event.lag is None else f", lag {_records(event.lag)}"
    rate = f"{event.rows_per_s:,.0f} rows/s"
    return f"flow {event.flow} batch {event.batch_id}: {_rows(event.rows_in)} in{out}, {rate}{lag}"


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


# The table


def summary_cells(flow: FlowStatus, batches: int) -> tuple[str, ...]:
    return (
        flow.flow,
        flow.state,
        f"{batches:,}",
        f"{flow.rows_in:,}",
        NOTHING if flow.rows_out is None else f"{flow.rows_out:,}",
        NOTHING if flow.lag is None else f"{flow.lag:,}",
        str(flow.restarts),
    )


def flows_of(state: RunState) -> list[FlowStatus]:
    """Spark reports them in any order. A copy: another thread may add some."""
    return [flow_status(name, flow) for name, flow in sorted(state.flows.copy().items(), key=lambda entry: entry[0])]


def flow_table(flows: Sequence[FlowStatus], width: int) -> "Table":
    """Return a table that fits a terminal of this width, at least 80 columns."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    for column in columns_for(width):
        table.add_column(column.header, justify="left" if column.is_left else "right", no_wrap=True)
    for flow, row in zip(flows, flow_lines(flows, width)[1:], strict=True):
        # As `Text`: a name in square brackets is not markup.
        cells = [Text(printable(cell)) for cell in row]
        cells[1].stylize(_COLOURS.get(flow.state, ""))
        table.add_row(*cells)
    table.add_row(*total_row(flows, width), style="bold")
    return table


class _Table:
    """Table on stderr that is updated in place; lines to keep are printed above it. Use it as a context."""

    def __init__(self, settings: Settings) -> None:
        from rich.console import Console
        from rich.live import Live

        self._settings = settings
        self._state = RunState()
        self._began_s = time.monotonic()
        console = Console(stderr=True)
        self._live = Live(
            console=console, get_renderable=self._render, refresh_per_second=_REFRESHES_PER_S, transient=True
        )

    def __enter__(self) -> "_Table":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, state: RunState, event: Event) -> None:
        self._state = state
        is_worth_keeping = isinstance(event, _KEPT_EVENTS) or (
            isinstance(event, events.Flow | events.Update) and event.error is not None
        )
        line = line_of(event) if is_worth_keeping else None
        if line is not None:
            moment = _moment(event.time_ms, utc=self._settings.utc)
            self._live.console.print(f"{moment} {printable(line)}", markup=False, highlight=False)

    def finish(self) -> None:
        """Print the summary that stays when the run is over."""
        state = self._state
        if state.flows:
            rows = [summary_cells(flow, state.flows[flow.flow].batches) for flow in flows_of(state)]
            print_table(SUMMARY, rows)
        totals = f"{_rows(state.rows_in)} in, {_rows(state.rows_out)} out"
        echo(f"{state.pipeline} {state.state}: {plural(state.updates_completed, 'update')}, {totals}")
        sys.stdout.flush()

    def _render(self) -> "Group":
        from rich.console import Group
        from rich.text import Text

        state, seconds = self._state, int(time.monotonic() - self._began_s)
        phase = "starting Spark" if state.attempt == 0 else state.state
        clock = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        mode = "live" if state.is_live else f"update {state.update}"
        head = Text.assemble(
            (printable(state.pipeline), "bold"),
            printable(f"  {phase}  {mode}  {clock}{dead_letters_text(state.dead_letters)}"),
            no_wrap=True,
            overflow="ellipsis",
        )
        log = Text(printable(f"log {state.log}"), style="dim", no_wrap=True, overflow="ellipsis")
        flows = flows_of(state)
        if not flows:
            return Group(head, log)
        return Group(head, log, flow_table(flows, self._live.console.width))


def dead_letters_text(records: Mapping[str, int | None]) -> str:
    counted = [count for count in records.values() if count is not None]
    return f"  {plural(sum(counted), 'dead letter')}" if counted else ""
