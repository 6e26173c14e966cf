"""Options that every command has, before or after its name.

`odradek --format json protocol apis`, `odradek protocol --format json apis` and `odradek protocol apis --format json`
are the same. All levels write to one `Settings`; an option further right overrides one further left.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

DEFAULT_BOOTSTRAP = "localhost:9092"

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Settings:
    """Values of the shared options."""

    bootstrap: str | None = None
    bootstrap_controller: str | None = None
    command_config: str | None = None
    format: str = "text"
    verbose: bool = False
    utc: bool = False

    @property
    def bootstrap_servers(self) -> str:
        """Addresses from the command line, from `ODRADEK_BOOTSTRAP`, or the default."""
        return self.bootstrap or os.environ.get("ODRADEK_BOOTSTRAP") or DEFAULT_BOOTSTRAP

    @property
    def as_json(self) -> bool:
        return self.format == "json"


def settings_of(context: click.Context) -> Settings:
    return context.ensure_object(Settings)


def _store(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Store an option from the command line. The default of an inner level must not override an outer one."""
    name = parameter.name or ""
    if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
        setattr(settings_of(context), name, value)


def _shared(*declarations: str, **attributes: Any) -> Callable[[_Command], _Command]:
    # eager: -v must be effective before another option is found to be invalid
    return click.option(*declarations, expose_value=False, is_eager=True, callback=_store, **attributes)


def connection_options(*, hidden: bool) -> Callable[[_Command], _Command]:
    """Add the options of connections. Commands that do not connect accept them, but hide them in their help."""

    def add(command: _Command) -> _Command:
        command = _shared("--command-config", metavar="FILE", hidden=hidden, help="File of client properties.")(command)
        controllers = "Controllers to connect to instead of brokers."
        command = _shared("--bootstrap-controller", metavar="HOST:PORT[,…]", hidden=hidden, help=controllers)(command)
        brokers = f"Brokers to connect to [default: $ODRADEK_BOOTSTRAP or {DEFAULT_BOOTSTRAP}]."
        return _shared("-b", "--bootstrap", metavar="HOST:PORT[,…]", hidden=hidden, help=brokers)(command)

    return add


def output_options(command: _Command) -> _Command:
    command = _shared("--utc", is_flag=True, help="Show times in UTC instead of local time.")(command)
    command = _shared("-v", "--verbose", is_flag=True, help="Show more output, and tracebacks of errors.")(command)
    formats = click.Choice(("text", "json"))
    return _shared("--format", type=formats, help="text (default) or json.")(command)


def local_options(command: _Command) -> _Command:
    """Add the options of commands on files or on stdin, and of command groups."""
    return connection_options(hidden=True)(output_options(command))


def network_options(command: _Command) -> _Command:
    """Add the options of commands that connect to a cluster."""
    return connection_options(hidden=False)(output_options(command))
