"""Clusters of real processes, each node Apache Kafka or Odradek, on free ports and in a directory of its own.

`with Cluster(tmp_path, controllers(3)) as cluster:` formats every node with the tools of its kind and starts none;
`start` starts one, `kill`, `stop`, `pause` and `resume` are what they say to the process. Waits are for conditions:
they end early with the node's own words when it has died by itself. At the end of the block every process is gone,
whatever happened, and if it failed, the end of every node's log is printed.

What a quorum thinks of itself is asked over the wire, in `support.processes.nodes_quorum`.
"""

import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import TracebackType

from odradek.cli.app import run as odradek
from odradek.common.ids import uuid_to_text
from odradek.common.uuids import random_uuid
from odradek.testing.process_node import suspend
from support.peers import downloads as peers
from support.peers import jvm, kafka_tools
from support.processes.ports import free_ports
from support.waiting import Hopeless

HOST = "127.0.0.1"
CONTROLLER_LISTENER = "CONTROLLER"

#: Stopping takes less than a second; a busy machine gets many times that.
_STOP_TIMEOUT_S = 120

#: How much of a log a failed test shows, for each node.
_TAIL_CHARACTERS = 6_000

_LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n%throwable
"""


class Kind(Enum):
    ODRADEK = "odradek"
    KAFKA = "kafka"


#: What stands for our nodes. Set to `kafka`, the same tests run on Apache Kafka's nodes alone, and so show that what
#: they expect is Kafka's own behaviour.
OURS = Kind(os.environ.get("ODRADEK_TEST_NODES", "odradek"))


@dataclass(frozen=True, slots=True)
class NodeSpec:
    node_id: int
    kind: Kind = OURS
    roles: str = "controller"
    settings: Mapping[str, str] = field(default_factory=dict)
    #: Dynamic quorums: one of the first voters, or a controller that joins later.
    is_first_voter: bool = True
    #: Those with which a node starts quickly, or these: who measures takes those of the distribution.
    java_flags: Sequence[str] | None = None

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles


def controllers(count: int, kind: Kind = OURS, *, others: Mapping[int, Kind] | None = None) -> list[NodeSpec]:
    """Nodes 1 to `count`; `others` names those of another kind."""
    return [NodeSpec(node_id, (others or {}).get(node_id, kind)) for node_id in range(1, count + 1)]


class Node:
    """One process and its directory. Made by `Cluster`."""

    def __init__(self, spec: NodeSpec, directory: Path) -> None:
        self.spec = spec
        self.id = spec.node_id
        self.directory = directory
        self.data = directory / "data"
        self.properties = directory / "server.properties"
        self.log = directory / "node.log"
        self.host = HOST
        #: What starts the process, where it is not to run in the network that the test is in.
        self.launcher: list[str] = []
        self.controller_port = self.broker_port = 0
        self.directory_id = random_uuid()
        self.process: subprocess.Popen[bytes] | None = None
        self.is_paused = False

    @property
    def metadata_directory(self) -> Path:
        return self.data / "__cluster_metadata-0"

    @property
    def controller_address(self) -> str:
        return f"{self.host}:{self.controller_port}"

    @property
    def broker_address(self) -> str:
        return f"{self.host}:{self.broker_port}"

    @property
    def is_running(self) -> bool:
        """Started and not yet killed or stopped by us; it may have died by itself, see `check_alive`."""
        return self.process is not None

    def start(self) -> None:
        assert self.process is None, f"node {self.id} is running"
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [*self.launcher, *self._command()],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=self.directory,
            )

    def check_alive(self) -> None:
        if self.process is not None and self.process.poll() is not None:
            status = self.process.returncode
            raise Hopeless(f"node {self.id} ended by itself with status {status}\n{self.log_tail()}")

    def kill(self) -> None:
        """kill -9; nothing that was not on disk survives it."""
        process, self.process, self.is_paused = self.process, None, False
        if process is not None:
            process.kill()
            process.wait()

    def begin_stop(self) -> None:
        self._signal(signal.SIGTERM)

    def end_stop(self) -> int:
        """The exit status of a node that was told to stop."""
        assert self.process is not None
        status = self.process.wait(_STOP_TIMEOUT_S)
        self.process = None
        return status

    def stop(self) -> int:
        """As an operator stops a node."""
        self.begin_stop()
        return self.end_stop()

    def pause(self) -> None:
        """Returns when all threads of the process have stopped: on a busy machine a signal takes its time."""
        assert self.process is not None, f"node {self.id} is not running"
        suspend(self.process)
        self.is_paused = True

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self.is_paused = False

    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def log_tail(self) -> str:
        heading = f"--- node {self.id} ({self.spec.kind.value}, {self.spec.roles})"
        return f"{heading}\n{self.log_text()[-_TAIL_CHARACTERS:]}"

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None, f"node {self.id} is not running"
        self.process.send_signal(number)

    def _command(self) -> list[str]:
        if self.spec.kind is Kind.ODRADEK:
            return [*ODRADEK, "server", "start", str(self.properties)]
        log4j = self.directory / "log4j2.properties"
        log4j.write_text(_LOG4J)
        command: list[str] = peers.java_command(
            "kafka.Kafka",
            [str(self.properties)],
            flags=jvm.quick_flags() if self.spec.java_flags is None else self.spec.java_flags,
            properties={"log4j2.configurationFile": str(log4j)},
        )
        return command


#: The command as it is installed, whether or not its directory is on the path.
ODRADEK = (sys.executable, "-m", "odradek.cli.main")


class Cluster:
    def __init__(
        self,
        root: Path,
        specs: Iterable[NodeSpec],
        *,
        dynamic: bool = False,
        settings: Mapping[str, str] | None = None,
        format_options: Sequence[str] = (),
    ) -> None:
        """`dynamic`: the voters stand in the metadata log (kraft.version 1), not in every node's file."""
        self.root = root
        self.cluster_id = uuid_to_text(random_uuid())
        self.dynamic = dynamic
        self._settings = dict(settings or {})
        self._format_options = list(format_options)
        self.nodes: dict[int, Node] = {}
        for spec in specs:
            self.nodes[spec.node_id] = Node(spec, root / f"node-{spec.node_id}")
        ports = iter(free_ports(2 * len(self.nodes)))
        for node in self.nodes.values():
            node.controller_port, node.broker_port = next(ports), next(ports)

    def __enter__(self) -> "Cluster":
        self.format(*self.nodes)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for node in self.nodes.values():
            node.kill()
        if kind is not None:
            for node in self.nodes.values():
                print(node.log_tail())

    def __getitem__(self, node_id: int) -> Node:
        return self.nodes[node_id]

    @property
    def controllers(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.spec.is_controller]

    @property
    def controller_addresses(self) -> str:
        """What Kafka's tools want for --bootstrap-controller."""
        return ",".join(node.controller_address for node in self.controllers)

    def running_controllers(self) -> list[Node]:
        return [node for node in self.controllers if node.is_running and not node.is_paused]

    def start(self, *node_ids: int) -> None:
        """These, or all."""
        for node_id in node_ids or self.nodes:
            self.nodes[node_id].start()

    def check_alive(self) -> None:
        for node in self.nodes.values():
            node.check_alive()

    def format(self, *node_ids: int, joins: bool = False) -> None:
        """Each by the tools of its own kind. With `joins` it is none of the first voters, or no more."""
        for node_id in node_ids:
            node = self.nodes[node_id]
            node.directory.mkdir(parents=True, exist_ok=True)
            lines = self._properties(node)
            node.properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        said = {node_id: self._format(self.nodes[node_id], joins=joins) for node_id in node_ids}
        failed = {node_id: output for node_id, output in said.items() if output is not None}
        assert not failed, f"nodes could not be formatted: {failed}"

    def _format(self, node: Node, *, joins: bool) -> str | None:
        """What the tool said when it failed."""
        options = ["format", "-t", self.cluster_id, "-c", str(node.properties), *self._format_options]
        if self.dynamic and node.spec.is_controller:
            options += self._voter_options(joins=joins or not node.spec.is_first_voter)
        if node.spec.kind is Kind.KAFKA:
            said = kafka_tools.tool("kafka.tools.StorageTool", *options)
            return None if said.status == 0 else said.output + said.errors
        output = io.StringIO()
        with redirect_stdout(output), redirect_stderr(output):
            status = odradek(["storage", *options])
        return None if status == 0 else output.getvalue()

    def _voter_options(self, *, joins: bool) -> list[str]:
        if joins:
            return ["--no-initial-controllers"]
        voters = [
            f"{each.id}@{each.controller_address}:{uuid_to_text(each.directory_id)}"
            for each in self.controllers
            if each.spec.is_first_voter
        ]
        return ["--initial-controllers", ",".join(voters)]

    def _properties(self, node: Node) -> dict[str, str]:
        listeners = []
        if node.spec.is_broker:
            listeners.append(f"PLAINTEXT://{node.broker_address}")
        if node.spec.is_controller:
            listeners.append(f"{CONTROLLER_LISTENER}://{node.controller_address}")
        values = {
            "process.roles": node.spec.roles,
            "node.id": str(node.id),
            "listeners": ",".join(listeners),
            "controller.listener.names": CONTROLLER_LISTENER,
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{CONTROLLER_LISTENER}:PLAINTEXT",
            "log.dirs": str(node.data),
        }
        if self.dynamic:
            first = [each for each in self.controllers if each.spec.is_first_voter]
            values["controller.quorum.bootstrap.servers"] = ",".join(each.controller_address for each in first)
        else:
            voters = [f"{each.id}@{each.controller_address}" for each in self.controllers]
            values["controller.quorum.voters"] = ",".join(voters)
        if node.spec.is_broker:
            values |= _SMALL_BROKER
        return values | self._settings | dict(node.spec.settings)


@contextmanager
def node_on(data: Path, root: Path, settings: Mapping[str, str] | None = None) -> Iterator[Node]:
    """One of ours, broker and controller, on a directory that somebody else has formatted, which it takes over."""
    with Cluster(root, [NodeSpec(1, roles="broker,controller")], settings=settings) as cluster:
        node = cluster[1]
        shutil.rmtree(node.data)
        data.rename(node.data)
        node.start()
        yield node
        node.stop()


#: Settings with which nobody doubts a leader, and no election is given up, because the machine is busy.
PATIENT_QUORUM = {"controller.quorum.election.timeout.ms": "3000", "controller.quorum.fetch.timeout.ms": "20000"}

#: One broker is enough for what brokers keep themselves, and groups need not wait for more members.
_SMALL_BROKER = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}


#: Coordinators that outlive a node of three.
_REPLICATED = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
}


@contextmanager
def three_nodes(directory: Path) -> Iterator[Cluster]:
    """Of ours, each broker and controller, started."""
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in (1, 2, 3)]
    with Cluster(directory, specs, settings=_REPLICATED) as cluster:
        cluster.start()
        yield cluster


@contextmanager
def one_of_each_kind(directory: Path) -> Iterator[dict[Kind, Cluster]]:
    """Clusters of one node, started."""
    with ExitStack() as stack:
        clusters = {
            kind: stack.enter_context(Cluster(directory / kind.value, [NodeSpec(1, kind, roles="broker,controller")]))
            for kind in Kind
        }
        for cluster in clusters.values():
            cluster.start()
        yield clusters
