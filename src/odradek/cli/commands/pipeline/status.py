"""`odradek pipeline status`: how a pipeline stands, while it runs and after; with --watch again and again."""

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options
from odradek.cli.base.output import UNKNOWN, format_timestamp, plural, print_json, terminal_columns
from odradek.cli.commands.pipeline.columns import plain_lines
from odradek.common.printable import printable
from odradek.spark.pipeline.project import Project, read_project
from odradek.spark.pipeline.status import Status, StatusReader, read_status

if TYPE_CHECKING:
    from rich.console import Group

_INTERVAL_S = "2"


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise click.BadParameter(f"{value!r} is not a number of seconds. The project comes first: status shop --watch")
    return seconds


@click.command("status")
@click.argument("project", required=False, type=click.Path())
@click.option(
    "--watch",
    "watch_s",
    is_flag=False,
    flag_value=_INTERVAL_S,
    metavar="[SECONDS]",
    callback=_seconds,
    help=f"Show it again every SECONDS until Ctrl-C [default: {_INTERVAL_S}].",
)
@local_options
@click.pass_obj
def status(settings: Settings, project: str | None, watch_s: float | None) -> None:
    """Show the flows of a pipeline: rows per second, lag, batches, dead letters and the last error."""
    pipeline = read_project(project)
    if watch_s is not None:
        _watch(pipeline, watch_s, settings)
    elif settings.as_json:
        print_json(asdict(read_status(pipeline)))
    else:
        _show(read_status(pipeline), utc=settings.utc)


def _watch(project: Project, interval_s: float, settings: Settings) -> None:
    reader = StatusReader(project)
    try:
        if settings.as_json:
            _repeat(reader, interval_s, lambda status: print_json({"time_ms": _now_ms(), **asdict(status)}))
        elif sys.stdout.isatty():
            _watch_on_terminal(reader, interval_s, settings)
        else:
            _repeat(reader, interval_s, lambda status: _show_with_time(status, utc=settings.utc))
    except KeyboardInterrupt:
        return
    finally:
        reader.close()


def _repeat(reader: StatusReader, interval_s: float, show: Callable[[Status], None]) -> None:
    while True:
        began_s = time.monotonic()
        show(reader.read())
        sys.stdout.flush()
        time.sleep(max(began_s + interval_s - time.monotonic(), 0.0))


def _watch_on_terminal(reader: StatusReader, interval_s: float, settings: Settings) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console()
    with Live(console=console, auto_refresh=False) as live:
        _repeat(
            reader,
            interval_s,
            lambda status: live.update(_render(status, console.width, utc=settings.utc), refresh=True),
        )


def _render(status: Status, width: int, *, utc: bool) -> "Group":
    from rich.console import Group
    from rich.text import Text

    from odradek.cli.commands.pipeline.show import flow_table

    lines = [Text(printable(line), no_wrap=True, overflow="ellipsis") for line in _head(status, utc=utc)]
    tail = [Text(printable(line), no_wrap=True, overflow="ellipsis") for line in _tail(status, utc=utc)]
    return Group(*lines, *([flow_table(status.flows, width)] if status.flows else []), *tail)


def _show_with_time(status: Status, *, utc: bool) -> None:
    echo(format_timestamp(_now_ms(), utc=utc))
    _show(status, utc=utc)
    echo("")


def _show(status: Status, *, utc: bool) -> None:
    for line in _head(status, utc=utc):
        echo(line)
    if status.flows:
        for line in plain_lines(status.flows, terminal_columns()):
            echo(line)
    for line in _tail(status, utc=utc):
        echo(line)


def _head(status: Status, *, utc: bool) -> list[str]:
    who = "" if status.pid is None else f" (process {status.pid})"
    return [f"{status.pipeline}: {status.state}{who}{_since(status, utc=utc)}"]


def _tail(status: Status, *, utc: bool) -> list[str]:
    lines = []
    for letters in status.dead_letters:
        count = UNKNOWN if letters.records is None else plural(letters.records, "dead letter")
        waiting = "" if letters.waiting == letters.records else f", {letters.waiting} waiting"
        lines.append(f"{letters.topic}: {count}{waiting}")
    if status.last_error is not None and status.last_error_ms is not None:
        lines.append(f"last error, {format_timestamp(status.last_error_ms, utc=utc)}: {status.last_error}")
    if status.started_ms is not None:
        lines.append(f"Spark's log is {status.log}")
    return lines


def _since(status: Status, *, utc: bool) -> str:
    if status.started_ms is None or status.changed_ms is None:
        return ""
    times = (
        f"{format_timestamp(status.started_ms, utc=utc)}, last change {format_timestamp(status.changed_ms, utc=utc)}"
    )
    updates = f", {plural(status.updates, 'update')}" if status.updates else ""
    return f"{updates} since {times}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
