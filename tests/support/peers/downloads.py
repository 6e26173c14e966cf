"""`tools/peers.py` as a module: downloads of the peers. `jvm` runs Java files, `kafka_tools` runs Kafka's tools."""

import importlib.util
from pathlib import Path
from types import ModuleType

_TOOL = Path(__file__).parents[3] / "tools" / "peers.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("odradek_tools_peers", _TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_peers = _load()
PeerMissing = _peers.PeerMissing
cache_directory = _peers.cache_directory
delta_jars = _peers.delta_jars
java = _peers.java
java_command = _peers.java_command
kafka_classpath = _peers.kafka_classpath
kafka_directory = _peers.kafka_directory
spark_kafka_jars = _peers.spark_kafka_jars
