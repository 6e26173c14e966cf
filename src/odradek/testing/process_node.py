"""A node as a process of its own, told what to do through its standard input (see `node_process`)."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

from odradek.common.failures import Fault
from odradek.testing.hosted_node import HostedNode

#: The answer to a command that was done.
OK = "ok"


def suspend(process: "subprocess.Popen[Any]") -> None:
    """Stop a child with SIGSTOP, and wait until all its threads have stopped: until then it may still answer."""
    process.send_signal(signal.SIGSTOP)
    # WNOWAIT leaves what is reported to `Popen`, in case that the process has ended.
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


class ProcessNode(HostedNode):
    _process: "subprocess.Popen[str] | None" = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def _start(self) -> None:
        self._release()
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "odradek.testing.node_process", self._config_path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C is for the test
            )
        try:
            self._tell("start")
        except Fault:
            if self._process is not None:  # it was not killed meanwhile
                self._kill()
            raise

    def _stop(self) -> None:
        self._tell("stop")
        self._kill()

    def _kill(self) -> None:
        process = self._current
        process.kill()
        process.wait()
        self._release()

    def _pause(self) -> None:
        suspend(self._current)

    def _resume(self) -> None:
        self._current.send_signal(signal.SIGCONT)

    def _cut_off(self) -> None:
        self._tell("cut_off")

    def _heal(self) -> None:
        self._tell("heal")

    def _slow_disk(self, delay_ms: float) -> None:
        self._tell(f"slow_disk {delay_ms}")

    @property
    def _current(self) -> "subprocess.Popen[str]":
        assert self._process is not None
        return self._process

    def _tell(self, command: str) -> None:
        process = self._current
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(f"{command}\n")
            process.stdin.flush()
            response = process.stdout.readline().strip()
        except (OSError, ValueError):  # its end, or ours of the pipe
            response = ""
        if response != OK:
            raise Fault(f"node {self.id}: {response or 'its process has ended'}; its log is {self._log}")

    def _release(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with suppress(OSError):  # a command that never arrived
                    pipe.close()
