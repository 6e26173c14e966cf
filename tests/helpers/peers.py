"""The peers for tests: `tools/peers.py` as a module, and a short way to run a Java file of ours.

Tools of Kafka's are run by `helpers.kafka_tools`.
"""

import importlib.util
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

_TOOL = Path(__file__).parents[2] / "tools" / "peers.py"

#: It takes seconds; on a busy machine some more.
_TIMEOUT_S = 180


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("odradek_tools_peers", _TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_peers = _load()
PeerMissing = _peers.PeerMissing
cache_directory = _peers.cache_directory
java = _peers.java
java_command = _peers.java_command
kafka_classpath = _peers.kafka_classpath
kafka_directory = _peers.kafka_directory


def run_java(source: Path, *arguments: str) -> str:
    """What a Java file that uses Kafka's classes printed. A failure is an AssertionError with everything it said."""
    command: Sequence[str] = java_command(str(source), arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{source} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout
