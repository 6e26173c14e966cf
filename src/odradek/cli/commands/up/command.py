"""`odradek up`: a local cluster in the foreground, without configuration.

odradek up
odradek up --nodes 3 --port 19092 --data /tmp/try
odradek up --ephemeral --format json

Ctrl-C and SIGTERM stop it: brokers first say goodbye, all logs are closed. A second one kills what is still there. A
node that ends by itself is reported, and the others go on, as they would on machines of their own; the last one takes
the command with it.
"""

import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from odradek.cli.base.errors import echo, warn
from odradek.cli.base.options import Settings, local_options
from odradek.cli.base.output import plural, print_json, print_table
from odradek.cli.commands.up.processes import NodeProcess, NodeProcesses
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.locks import DirLocked, lock_dir
from odradek.common.remedies import explained
from odradek.common.system import SystemClock
from odradek.server.host.layout import LocalNode, prepare_cluster

#: Beside what one works on, as other tools keep theirs.
DEFAULT_DATA = ".odradek"

#: More than this on one machine is a mistake.
_NODES_MAX = 32


@click.command()
@click.option(
    "--nodes", "node_count", type=click.IntRange(1, _NODES_MAX), metavar="N", help="[default: 1, or as before]"
)
@click.option("--port", default=9092, show_default=True, metavar="PORT", help="Of node 1; node i has PORT + i - 1.")
@click.option("--data", metavar="DIR", help=f"Where the cluster is kept [default: {DEFAULT_DATA}].")
@click.option("--ephemeral", is_flag=True, help="Keep nothing: data goes to a temporary directory.")
@local_options
@click.pass_obj
def up(settings: Settings, node_count: int | None, port: int, data: str | None, ephemeral: bool) -> int:
    """Run a local cluster in the foreground, each node a process, until Ctrl-C.

    The directory is made at the first start and used again at the next. The first node's port is followed by those of
    the other nodes, and then by those of the controllers. With -v the nodes' logs are shown, too.
    """
    if data is not None and ephemeral:
        raise click.UsageError("--data and --ephemeral exclude each other.")
    with _directory(data, ephemeral=ephemeral) as directory:
        nodes = prepare_cluster(OsFileSystem(), SystemClock(), directory, node_count, port)
        _check_free(nodes)
        processes = NodeProcesses()
        processes.start(nodes, verbose=settings.verbose)
        logs = "their logs follow" if settings.verbose else "their logs are node-*/node.log there"
        _tell(f"starting {plural(len(nodes), 'node')} in {directory}; {logs}")
        return asyncio.run(_Up(processes, as_json=settings.as_json, has_log_files=not settings.verbose).run())


@contextmanager
def _directory(data: str | None, *, ephemeral: bool) -> Iterator[str]:
    """An absolute path, held against a second cluster in it."""
    if ephemeral:
        temporary = tempfile.mkdtemp(prefix="odradek-")
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return
    directory = os.path.abspath(data or DEFAULT_DATA)
    try:
        os.makedirs(directory, exist_ok=True)
        lock = lock_dir(directory)
    except DirLocked:
        raise InputError(f"a cluster is running in {directory} already; --data names another directory.") from None
    except OSError as error:
        raise InputError(f"{explained(directory, error)} --data names another directory.") from None
    if data is None:
        Path(directory, ".gitignore").write_text("*\n")  # it lies among somebody's sources
    try:
        yield directory
    finally:
        lock.release()


def _check_free(nodes: Sequence[LocalNode]) -> None:
    """Said by whoever knows of --port, and before anything has started."""
    for node in nodes:
        for listener in node.config.listeners.bound:
            try:
                socket.create_server((listener.host, listener.port)).close()
            except OSError as error:
                reason = os.strerror(error.errno or 0)
                raise InputError(
                    f"port {listener.port} of {listener.host} cannot be had ({reason}); --port names others."
                ) from None


class _Up:
    """From the start of the processes to the end of the last one."""

    def __init__(self, processes: NodeProcesses, *, as_json: bool, has_log_files: bool) -> None:
        self._processes = processes
        #: Otherwise the nodes write to the error output.
        self._has_log_files = has_log_files
        self._as_json = as_json
        self._is_up = False
        self._status = 0
        self._stopping = False
        self._ended = asyncio.Event()

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._asked_to_stop)
        for process in self._processes.all:
            process.watch(self._changed)
        await self._ended.wait()
        return self._status

    def _changed(self, process: NodeProcess) -> None:
        if not process.is_running:
            self._lost(process)
        elif not self._is_up and all(each.is_ready for each in self._processes.all):
            self._is_up = True
            with suppress(BrokenPipeError):
                self._announce()
        if not self._processes.running:
            self._ended.set()

    def _lost(self, process: NodeProcess) -> None:
        if self._stopping:
            self._processes.maybe_end_lifeline()
            if process.status:
                self._warn_of_end(process)
            return
        if self._is_up and self._processes.running:
            again = f"odradek server start {process.node.config_path} starts it again"
            _warn(f"node {process.node.id} is gone: {process.end}; the others go on, and {again}")
            return
        self._status = 1
        self._stop()
        self._warn_of_end(process)

    def _warn_of_end(self, process: NodeProcess) -> None:
        log = f"its log is {process.node.log}" if self._has_log_files else "its log is above"
        _warn(f"node {process.node.id}: {process.end}; {log}")

    def _announce(self) -> None:
        processes = self._processes.all
        bootstrap = ",".join(process.node.address for process in processes)
        if self._as_json:
            nodes = [
                {"id": each.node.id, "pid": each.pid, "port": each.node.port, "data": each.node.data}
                for each in processes
            ]
            print_json({"bootstrap": bootstrap, "nodes": nodes})
        else:
            rows = [(each.node.id, each.node.address, each.pid, each.node.data) for each in processes]
            print_table(("node", "address", "pid", "data"), rows)
            echo(f"ready: {bootstrap}")
        sys.stdout.flush()
        _tell("Ctrl-C stops it")

    def _asked_to_stop(self) -> None:
        if self._stopping:
            self._processes.kill()
            return
        self._stop()
        _tell("stopping; a second Ctrl-C does not wait")

    def _stop(self) -> None:
        self._stopping = True
        self._processes.stop()


def _tell(text: str) -> None:
    """Whoever listened may be gone, with the terminal for example. That must not keep the nodes from being stopped."""
    with suppress(OSError):
        echo(text, err=True)


def _warn(text: str) -> None:
    with suppress(OSError):
        warn(text)
