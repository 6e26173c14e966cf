"""`odradek server start FILE`: one node in the foreground.

SIGTERM and Ctrl-C start a controlled shutdown: a broker's leaderships move to other brokers, a leader of the quorum
resigns. A second signal ends the process at once. Log lines go to standard error.
"""

import asyncio
import signal
from collections.abc import Callable

import click

from odradek.cli.base.errors import warn
from odradek.cli.base.options import Settings, local_options
from odradek.cli.commands.server_log import log_to_stderr
from odradek.common.files import OsFileSystem
from odradek.network.loop import run
from odradek.server.config.server_config import ServerConfig, load_server_config
from odradek.server.node import Node
from odradek.server.process.garbage_collector import relax_collector
from odradek.server.process.memory import keep_freed_memory

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@click.group()
@local_options
def server() -> None:
    """Run a node."""


@server.command("start")
@click.argument("path", metavar="FILE")
@click.option("--override", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting of the file.")
@local_options
@click.pass_obj
def start_command(settings: Settings, path: str, overrides: tuple[str, ...]) -> None:
    """Run the node that FILE, in the format of Kafka's server.properties, configures."""
    config = load_server_config(OsFileSystem(), path, overrides)
    for warning in config.warnings:
        warn(warning)
    log_to_stderr(config.node_id, verbose=settings.verbose, utc=settings.utc, as_json=settings.as_json)
    relax_collector()
    run(serve(config))


async def serve(
    config: ServerConfig, on_ready: Callable[[], None] = lambda: None, lifeline_fd: int | None = None
) -> None:
    """Run a node until SIGTERM or SIGINT, or until the pipe `lifeline_fd` is closed: then the whole cluster stops."""
    node = Node(config)
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(node.start())

    def stop() -> None:
        for signal_number in _STOP_SIGNALS:
            loop.remove_signal_handler(signal_number)  # the next one ends the process
        starting.cancel()
        node.request_stop()

    def lifeline_closed(fd: int) -> None:
        loop.remove_reader(fd)
        node.expect_no_successor()
        stop()

    for signal_number in _STOP_SIGNALS:
        loop.add_signal_handler(signal_number, stop)
    if lifeline_fd is not None:
        loop.add_reader(lifeline_fd, lifeline_closed, lifeline_fd)
    try:
        await starting
    except asyncio.CancelledError:
        return  # stopped during start-up, after which the node has cleaned up
    keep_freed_memory()
    on_ready()
    try:
        await node.wait()
    finally:
        await node.stop()
