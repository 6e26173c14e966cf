"""One real Apache Kafka node, broker and controller in one, on free ports, for as long as a test needs it.

The node gets a data directory that is formatted already (or formats an empty one) and listeners of its own; its log
goes to a file beside it. Whatever happens, the process is gone at the end of the `with` block.
"""

import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.peers import downloads as peers
from support.peers import jvm, kafka_tools
from support.processes.ports import free_ports
from support.waiting import Hopeless, wait_until

#: A node answers after 3 s on an idle machine; ten times that and more on a busy one.
_START_TIMEOUT_S = 120
_STOP_TIMEOUT_S = 120

_LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d] %p %m (%c)%n%throwable
"""


@dataclass(frozen=True, slots=True)
class KafkaNode:
    bootstrap: str
    data: Path
    log: Path
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """A controlled shutdown, as an operator would do it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(_STOP_TIMEOUT_S)


@contextmanager
def kafka_node(
    data: Path,
    scratch: Path,
    *,
    node_id: int = 1,
    settings: Mapping[str, str] | None = None,
    cluster_id: str | None = None,
) -> Iterator[KafkaNode]:
    """A running node on `data`; with `cluster_id` the directory is formatted first."""
    scratch.mkdir(parents=True, exist_ok=True)
    broker_port, controller_port = free_ports(2)
    properties = scratch / "server.properties"
    properties.write_text(_properties(data, node_id, broker_port, controller_port, settings or {}))
    log4j = scratch / "log4j2.properties"
    log = scratch / "kafka.log"
    log4j.write_text(_LOG4J.format(path=log))
    if cluster_id is not None:
        kafka_tools.run("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(properties))
    command = peers.java_command(
        "kafka.Kafka",
        [str(properties)],
        flags=jvm.quick_flags(heap_mb=512),
        properties={"log4j2.configurationFile": str(log4j)},
    )
    with (scratch / "kafka.out").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=scratch)
    node = KafkaNode(f"127.0.0.1:{broker_port}", data, log, process)
    try:
        wait_until(
            lambda: _answers(node, broker_port), "Apache Kafka answers", _START_TIMEOUT_S, lambda: _tail(scratch)
        )
        yield node
    finally:
        process.kill()
        process.wait()


def _properties(data: Path, node_id: int, broker_port: int, controller_port: int, settings: Mapping[str, str]) -> str:
    values = {
        "process.roles": "broker,controller",
        "node.id": str(node_id),
        "controller.quorum.voters": f"{node_id}@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{broker_port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker_port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        **settings,
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _answers(node: KafkaNode, port: int) -> bool:
    if node.process.poll() is not None:
        raise Hopeless(f"Apache Kafka ended with status {node.process.returncode}\n{_tail(node.log.parent)}")
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _tail(scratch: Path) -> str:
    """The end of what the node said, for the message of a failed test."""
    texts = [
        path.read_text(errors="replace")[-4000:]
        for path in (scratch / "kafka.log", scratch / "kafka.out")
        if path.exists()
    ]
    return "\n".join(texts)
