"""Apache Kafka's tools, each run to its end, all in one JVM: a tool is done in a moment where a JVM takes a second.

The JVM starts with the first tool and ends with this process. One at a time: they take the standard streams in turn.
"""

import atexit
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from helpers import jvm, peers
from helpers.java_clients import JavaClients, Said

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


def metadata_shell(*arguments: str) -> str:
    """What MetadataShell printed, in a process of its own: in one that goes on it never ends."""
    shell = "org.apache.kafka.shell.MetadataShell"
    return jvm.output_of(peers.java_command(shell, arguments, flags=jvm.quick_flags()))


def _done(main_class: str, *arguments: str) -> Said:
    said = tool(main_class, *arguments)
    assert said.status == 0, f"{main_class} {arguments} ended with {said.status}:\n{said.output}\n{said.errors}"
    return said


def _started() -> JavaClients:
    if not _jvm:
        directory = _running.enter_context(tempfile.TemporaryDirectory(prefix="odradek-tools-"))
        _jvm.append(_running.enter_context(JavaClients(Path(directory))))
    return _jvm[0]
