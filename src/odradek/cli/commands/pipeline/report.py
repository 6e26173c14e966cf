"""`odradek pipeline report`: an HTML file about a run, from the history that `run` keeps."""

from pathlib import Path

import click

from odradek import __version__
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options
from odradek.cli.base.output import format_timestamp, plural, print_json, print_table
from odradek.common.failures import InputError
from odradek.spark.pipeline.project import read_project
from odradek.spark.pipeline.report.document import render
from odradek.spark.pipeline.report.runs import Run, find_runs
from odradek.spark.pipeline.report.summary import make_report
from odradek.spark.pipeline.report.units import duration
from odradek.spark.pipeline.status import is_running
from odradek.spark.pipeline.watch.history import read_history

_FILE = "report.html"


@click.command("report")
@click.argument("project", required=False, type=click.Path())
@click.option("-o", "--output", default=_FILE, show_default=True, type=click.Path(dir_okay=False), help="The file.")
@click.option(
    "--run", "number", type=click.IntRange(min=1), default=1, help="Which run: 1 is the last one [default: 1]."
)
@click.option("--all", "is_all", is_flag=True, help="All runs that the history has, and the time between them.")
@click.option("--list", "is_list", is_flag=True, help="List the runs that the history has, and write nothing.")
@local_options
@click.pass_obj
def report(settings: Settings, project: str | None, output: str, number: int, is_all: bool, is_list: bool) -> None:
    """Write a report about a run: what was processed, how late, what went wrong and how it recovered.

    A run that goes on is reported up to now.
    """
    pipeline = read_project(project)
    runs = find_runs(read_history(pipeline), is_running=is_running(pipeline))
    if not runs:
        raise InputError(f"{pipeline.name} has no history: it never ran. odradek pipeline run begins one")
    if is_list:
        _list(runs, settings)
        return
    if number > len(runs):
        raise InputError(f"--run {number}: the history of {pipeline.name} has {plural(len(runs), 'run')}")
    selected = runs if is_all else [runs[-number]]
    if not any(run.samples for run in selected):
        raise InputError(f"{pipeline.name}: nothing is known of this run, it ended before a flow was started")
    path = Path(output)
    path.write_text(render(make_report(pipeline.name, selected, utc=settings.utc, version=__version__)))
    if settings.as_json:
        print_json(
            {"report": str(path.resolve()), "pipeline": pipeline.name, "runs": [_document(run) for run in selected]}
        )
    else:
        took = duration(selected[-1].end_ms - selected[0].start_ms)
        echo(f"wrote {output}: {pipeline.name}, {took} from {format_timestamp(selected[0].start_ms, utc=settings.utc)}")


def _list(runs: list[Run], settings: Settings) -> None:
    newest_first = list(reversed(runs))
    if settings.as_json:
        print_json([{"run": number, **_document(run)} for number, run in enumerate(newest_first, start=1)])
        return
    rows = [
        (
            number,
            format_timestamp(run.start_ms, utc=settings.utc),
            duration(run.end_ms - run.start_ms),
            run.state,
            _rows(run),
        )
        for number, run in enumerate(newest_first, start=1)
    ]
    print_table(("run", "started", "for", "state", "rows in"), rows)


def _document(run: Run) -> dict[str, object]:
    return {"started_ms": run.start_ms, "ended_ms": run.end_ms, "state": run.state, "rows_in": _rows(run)}


def _rows(run: Run) -> int:
    return sum(sample.rows_in for sample in run.samples)
