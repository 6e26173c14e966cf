"""The peers for tests: `tools/peers.py` as a module, and a short way to run one of Kafka's tools."""

import importlib.util
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

_TOOL = Path(__file__).parents[2] / "tools" / "peers.py"

#: Kafka's tools answer in a second or two; on a busy machine in some more.
_TOOL_TIMEOUT_S = 180


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("odradek_tools_peers", _TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_peers = _load()
PeerMissing = _peers.PeerMissing
java_command = _peers.java_command
kafka_classpath = _peers.kafka_classpath
kafka_directory = _peers.kafka_directory


def run_kafka_tool(main_class: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A tool of Kafka's, run to its end. A failure is an AssertionError with everything it said."""
    command: Sequence[str] = java_command(main_class, arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{main_class} failed:\n{done.stdout}\n{done.stderr}"
    return done


def dump_log_segments(*arguments: str) -> str:
    """What DumpLogSegments printed; what it complained about, if anything, comes behind it."""
    done = run_kafka_tool("org.apache.kafka.tools.DumpLogSegments", *arguments)
    return done.stdout + done.stderr
