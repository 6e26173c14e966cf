"""Work on the cluster that the options of a command name."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import click

from odradek.cli.base.options import Settings
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.operations import AdminOperations
from odradek.client.net.config import ClientConfig, read_client_config
from odradek.common.addresses import parse_bootstrap
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.errors import VersionsDiffer, WrongEndpoint
from odradek.protocol.errors import InvalidMessage

_Result = TypeVar("_Result")

#: Shorter than the client's default: an election takes a second or two, and a user waits for the error.
_API_TIMEOUT_MS = 15_000


def on_cluster(settings: Settings, work: Callable[[AdminOperations], Awaitable[_Result]]) -> _Result:
    """Connect to the cluster, and return the result of `work`."""
    return asyncio.run(_run(router_for(settings), work))


def router_for(settings: Settings) -> ClusterRouter:
    """Return a router that is not connected yet.

    Raises InputError for malformed addresses and files, and UsageError for options that exclude each other.
    """
    config = replace(ClientConfig(), api_timeout_ms=_API_TIMEOUT_MS)
    if settings.command_config is not None:
        config = read_client_config(OsFileSystem(), settings.command_config, config)
    if settings.bootstrap_controller is None:
        return ClusterRouter(parse_bootstrap(settings.bootstrap_servers, _bootstrap_source(settings)), config)
    if settings.bootstrap is not None:
        raise click.UsageError("--bootstrap and --bootstrap-controller exclude each other.")
    addresses = parse_bootstrap(settings.bootstrap_controller, "--bootstrap-controller")
    return ClusterRouter(addresses, config, are_controllers=True)


def _bootstrap_source(settings: Settings) -> str:
    return "ODRADEK_BOOTSTRAP" if not settings.bootstrap and os.environ.get("ODRADEK_BOOTSTRAP") else "--bootstrap"


async def _run(router: ClusterRouter, work: Callable[[AdminOperations], Awaitable[_Result]]) -> _Result:
    async with router:
        try:
            return await work(AdminOperations(router))
        except WrongEndpoint as error:
            option = "--bootstrap" if router.are_controllers else "--bootstrap-controller"
            raise InputError(f"{error.message}; use {option} for this address") from None
        except VersionsDiffer as error:
            advice = (
                "brokers support this request: use --bootstrap with the address of a broker"
                if router.are_controllers
                else "the address may be that of a controller, or of an older broker"
            )
            raise InputError(f"{error.message}; {advice}") from None
        except InvalidMessage as error:  # a number or a name from the command line that is too large
            raise InputError(str(error)) from None
