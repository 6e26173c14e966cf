"""`odradek up`: a local cluster in the foreground, without configuration.

odradek up
odradek up --nodes 3 --port 19092 --data /tmp/try
odradek up --ephemeral --format json

Ctrl-C and SIGTERM stop the cluster: brokers do a controlled shutdown, and all logs are closed. A second signal kills
the remaining nodes. A node that exits by itself is reported, and the others continue, as they would on separate
machines. The command exits with the last node.
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
from odradek.common.file_error_advice import with_advice
from odradek.common.files import OsFileSystem
from odradek.common.locks import DirLocked, lock_dir
from odradek.common.system_clock import SystemClock
from odradek.server.host.layout import LocalNode, prepare_cluster

#: In the working directory, as other tools do.
DEFAULT_DATA = ".odradek"

#: More than this on one machine is a mistake.
_NODES_MAX = 32


@click.command()
@click.option(
    "--nodes",
    "node_count",
    type=click.IntRange(1, _NODES_MAX),
    metavar="N",
    help="[default: 1, or the number of an existing cluster]",
)
@click.option(
    "--port", default=9092, show_default=True, metavar="PORT", help="Port of node 1; node i has PORT + i - 1."
)
@click.option("--data", metavar="DIR", help=f"Data directory of the cluster [default: {DEFAULT_DATA}].")
@click.option("--ephemeral", is_flag=True, help="Use a temporary directory, which is deleted at the end.")
@local_options
@click.pass_obj
def up(settings: Settings, node_count: int | None, port: int, data: str | None, ephemeral: bool) -> int:
    """Run a local cluster in the foreground, with a process per node, until Ctrl-C.

    The data directory is created at the first start and reused afterwards. The ports of the other nodes follow that of
    node 1, and those of controllers follow the ports of brokers. With -v the logs of the nodes are shown, too.
    """
    if data is not None and ephemeral:
        raise click.UsageError("--data and --ephemeral exclude each other.")
    with _directory(data, ephemeral=ephemeral) as directory:
        nodes = prepare_cluster(OsFileSystem(), SystemClock(), directory, node_count, port)
        _check_free(nodes)
        processes = NodeProcesses()
        processes.start(nodes, verbose=settings.verbose)
        logs = "their logs follow" if settings.verbose else "their logs are node-*/node.log there"
        _notify(f"starting {plural(len(nodes), 'node')} in {directory}; {logs}")
        return asyncio.run(_ClusterRun(processes, as_json=settings.as_json, has_log_files=not settings.verbose).run())


@contextmanager
def _directory(data: str | None, *, ephemeral: bool) -> Iterator[str]:
    """Yield the absolute path of the data directory, locked against a second cluster."""
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
        raise InputError(f"a cluster is already running in {directory}; use --data for another directory.") from None
    except OSError as error:
        raise InputError(f"{with_advice(directory, error)} Use --data for another directory.") from None
    if data is None:
        Path(directory, ".gitignore").write_text("*\n")  # the working directory may be under version control
    try:
        yield directory
    finally:
        lock.release()


def _check_free(nodes: Sequence[LocalNode]) -> None:
    """Raise InputError if a port is in use, before any process is started."""
    for node in nodes:
        for listener in node.config.listeners.bound:
            try:
                socket.create_server((listener.host, listener.port)).close()
            except OSError as error:
                reason = os.strerror(error.errno or 0)
                raise InputError(
                    f"port {listener.port} of {listener.host} is not available ({reason}); use --port for other ports."
                ) from None


class _ClusterRun:
    """Run of a cluster, from the start of its processes to the end of the last one."""

    def __init__(self, processes: NodeProcesses, *, as_json: bool, has_log_files: bool) -> None:
        self._processes = processes
        #: False if the nodes write to standard error.
        self._has_log_files = has_log_files
        self._as_json = as_json
        self._is_up = False
        self._status = 0
        self._stopping = False
        self._ended = asyncio.Event()

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signal_number, self._handle_stop_signal)
        for process in self._processes.all:
            process.watch(self._changed)
        await self._ended.wait()
        return self._status

    def _changed(self, process: NodeProcess) -> None:
        if not process.is_running:
            self._handle_exit(process)
        elif not self._is_up and all(other.is_ready for other in self._processes.all):
            self._is_up = True
            with suppress(BrokenPipeError):
                self._announce()
        if not self._processes.running:
            self._ended.set()

    def _handle_exit(self, process: NodeProcess) -> None:
        if self._stopping:
            self._processes.maybe_end_lifeline()
            if process.status:
                self._warn_of_end(process)
            return
        if self._is_up and self._processes.running:
            advice = f"odradek server start {process.node.config_path} starts it again"
            _warn(f"node {process.node.id}: {process.end_reason}; the other nodes continue. {advice}")
            return
        self._status = 1
        self._stop()
        self._warn_of_end(process)

    def _warn_of_end(self, process: NodeProcess) -> None:
        log = f"its log is {process.node.log}" if self._has_log_files else "its log is above"
        _warn(f"node {process.node.id}: {process.end_reason}; {log}")

    def _announce(self) -> None:
        processes = self._processes.all
        bootstrap = ",".join(process.node.address for process in processes)
        if self._as_json:
            nodes = [
                {"id": process.node.id, "pid": process.pid, "port": process.node.port, "data": process.node.data}
                for process in processes
            ]
            print_json({"bootstrap": bootstrap, "nodes": nodes})
        else:
            rows = [(process.node.id, process.node.address, process.pid, process.node.data) for process in processes]
            print_table(("node", "address", "pid", "data"), rows)
            echo(f"ready: {bootstrap}")
        sys.stdout.flush()
        _notify("Ctrl-C stops it")

    def _handle_stop_signal(self) -> None:
        if self._stopping:
            self._processes.kill()
            return
        self._stop()
        _notify("stopping; press Ctrl-C again to kill the nodes")

    def _stop(self) -> None:
        self._stopping = True
        self._processes.stop()


def _notify(text: str) -> None:
    """Write to stderr. If it is closed, with the terminal for example, the nodes are stopped nevertheless."""
    with suppress(OSError):
        echo(text, err=True)


def _warn(text: str) -> None:
    with suppress(OSError):
        warn(text)
