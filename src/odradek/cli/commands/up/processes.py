"""Processes of the nodes of a local cluster: forked, watched, stopped.

They are forked from a process that has imported all modules, which therefore are imported once and not once per node.
Each has its own session: Ctrl-C reaches only the parent, which stops them in order. Two pipes connect them:

* a status pipe per node: the node writes `ready`, or why it cannot start; it is closed when the process ends;
* the lifeline, one for all nodes: it is closed when the parent ends for whatever reason, and the nodes stop then. When
  the cluster stops, the parent closes it as soon as no majority of controllers is left, so that none seeks a successor.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from odradek.cli.base.errors import describe, echo, warn
from odradek.cli.commands.server import serve
from odradek.cli.commands.server_log import log_to_stderr
from odradek.common.failures import Fault, InputError
from odradek.common.printable import traceback_lines
from odradek.network.loop import run
from odradek.server.host.layout import LocalNode

_READY = b"ready\n"

#: A larger log of a node is rotated when the node starts; one older log is retained.
_LOG_BYTES_MAX = 10 << 20

#: A reason has a line or two, and is read at once.
_STATUS_BYTES_MAX = 1 << 16


class NodeProcess:
    """Process of a node. `status` is that of `os.waitstatus_to_exitcode`; None while it is running."""

    def __init__(self, node: LocalNode, pid: int, status_fd: int) -> None:
        self.node = node
        self.pid = pid
        self.is_ready = False
        self.status: int | None = None
        self._status_fd = status_fd
        self._received = b""

    @property
    def is_running(self) -> bool:
        return self.status is None

    @property
    def end_reason(self) -> str:
        """Reason why the process ended: as reported by it, or by its exit status."""
        reason = self._received.removeprefix(_READY).decode(errors="replace").strip()
        if reason:
            return reason
        if self.status is not None and self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}"
        return f"ended with status {self.status}"

    def watch(self, changed: Callable[["NodeProcess"], None]) -> None:
        """Call `changed` when the node is ready, and when the process has ended."""
        asyncio.get_running_loop().add_reader(self._status_fd, self._read, changed)

    def send(self, signal_number: signal.Signals) -> None:
        if self.is_running:
            os.kill(self.pid, signal_number)

    def _read(self, changed: Callable[["NodeProcess"], None]) -> None:
        data = os.read(self._status_fd, _STATUS_BYTES_MAX)
        self._received += data
        if not data:  # closed by the end of the process
            asyncio.get_running_loop().remove_reader(self._status_fd)
            os.close(self._status_fd)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.is_ready = self._received.startswith(_READY)
        changed(self)


class NodeProcesses:
    """Processes of all nodes. `start` has to be called before there is an event loop, the rest within one."""

    def __init__(self) -> None:
        self.all: list[NodeProcess] = []
        self._lifeline = os.pipe()
        self._lifeline_ended = False

    def start(self, nodes: Sequence[LocalNode], *, verbose: bool) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        for node in nodes:
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(self._lifeline[1])
                _run_node(node, writing, self._lifeline[0], verbose=verbose)
            os.close(writing)
            self.all.append(NodeProcess(node, pid, reading))

    @property
    def running(self) -> list[NodeProcess]:
        return [process for process in self.all if process.is_running]

    def stop(self) -> None:
        for process in self.running:
            process.send(signal.SIGTERM)
        self.maybe_end_lifeline()

    def maybe_end_lifeline(self) -> None:
        """Close the lifeline if no majority of controllers is left. Called during a stop, after each exit."""
        controllers = [process for process in self.all if process.node.config.is_controller]
        running = sum(process.is_running for process in controllers)
        if running * 2 <= len(controllers) and not self._lifeline_ended:
            self._lifeline_ended = True
            os.close(self._lifeline[1])

    def kill(self) -> None:
        for process in self.running:
            process.send(signal.SIGKILL)


def _run_node(node: LocalNode, status_fd: int, lifeline_fd: int, *, verbose: bool) -> NoReturn:
    """Run the node in the forked process, and exit; it never returns to the code of the parent."""
    status = 1
    try:
        os.setsid()
        _redirect(node, verbose=verbose)
        log_to_stderr(node.id, verbose=verbose)
        for warning in node.config.warnings:
            warn(warning)
        run(serve(node.config, lambda: _report(status_fd, _READY), lifeline_fd))
        status = 0
    except (InputError, Fault, OSError) as error:
        _report(status_fd, describe(error).encode())
    except BaseException as error:  # noqa: BLE001  the process ends here, so it is reported here
        for line in traceback_lines(error):
            echo(line, err=True)
    finally:
        sys.stderr.flush()
        os._exit(status)


def _redirect(node: LocalNode, *, verbose: bool) -> None:
    """Redirect stdin to /dev/null, and the output to the node's log, or with `verbose` to the parent's stderr."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if verbose:
        os.dup2(2, 1)
        return
    if os.path.exists(node.log) and os.path.getsize(node.log) > _LOG_BYTES_MAX:
        os.replace(node.log, node.log + ".1")
    log_fd = os.open(node.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)


def _report(status_fd: int, text: bytes) -> None:
    try:
        os.write(status_fd, text)
    except BrokenPipeError:
        return  # the parent has ended; the lifeline is closed, too
