"""`odradek pipeline init|check|run|status`: the pipeline on Spark. PySpark is imported by the processes it starts."""

import click

from odradek.cli.options import local_options
from odradek.cli.pipeline_run import run_command


@click.group()
@local_options
def pipeline() -> None:
    """Make, check, run and watch pipelines of Spark Declarative Pipelines."""


pipeline.add_command(run_command)
