"""The nodes of a local cluster as processes: forked, watched, stopped.

They are forked from a process that has imported everything, so that it is imported once and not once a node. Each has
a session of its own: Ctrl-C reaches only the parent, which stops them in order. Two pipes tie them together:

* the status pipe, one a node: it says `ready`, or why it cannot start; its end is the end of the process;
* the lifeline, one for all: it ends when the parent does, however that happens, and the nodes stop by themselves then.
  In a stop the parent ends it as soon as there is no majority of controllers left: nobody need look for a successor.
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

#: The log of a node that has grown beyond this is put aside when the node starts; one older one is kept.
_LOG_BYTES_MAX = 10 << 20

#: A reason is a line or two; one read takes it whole.
_STATUS_BYTES_MAX = 1 << 16


class NodeProcess:
    """As the parent sees it. `status` is that of `os.waitstatus_to_exitcode`; None while it runs."""

    def __init__(self, node: LocalNode, pid: int, status_fd: int) -> None:
        self.node = node
        self.pid = pid
        self.is_ready = False
        self.status: int | None = None
        self._status_fd = status_fd
        self._said = b""

    @property
    def is_running(self) -> bool:
        return self.status is None

    @property
    def end(self) -> str:
        """How it ended, in words: its own if it had any."""
        reason = self._said.removeprefix(_READY).decode(errors="replace").strip()
        if reason:
            return reason
        if self.status is not None and self.status < 0:
            return f"it was ended by {signal.Signals(-self.status).name}"
        return f"it ended with status {self.status}"

    def watch(self, changed: Callable[["NodeProcess"], None]) -> None:
        """`changed` is called when it is ready, and when it has ended."""
        asyncio.get_running_loop().add_reader(self._status_fd, self._read, changed)

    def send(self, number: signal.Signals) -> None:
        if self.is_running:
            os.kill(self.pid, number)

    def _read(self, changed: Callable[["NodeProcess"], None]) -> None:
        data = os.read(self._status_fd, _STATUS_BYTES_MAX)
        self._said += data
        if not data:  # only its end closes the pipe
            asyncio.get_running_loop().remove_reader(self._status_fd)
            os.close(self._status_fd)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.is_ready = self._said.startswith(_READY)
        changed(self)


class NodeProcesses:
    """All of them; call `start` before there is an event loop, the rest within one."""

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
                _be(node, writing, self._lifeline[0], verbose=verbose)
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
        """In a stop, after each process that has ended."""
        controllers = [process for process in self.all if process.node.config.is_controller]
        running = sum(process.is_running for process in controllers)
        if running * 2 <= len(controllers) and not self._lifeline_ended:
            self._lifeline_ended = True
            os.close(self._lifeline[1])

    def kill(self) -> None:
        for process in self.running:
            process.send(signal.SIGKILL)


def _be(node: LocalNode, status_fd: int, lifeline_fd: int, *, verbose: bool) -> NoReturn:
    """What the forked process does until its end; it never returns to what the parent was doing."""
    status = 1
    try:
        os.setsid()
        _redirect(node, verbose=verbose)
        log_to_stderr(node.id, verbose=verbose)
        for warning in node.config.warnings:
            warn(warning)
        run(serve(node.config, lambda: _say(status_fd, _READY), lifeline_fd))
        status = 0
    except (InputError, Fault, OSError) as error:
        _say(status_fd, describe(error).encode())
    except BaseException as error:  # noqa: BLE001  it ends here; nobody above would show it
        for line in traceback_lines(error):
            echo(line, err=True)
    finally:
        sys.stderr.flush()
        os._exit(status)


def _redirect(node: LocalNode, *, verbose: bool) -> None:
    """Nothing to read; what it says goes to its log, or with `verbose` to where the parent's goes."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if verbose:
        os.dup2(2, 1)
        return
    if os.path.exists(node.log) and os.path.getsize(node.log) > _LOG_BYTES_MAX:
        os.replace(node.log, node.log + ".1")
    log_fd = os.open(node.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)


def _say(status_fd: int, text: bytes) -> None:
    try:
        os.write(status_fd, text)
    except BrokenPipeError:
        return  # the parent is gone; the lifeline says so as well
