"""Options that every verb understands, before or after it.

`odradek --format json protocol apis`, `odradek protocol --format json apis` and `odradek protocol apis --format json`
are the same. All levels write into one `Settings`; what stands further right wins.
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
    bootstrap: str | None = None
    bootstrap_controller: str | None = None
    command_config: str | None = None
    format: str = "text"
    verbose: bool = False
    utc: bool = False

    @property
    def bootstrap_servers(self) -> str:
        """Said on the command line, or by `ODRADEK_BOOTSTRAP`, or the default."""
        return self.bootstrap or os.environ.get("ODRADEK_BOOTSTRAP") or DEFAULT_BOOTSTRAP

    @property
    def as_json(self) -> bool:
        return self.format == "json"


def settings_of(context: click.Context) -> Settings:
    return context.ensure_object(Settings)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Only what was really given changes the settings: a default of the inner level must not undo the outer."""
    name = parameter.name or ""
    if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
        setattr(settings_of(context), name, value)


def _shared(*declarations: str, **attributes: Any) -> Callable[[_Command], _Command]:
    # eager: -v must already count when another option turns out to be wrong
    return click.option(*declarations, expose_value=False, is_eager=True, callback=_remember, **attributes)


def connection_options(*, hidden: bool) -> Callable[[_Command], _Command]:
    """`hidden` for verbs that talk to nobody: they accept the options, and do not advertise them."""

    def add(command: _Command) -> _Command:
        command = _shared("--command-config", metavar="FILE", hidden=hidden, help="Kafka's client properties.")(command)
        controller = "A controller to talk to instead of a broker."
        command = _shared("--bootstrap-controller", metavar="HOST:PORT[,…]", hidden=hidden, help=controller)(command)
        where = f"Brokers to start from [default: $ODRADEK_BOOTSTRAP or {DEFAULT_BOOTSTRAP}]."
        return _shared("-b", "--bootstrap", metavar="HOST:PORT[,…]", hidden=hidden, help=where)(command)

    return add


def output_options(command: _Command) -> _Command:
    command = _shared("--utc", is_flag=True, help="Times in UTC instead of local time.")(command)
    command = _shared("-v", "--verbose", is_flag=True, help="Say more; tracebacks of errors.")(command)
    formats = click.Choice(("text", "json"))
    return _shared("--format", type=formats, help="text (default), or json for programs.")(command)


def local_options(command: _Command) -> _Command:
    """For verbs that work on files or on stdin, and for the levels above them."""
    return connection_options(hidden=True)(output_options(command))


def network_options(command: _Command) -> _Command:
    """For verbs that talk to a cluster."""
    return connection_options(hidden=False)(output_options(command))
