"""Clients' settings on the command line: what the command chooses, `--command-config FILE`, its options, and `-X`."""

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
    said = "A setting of the client, by Kafka's name. May be repeated."
    return click.option("-X", "properties", multiple=True, metavar="KEY=VALUE", help=said)(command)


def client_config(
    settings: Settings,
    kind: Kind,
    properties: Sequence[str],
    chosen: dict[str, object],
    defaults: dict[str, object] | None = None,
) -> dict[str, object]:
    """By Kafka's names. `-X` counts most, then the options that were `chosen`, then the file, then `defaults`. What the
    file says for clients of another kind is left out: one file may serve all."""
    if settings.bootstrap_controller is not None:
        raise click.UsageError("Controllers have no records: --bootstrap says the address of a broker.")
    config: dict[str, object] = {"client.id": "odradek", **(defaults or {})}
    if settings.command_config is not None:
        told = read_properties(OsFileSystem(), settings.command_config).values
        config |= {key: value for key, value in told.items() if is_for(kind, key)}
    with wrong_usage():
        given = parse_pairs(properties, "-X", "client.id=me")
    if settings.bootstrap is not None or not {"bootstrap.servers"} & {*config, *given}:
        config["bootstrap.servers"] = settings.bootstrap_servers
    return config | {key: value for key, value in chosen.items() if value is not None} | given


def is_for(kind: Kind, key: str) -> bool:
    """So is one that nobody knows: the client says so."""
    return key in definitions(kind) or not any(key in definitions(other) for other in Kind)
