"""Apache Kafka's tools, each run to its end, all in one JVM: a tool is done in a moment where a JVM takes a second.

The JVM starts with the first tool and ends with this process. One at a time: they take the standard streams in turn.
"""

import atexit
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from support.peers import downloads as peers
from support.peers import jvm
from support.peers.java_clients import JavaClients, Said

#: A snapshot is loaded in a moment where nobody else wants the machine.
_SHELL_TIMEOUT_S = 120
_SHELL_PROMPT = b">> "

_only_one = threading.Lock()
_running = ExitStack()
atexit.register(_running.close)
_jvm: list[JavaClients] = []


def tool(main_class: str, *arguments: str) -> Said:
    """Whatever its status."""
    with _only_one:
        try:
            return _started().tool(main_class, *arguments)
        except BaseException:
            # It may still be at work, and would answer whoever asks next.
            _jvm.clear()
            _running.close()
            raise


def run(main_class: str, *arguments: str) -> str:
    """What it printed. A failure is an AssertionError with everything it said."""
    return _done(main_class, *arguments).output


def dump_log_segments(*arguments: str) -> str:
    """What DumpLogSegments printed; what it complained about, if anything, comes behind it."""
    said = _done("org.apache.kafka.tools.DumpLogSegments", *arguments)
    return said.output + said.errors


def metadata_shell(snapshot: Path, command: str, is_loaded: Callable[[str], bool]) -> str:
    """What MetadataShell prints for a command, in a process of its own: in one that goes on it never ends. The shell
    takes commands while it is still loading the snapshot, so it is asked again until the answer is that of a snapshot
    that `is_loaded`."""
    arguments = ("--snapshot", str(snapshot))
    flags = jvm.quick_flags()
    java = peers.java_command("org.apache.kafka.shell.MetadataShell", arguments, flags=flags)
    with subprocess.Popen(java, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as shell:
        assert shell.stdin is not None and shell.stdout is not None
        try:
            _until_prompt(shell.stdout)
            deadline_s = time.monotonic() + _SHELL_TIMEOUT_S
            while True:
                shell.stdin.write(f"{command}\n".encode())
                shell.stdin.flush()
                shown = _until_prompt(shell.stdout)
                if is_loaded(shown):
                    return shown
                assert time.monotonic() < deadline_s, f"the shell has not loaded {snapshot}:\n{shown}"
        finally:
            shell.kill()


def _until_prompt(stream: IO[bytes]) -> str:
    text = b""
    while not text.endswith(_SHELL_PROMPT):
        byte = stream.read(1)
        assert byte, f"the shell has ended:\n{text.decode()}"
        text += byte
    return text.removesuffix(_SHELL_PROMPT).decode()


def _done(main_class: str, *arguments: str) -> Said:
    said = tool(main_class, *arguments)
    assert said.status == 0, f"{main_class} {arguments} ended with {said.status}:\n{said.output}\n{said.errors}"
    return said


def _started() -> JavaClients:
    if not _jvm:
        directory = _running.enter_context(tempfile.TemporaryDirectory(prefix="odradek-tools-"))
        _jvm.append(_running.enter_context(JavaClients(Path(directory))))
    return _jvm[0]
