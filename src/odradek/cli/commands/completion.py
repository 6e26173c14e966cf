"""`odradek completion SHELL`: the completion script of a shell.

    eval "$(odradek completion bash)"       in ~/.bashrc; zsh likewise in ~/.zshrc
    odradek completion fish | source        in ~/.config/fish/config.fish

Names of topics and groups are read from the cluster (see `odradek.cli.base.complete`).
"""

import click
from click.shell_completion import get_completion_class

from odradek.cli.base.options import Settings, local_options

#: Environment variable that makes the command print completions (see `odradek.cli.app`).
_VARIABLE = "_ODRADEK_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@local_options
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, options, topics and groups.

    \b
    eval "$(odradek completion bash)"       in ~/.bashrc; zsh likewise in ~/.zshrc
    odradek completion fish | source        in ~/.config/fish/config.fish
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    click.echo(completion_class(context.find_root().command, {"obj": Settings()}, "odradek", _VARIABLE).source())
