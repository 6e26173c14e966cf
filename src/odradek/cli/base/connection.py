"""From the options about a cluster to work that is done on it."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import click

from odradek.cli.base.options import Settings
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.net.config import ClientConfig, read_client_config
from odradek.common.addresses import parse_bootstrap
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.errors import VersionsDiffer, WrongEndpoint
from odradek.protocol.errors import InvalidMessage

_Result = TypeVar("_Result")

#: An election takes a second or two. Who sits at a terminal should hear of one that does not end.
_API_TIMEOUT_MS = 15_000


def on_cluster(settings: Settings, work: Callable[[ClusterRouter], Awaitable[_Result]]) -> _Result:
    """What `work` returns, done with the cluster that the options name."""
    return asyncio.run(_work(cluster_of(settings), work))


def cluster_of(settings: Settings) -> ClusterRouter:
    """Raises InputError for addresses and files that are none, and UsageError for options that contradict."""
    config = replace(ClientConfig(), api_timeout_ms=_API_TIMEOUT_MS)
    if settings.command_config is not None:
        config = read_client_config(OsFileSystem(), settings.command_config, config)
    if settings.bootstrap_controller is None:
        return ClusterRouter(parse_bootstrap(settings.bootstrap_servers, _where(settings)), config)
    if settings.bootstrap is not None:
        raise click.UsageError("--bootstrap and --bootstrap-controller exclude each other.")
    addresses = parse_bootstrap(settings.bootstrap_controller, "--bootstrap-controller")
    return ClusterRouter(addresses, config, are_controllers=True)


def _where(settings: Settings) -> str:
    return "ODRADEK_BOOTSTRAP" if not settings.bootstrap and os.environ.get("ODRADEK_BOOTSTRAP") else "--bootstrap"


async def _work(cluster: ClusterRouter, work: Callable[[ClusterRouter], Awaitable[_Result]]) -> _Result:
    async with cluster:
        try:
            return await work(cluster)
        except WrongEndpoint as error:
            right = "--bootstrap" if cluster.are_controllers else "--bootstrap-controller"
            raise InputError(f"{error.message}; say it with {right}") from None
        except VersionsDiffer as error:
            advice = (
                "brokers answer it, say the address of one with --bootstrap"
                if cluster.are_controllers
                else "a broker is asked here, and that may be a controller or an old one"
            )
            raise InputError(f"{error.message}; {advice}") from None
        except InvalidMessage as error:  # a number or a name of the command line that is too large
            raise InputError(str(error)) from None
