"""`odradek pipeline run`: a pipeline in the foreground, once or until it is stopped."""

import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import click

from odradek.cli.base.errors import echo, warn, wrong_usage
from odradek.cli.base.options import Settings, local_options
from odradek.cli.base.output import print_json
from odradek.cli.base.pairs import parse_pairs
from odradek.cli.commands.pipeline.check import problem_documents, problem_lines
from odradek.cli.commands.pipeline.show import display
from odradek.cli.main import INTERRUPTED
from odradek.spark.durations import parse_duration_ms
from odradek.spark.pipeline import events
from odradek.spark.pipeline.check import ERROR, WARNING, Checked, check_project
from odradek.spark.pipeline.driver import Job
from odradek.spark.pipeline.project import read_project
from odradek.spark.pipeline.runner import Plan, Runner
from odradek.spark.pipeline.session import check_target
from odradek.spark.pipeline.watch.metrics_server import MetricsServer, parse_metrics_address

_DEFAULT_TRIGGER, _DEFAULT_TRIGGER_MS = "5s", 5_000
_RETRIES = 5

#: Settings of Spark that list files. An archive may have a name after #.
_PATH_SETTINGS = ("spark.archives", "spark.files", "spark.jars", "spark.submit.pyFiles")


@click.command("run")
@click.argument("project", required=False, type=click.Path())
@click.option("--continuous", is_flag=True, help="Live mode: long-running queries, until stopped.")
@click.option(
    "--trigger",
    metavar="TIME",
    help="With --continuous: how often flows without pipelines.trigger.interval run "
    f"[default: as soon as there is data; with --updates {_DEFAULT_TRIGGER}].",
)
@click.option(
    "--standby", is_flag=True, help="With --continuous: keep a second driver ready, which takes over in seconds."
)
@click.option("--updates", is_flag=True, help="With --continuous: one update after the other in place of live mode.")
@click.option(
    "--retries", type=click.IntRange(min=0), default=_RETRIES, show_default=True, help="Of failures in a row."
)
@click.option("--master", metavar="URL", help="local[N] or spark://HOST:PORT [default: local[*]].")
@click.option("--remote", metavar="URL", help="A Spark Connect server, sc://HOST:PORT, instead.")
@click.option("--conf", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of Spark; may be repeated.")
@click.option("--refresh", multiple=True, metavar="TABLE", help="Only these tables; may be repeated.")
@click.option("--full-refresh", multiple=True, metavar="TABLE", help="Empty these first, and read all again.")
@click.option("--full-refresh-all", is_flag=True, help="Empty all tables first, and read all again.")
@click.option("--metrics", metavar="[HOST:]PORT", help="Serve /metrics for Prometheus, and /healthz, there.")
@click.option("--no-check", is_flag=True, help='Start Spark without looking for mistakes first, as "check" does.')
@local_options
@click.pass_obj
def run(
    settings_of_command: Settings,
    project: str | None,
    continuous: bool,
    trigger: str | None,
    standby: bool,
    updates: bool,
    retries: int,
    master: str | None,
    remote: str | None,
    settings: tuple[str, ...],
    refresh: tuple[str, ...],
    full_refresh: tuple[str, ...],
    full_refresh_all: bool,
    metrics: str | None,
    no_check: bool,
) -> int:
    """Run the pipeline of a directory: one update that takes all there is, or live until SIGTERM or Ctrl-C.

    What "check" finds is reported first, all of it, and errors end the command before Spark starts. That no broker
    answers is an error for a single update; with --continuous it is a warning, and the pipeline tries again.
    """
    if (trigger is not None or updates or standby) and not continuous:
        raise click.UsageError("--trigger, --updates and --standby require --continuous")
    if standby and (updates or remote):
        raise click.UsageError("--standby is for live mode with a JVM of its own: not with --updates or --remote")
    with wrong_usage():
        trigger_ms = None if trigger is None else parse_duration_ms("--trigger", trigger)
        metrics_address = None if metrics is None else parse_metrics_address(metrics)
        conf = with_full_paths(parse_pairs(settings, "--conf", "spark.sql.shuffle.partitions=2"))
        check_target(master, remote)
    if master and remote:
        raise click.UsageError("--master and --remote exclude each other")
    if full_refresh_all and (refresh or full_refresh):
        raise click.UsageError("--full-refresh-all excludes --refresh and --full-refresh")
    if not no_check:
        checked = check_project(
            project, settings=conf, is_remote=remote is not None, unreachable=WARNING if continuous else ERROR
        )
        _report(checked, settings_of_command)
        if not checked.is_good:
            return 1
    pipeline = read_project(project)
    job = Job(
        spec=str(pipeline.spec_path),
        attempt=1,
        master=master,
        remote=remote,
        settings=conf,
        verbose=settings_of_command.verbose,
        refresh=refresh,
        full_refresh=full_refresh,
        full_refresh_all=full_refresh_all,
        trigger_ms=trigger_ms,
        retries=retries,
    )
    trigger_s = (_DEFAULT_TRIGGER_MS if trigger_ms is None else trigger_ms) / 1000 if updates else None
    with display(settings_of_command) as show:
        plan = Plan(job, trigger_s, retries, is_live=continuous and not updates, has_standby=standby)
        runner = Runner(pipeline, plan, show)
        with nullcontext() if metrics_address is None else MetricsServer(metrics_address, lambda: runner.state):
            ending = runner.run()
    if ending == events.FAILED:
        warn(f"{pipeline.name}: {runner.state.last_error}")
        warn(f"more is in {pipeline.log}")
        return 1
    sys.stdout.flush()
    return INTERRUPTED if ending == events.STOPPED and not continuous else 0


def with_full_paths(settings: Mapping[str, str]) -> dict[str, str]:
    """Files are named from the directory of the command; Spark's driver runs in that of the project."""
    return {name: _full_paths(value) if name in _PATH_SETTINGS else value for name, value in settings.items()}


def _full_paths(value: str) -> str:
    items = (item.strip().partition("#") for item in value.split(","))
    return ",".join(
        f"{Path(path).absolute() if Path(path).exists() else path}{mark}{name}" for path, mark, name in items
    )


def _report(checked: Checked, settings: Settings) -> None:
    """The lines of `check`, on stderr; with --format json also as an event."""
    if not checked.problems:
        return
    if settings.as_json:
        document = {"good": checked.is_good, "problems": problem_documents(checked)}
        print_json({"event": "check", "time_ms": time.time_ns() // 1_000_000, **document})
        sys.stdout.flush()
    for line in problem_lines(checked):
        echo(line, err=True)
