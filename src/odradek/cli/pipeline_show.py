"""How a run of a pipeline looks: a table that changes on a terminal, plain lines elsewhere, JSON for programs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from odradek.cli.options import Settings
from odradek.cli.output import format_timestamp, print_json
from odradek.spark.pipeline import events
from odradek.spark.pipeline.events import Event
from odradek.spark.pipeline.state import RunState

Show = Callable[[RunState, Event | None], None]


@contextmanager
def display(settings: Settings) -> Iterator[Show]:
    if settings.as_json:
        yield _as_json
    else:
        yield lambda state, event: _as_line(state, event, utc=settings.utc)


def _as_json(state: RunState, event: Event | None) -> None:
    if event is not None:
        print_json(events.to_document(event))
        sys.stdout.flush()


def _as_line(state: RunState, event: Event | None, *, utc: bool) -> None:
    said = line_of(event) if event is not None else None
    if event is not None and said is not None:
        print(f"{format_timestamp(event.time_ms, utc=utc)[:23]} {said}", flush=True)


def line_of(event: Event) -> str | None:
    """What a log says of it; None for what goes without saying."""
    if isinstance(event, events.Started):
        mode = "until it is stopped" if event.continuous else "once"
        return f"pipeline {event.pipeline} runs {mode}; Spark's log is {event.log}"
    if isinstance(event, events.Session):
        return f"Spark {event.spark} is up, process {event.jvm_pid or event.driver_pid}"
    if isinstance(event, events.Update):
        return _update_line(event)
    if isinstance(event, events.Flow):
        return f"flow {event.flow} failed: {event.error}" if event.state == events.FAILED else None
    if isinstance(event, events.Progress):
        return _progress_line(event)
    if isinstance(event, events.Retry):
        return f"again in {event.wait_s:g} s ({event.attempt} of {event.retries} retries): {event.cause}"
    if isinstance(event, events.Ended):
        return f"{event.state}: {event.updates} updates, {event.rows_in:,} rows in, {event.rows_out:,} rows out"
    return None


def _update_line(event: events.Update) -> str | None:
    if event.state == events.RUNNING:
        return None
    took = "" if event.seconds is None else f" in {event.seconds:.1f} s"
    why = f": {event.error}" if event.error else ""
    return f"update {event.update} {event.state}{took}{why}"


def _progress_line(event: events.Progress) -> str:
    out = "" if event.rows_out is None else f", {event.rows_out:,} rows out"
    lag = "" if event.lag is None else f", lag {event.lag:,}"
    return (
        f"flow {event.flow} batch {event.batch_id}: {event.rows_in:,} rows in{out}, {event.rows_per_s:,.0f} rows/s{lag}"
    )
