"""`odradek pipeline check`: what is wrong with a project, before Spark starts."""

import sys

import click

from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options
from odradek.cli.base.output import plural, print_json
from odradek.spark.pipeline.check import ERROR, Checked, Problem, check_project
from odradek.spark.pipeline.project import Project


@click.command("check")
@click.argument("project", required=False, type=click.Path())
@click.option("--offline", is_flag=True, help="Do not ask the cluster about topics.")
@click.option("--dry-run", is_flag=True, help="Then let Spark analyse tables and columns, and run nothing.")
@click.option("--master", metavar="URL", help="With --dry-run: local[N] or spark://HOST:PORT.")
@click.option("--remote", metavar="URL", help="With --dry-run: a Spark Connect server, sc://HOST:PORT.")
@local_options
@click.pass_obj
def check(
    settings: Settings, project: str | None, offline: bool, dry_run: bool, master: str | None, remote: str | None
) -> int:
    """Look for mistakes in a pipeline: its spec, options, topics, schemas, brokers, Java.

    Exit status 1 if there is an error; warnings alone are none.
    """
    if (master or remote) and not dry_run:
        raise click.UsageError("--master and --remote go with --dry-run")
    checked = check_project(project, asks_cluster=not offline, is_remote=remote is not None)
    if dry_run and checked.is_good and checked.project is not None:
        checked = _dry_run(checked, checked.project, settings, master, remote)
    _show(checked, settings)
    return 0 if checked.is_good else 1


def _dry_run(checked: Checked, project: Project, settings: Settings, master: str | None, remote: str | None) -> Checked:
    from odradek.spark.pipeline.driver import Job
    from odradek.spark.pipeline.runner import dry_run

    job = Job(spec=str(project.spec_path), attempt=1, master=master, remote=remote, verbose=settings.verbose, dry=True)
    error = dry_run(project, job)
    if error is None:
        return checked
    return Checked(project, (*checked.problems, Problem(f"Spark: {error} (more is in {project.log})")))


def _show(checked: Checked, settings: Settings) -> None:
    if settings.as_json:
        name = None if checked.project is None else checked.project.name
        print_json({"pipeline": name, "good": checked.is_good, "problems": problem_documents(checked)})
        return
    for line in problem_lines(checked):
        echo(line)
    if checked.is_good and checked.project is not None:
        echo(f"{checked.project.name}: no problems in {plural(len(checked.project.files()), 'file')}")
    sys.stdout.flush()


def problem_lines(checked: Checked) -> list[str]:
    """Return one line for each problem, and the number of errors."""
    errors = sum(problem.severity == ERROR for problem in checked.problems)
    lines = [f"{problem.severity}: {problem}" for problem in checked.problems]
    return [*lines, plural(errors, "error")] if errors else lines


def problem_documents(checked: Checked) -> list[dict[str, object]]:
    """Return the problems with the field names of `--format json`."""
    return [
        {"what": problem.message, "file": problem.file, "line": problem.line, "severity": problem.severity}
        for problem in checked.problems
    ]
