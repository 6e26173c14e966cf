"""`odradek pipeline`: its subcommands. PySpark is imported by the processes that they start."""

import click

from odradek.cli.base.lazy import LazyGroup, Subcommand
from odradek.cli.base.options import local_options

_VERBS = (
    Subcommand("init", "odradek.cli.commands.pipeline.init", "Make a project that runs as it stands.", "spark"),
    Subcommand("check", "odradek.cli.commands.pipeline.check", "Look for mistakes before Spark starts.", "spark"),
    Subcommand("run", "odradek.cli.commands.pipeline.run", "Run a project, once or until stopped.", "spark"),
    Subcommand(
        "dead-letters",
        "odradek.cli.commands.pipeline.dead_letters",
        "List, show and replay what was rejected.",
        "spark",
    ),
    Subcommand(
        "status", "odradek.cli.commands.pipeline.status", "Show flows, lag, dead letters and the last error.", "spark"
    ),
    Subcommand("report", "odradek.cli.commands.pipeline.report", "Write an HTML report about a run.", "spark"),
)


@click.group(cls=LazyGroup, subcommands=_VERBS)
@local_options
def pipeline() -> None:
    """Make, check, run and watch projects of Spark Declarative Pipelines."""
