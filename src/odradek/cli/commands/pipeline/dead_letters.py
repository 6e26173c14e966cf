"""`odradek pipeline dead-letters list|show|replay`: what a pipeline rejected, and how it is tried again."""

import click

from odradek.cli.base.options import local_options
from odradek.cli.commands.pipeline.letters_list import list_command
from odradek.cli.commands.pipeline.letters_replay import replay_command
from odradek.cli.commands.pipeline.letters_show import show_command


@click.group()
@local_options
def dead_letters() -> None:
    """List, show and replay the dead letters of a pipeline.

    A dead-letter topic is a log: nothing is removed from it. The consumer group NAME-dead-letters, where NAME is the
    name of the pipeline, says how far its letters have been handled; letters after its offsets are waiting.

    The brokers are those that the project's definitions name; -b and --command-config take precedence over them.
    """


dead_letters.add_command(list_command)
dead_letters.add_command(show_command)
dead_letters.add_command(replay_command)
