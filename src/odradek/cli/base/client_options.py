"""Settings of clients on the command line: defaults of the command, `--command-config FILE`, options, and `-X`."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from odradek.cli.base.errors import wrong_usage
from odradek.cli.base.options import Settings
from odradek.cli.base.pairs import parse_pairs
from odradek.client.settings.parsing import Kind, definitions
from odradek.common.files import OsFileSystem
from odradek.common.properties import read_properties

_Command = TypeVar("_Command", bound=Callable[..., Any])


def property_option(command: _Command) -> _Command:
    help_text = "A setting of the client, by Kafka's name. May be repeated."
    return click.option("-X", "properties", multiple=True, metavar="KEY=VALUE", help=help_text)(command)


def client_config(
    settings: Settings,
    client_kind: Kind,
    properties: Sequence[str],
    options: dict[str, object],
    defaults: dict[str, object] | None = None,
) -> dict[str, object]:
    """Return settings by Kafka's names. `-X` overrides `options`, which override the file, which overrides `defaults`.

    Settings in the file that only other kinds of clients have are left out: one file may serve all.
    """
    if settings.bootstrap_controller is not None:
        raise click.UsageError("Controllers have no records: use --bootstrap with the address of a broker.")
    config: dict[str, object] = {"client.id": "odradek", **(defaults or {})}
    if settings.command_config is not None:
        file_values = read_properties(OsFileSystem(), settings.command_config).values
        config |= {key: value for key, value in file_values.items() if applies_to(client_kind, key)}
    with wrong_usage():
        explicit = parse_pairs(properties, "-X", "client.id=me")
    if settings.bootstrap is not None or not {"bootstrap.servers"} & {*config, *explicit}:
        config["bootstrap.servers"] = settings.bootstrap_servers
    return config | {key: value for key, value in options.items() if value is not None} | explicit


def applies_to(client_kind: Kind, key: str) -> bool:
    """Return whether the kind of client has the setting. An unknown one applies to all: the client reports it."""
    return key in definitions(client_kind) or not any(key in definitions(other) for other in Kind)
