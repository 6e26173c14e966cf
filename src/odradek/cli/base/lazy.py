"""Command groups whose subcommands are imported when they are called, not when they are listed."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class Subcommand:
    """Subcommand that is not imported yet.

    `module` has a click command in a variable called `name`, with underscores instead of dashes. `extra` is an optional
    dependency without which the module cannot be imported.
    """

    name: str
    module: str
    summary: str
    extra: str | None = None

    def load(self, group: str) -> click.Command:
        """Import the command of the group with this command line. Raises InputError if the extra is not installed."""
        if self.extra is not None:
            from odradek.common.extras import require_extra  # few commands need one

            require_extra(self.extra, f"{group} {self.name}")
        command = getattr(importlib.import_module(self.module), self.name.replace("-", "_"))
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.module} has no command {self.name}")
        return command


class LazyGroup(click.Group):
    """Group that imports a subcommand when it is called."""

    def __init__(self, *args: Any, subcommands: Sequence[Subcommand] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._subcommands = {subcommand.name: subcommand for subcommand in subcommands}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *self._subcommands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in self._subcommands:
            self.add_command(self._subcommands[cmd_name].load(ctx.command_path), cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches  # imported here because it is seldom needed

            matches = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not matches:
                raise
            raise click.UsageError(f"{error.message} Did you mean {matches[0]}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self._summary(ctx, name)) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def _summary(self, ctx: click.Context, name: str) -> str:
        if name in self._subcommands:
            return self._subcommands[name].summary
        command = self.get_command(ctx, name)
        return command.get_short_help_str() if command else ""
