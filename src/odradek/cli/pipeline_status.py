"""`odradek pipeline status`: how a pipeline stands, while it runs and after."""

from dataclasses import asdict

import click

from odradek.cli.errors import echo
from odradek.cli.options import Settings, local_options
from odradek.cli.output import UNKNOWN, format_timestamp, plural, print_json, print_table
from odradek.spark.pipeline.project import read_project
from odradek.spark.pipeline.status import FlowStatus, Status, read_status

_NOTHING = "-"


@click.command("status")
@click.argument("project", required=False, type=click.Path())
@local_options
@click.pass_obj
def status(settings: Settings, project: str | None) -> None:
    """Show the flows of a pipeline, their lag, dead letters and the last error."""
    found = read_status(read_project(project))
    if settings.as_json:
        print_json(asdict(found))
    else:
        _show(found, utc=settings.utc)


def _show(status: Status, *, utc: bool) -> None:
    who = "" if status.pid is None else f" (process {status.pid})"
    echo(f"{status.pipeline}: {status.state}{who}{_since(status, utc=utc)}")
    if status.flows:
        print_table(
            ("flow", "state", "batch", "last batch", "rows in", "rows out", "lag"),
            [_row(flow, utc=utc) for flow in status.flows],
        )
    for letters in status.dead_letters:
        count = UNKNOWN if letters.records is None else plural(letters.records, "dead letter")
        waiting = "" if letters.waiting == letters.records else f", {letters.waiting} waiting"
        echo(f"{letters.topic}: {count}{waiting}")
    if status.last_error is not None and status.last_error_ms is not None:
        echo(f"last error, {format_timestamp(status.last_error_ms, utc=utc)}: {status.last_error}")
    if status.started_ms is not None:
        echo(f"Spark's log is {status.log}")


def _since(status: Status, *, utc: bool) -> str:
    if status.started_ms is None or status.changed_ms is None:
        return ""
    times = (
        f"{format_timestamp(status.started_ms, utc=utc)}, last heard of {format_timestamp(status.changed_ms, utc=utc)}"
    )
    return f", {plural(status.updates, 'update')} since {times}"


def _row(flow: FlowStatus, *, utc: bool) -> tuple[object, ...]:
    lag = (UNKNOWN if flow.lag is None else flow.lag) if flow.reads_topics else _NOTHING
    return (
        flow.flow,
        flow.state,
        _NOTHING if flow.batch_id is None else flow.batch_id,
        _NOTHING if flow.last_batch_ms is None else format_timestamp(flow.last_batch_ms, utc=utc),
        flow.rows_in,
        _NOTHING if flow.rows_out is None else flow.rows_out,
        lag,
    )
