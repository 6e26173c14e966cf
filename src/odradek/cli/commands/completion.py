"""`odradek completion SHELL`: the lines that teach a shell to complete the command.

    eval "$(odradek completion bash)"       in ~/.bashrc; zsh likewise in ~/.zshrc
    odradek completion fish | source        in ~/.config/fish/config.fish

Names of topics and groups are asked of the cluster at the moment (see `odradek.cli.base.complete`).
"""

import click
from click.shell_completion import get_completion_class

from odradek.cli.base.options import Settings, local_options

#: In the environment it makes the command say what would complete a line (see `odradek.cli.app`).
_VARIABLE = "_ODRADEK_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@local_options
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options, topics and groups.

    \b
    eval "$(odradek completion bash)"       in ~/.bashrc; zsh likewise in ~/.zshrc
    odradek completion fish | source        in ~/.config/fish/config.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(context.find_root().command, {"obj": Settings()}, "odradek", _VARIABLE).source())
