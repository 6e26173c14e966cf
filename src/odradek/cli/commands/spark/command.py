"""`odradek spark package|doctor`: Odradek on the executors of a Spark cluster."""

import click

from odradek.cli.base.lazy import LazyGroup, Subcommand
from odradek.cli.base.options import local_options

_VERBS = (
    Subcommand(
        "package", "odradek.cli.commands.spark.package", "Write what executors need, and say how to send it.", "spark"
    ),
    Subcommand("doctor", "odradek.cli.commands.spark.doctor", "Examine the executors of a cluster.", "spark"),
)


@click.group(cls=LazyGroup, subcommands=_VERBS)
@local_options
def spark() -> None:
    """Bring Odradek to the executors of a Spark cluster, and examine what they have."""
