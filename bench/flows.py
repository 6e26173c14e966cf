"""What flows through a broker, beside Apache Kafka's: records of two sizes, compressed and not, by two clients.

Every line is made once for each kind and round, with a topic of its own that is gone afterwards; a consumer reads what
the last producer wrote.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, product
from pathlib import Path
from typing import Protocol

from beside import Clusters, Effort, Figure, Figures, both_kinds, in_turn, servers_of
from brokers import resident_mb
from loads import Moved, consume, cpu_seconds, create_topic, delete_topic, moved, produce, values
from rows import Row
from support.peers.java_clients import JavaClients
from support.processes.nodes import Cluster, Node
from timing import scratch_directory

#: Records of a size: a few seconds of work for either kind.
COUNTS = {100: 1_000_000, 1_000: 200_000}
PARTITIONS = (1, 12)
CODECS = ("none", "lz4")
#: Records before anything is measured.
WARM_UP_RECORDS = 500_000

_numbers = count()

_CLIENT_FLAGS = ("-Xmx1g", "-Xms1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")


@dataclass(frozen=True, slots=True)
class Flow:
    size: int
    partitions: int
    codec: str
    replicas: int = 1


class Loads(Protocol):
    """A producer and a consumer that people use. Each sends or takes all records, as fast as it can."""

    name: str

    def produce(self, servers: str, topic: str, count: int, flow: Flow, acks: str, nodes: Sequence[Node]) -> Moved: ...

    def consume(self, servers: str, topic: str, count: int, flow: Flow, nodes: Sequence[Node]) -> Moved: ...


class Librdkafka:
    name = "librdkafka"

    def produce(self, servers: str, topic: str, count: int, flow: Flow, acks: str, nodes: Sequence[Node]) -> Moved:
        return produce(servers, topic, count, flow.size, acks, nodes, codec=flow.codec)

    def consume(self, servers: str, topic: str, count: int, flow: Flow, nodes: Sequence[Node]) -> Moved:
        return consume(servers, topic, flow.partitions, count, flow.size, nodes)


class Java:
    """Apache Kafka's own, in a JVM that stays; its settings are the defaults."""

    name = "Java"

    def __init__(self, clients: JavaClients) -> None:
        self._clients = clients

    def produce(self, servers: str, topic: str, count: int, flow: Flow, acks: str, nodes: Sequence[Node]) -> Moved:
        config = {"bootstrap.servers": servers, "acks": acks, "compression.type": flow.codec}
        cpu_s = cpu_seconds(nodes)
        spent_s = self._clients.produce_load(topic, count, values(flow.size), config)
        return moved(count, flow.size, spent_s, cpu_seconds(nodes) - cpu_s)

    def consume(self, servers: str, topic: str, count: int, flow: Flow, nodes: Sequence[Node]) -> Moved:
        cpu_s = cpu_seconds(nodes)
        spent_s = self._clients.consume_load(topic, flow.partitions, count, {"bootstrap.servers": servers})
        return moved(count, flow.size, spent_s, cpu_seconds(nodes) - cpu_s)


@contextmanager
def java_loads() -> Iterator[Java]:
    with (
        tempfile.TemporaryDirectory(prefix="odradek-bench-", dir=scratch_directory()) as directory,
        JavaClients(Path(directory), flags=_CLIENT_FLAGS) as clients,
    ):
        yield Java(clients)


def librdkafka(effort: Effort) -> Iterator[Row]:
    with both_kinds() as clusters:
        yield from one_node(effort, clusters, Librdkafka())
        yield from in_turn(clusters, effort, _memory)


def java(effort: Effort) -> Iterator[Row]:
    with both_kinds() as clusters, java_loads() as loads:
        yield from one_node(effort, clusters, loads)


def one_node(effort: Effort, clusters: Clusters, loads: Loads) -> Iterator[Row]:
    for cluster in clusters.values():
        warm_up(effort, cluster, loads)
    for size, partitions, codec in product(COUNTS, PARTITIONS, CODECS):
        flow = Flow(size, partitions, codec)
        yield from in_turn(clusters, effort, partial(_there_and_back, effort, loads, flow))


def warm_up(effort: Effort, cluster: Cluster, loads: Loads, replicas: int = 1) -> None:
    servers, nodes, topic = servers_of(cluster), list(cluster.nodes.values()), new_topic_name()
    flow, records = Flow(100, 6, "none", replicas), effort.of(WARM_UP_RECORDS)
    create_topic(servers, topic, flow.partitions, replicas)
    loads.produce(servers, topic, records, flow, "all", nodes)
    loads.consume(servers, topic, records, flow, nodes)
    delete_topic(servers, topic)


def new_topic_name() -> str:
    """One that was never used: a topic that is still being deleted would stand in the way of its successor."""
    return f"load-{next(_numbers)}"


def _there_and_back(effort: Effort, loads: Loads, flow: Flow, cluster: Cluster) -> Figures:
    servers, nodes, records = servers_of(cluster), list(cluster.nodes.values()), effort.of(COUNTS[flow.size])
    figures = Figures()
    for acks in ("1", "all"):
        topic = new_topic_name()
        create_topic(servers, topic, flow.partitions, flow.replicas)
        made = loads.produce(servers, topic, records, flow, acks, nodes)
        figures |= produced(made, flow, f"acks={acks}", loads.name, is_charted=acks == "all")
        if acks == "1":
            delete_topic(servers, topic)
    taken = loads.consume(servers, topic, records, flow, nodes)
    delete_topic(servers, topic)
    return figures | _consumed(taken, flow, loads.name)


def produced(made: Moved, flow: Flow, how: str, client: str, *, is_charted: bool) -> Figures:
    name = f"produce {flow.size:,} B, {how}, {_shape(flow)}, {client}"
    is_charted = is_charted and flow.codec == "none"
    return {
        name: Figure(made.per_second, "records/s", is_rate=True, chart=f"Throughput, {client}" * is_charted),
        f"{name}, processor time": Figure(made.cpu_s_per_gb, "s/GB", chart="Processor time of the broker" * is_charted),
    }


def _consumed(taken: Moved, flow: Flow, client: str) -> Figures:
    name, is_charted = f"consume {flow.size:,} B, {_shape(flow)}, {client}", flow.codec == "none"
    megabytes = taken.per_second * flow.size / 1e6
    return {
        name: Figure(megabytes, "MB/s", is_rate=True, chart=f"Throughput, {client}" * is_charted),
        f"{name}, processor time": Figure(
            taken.cpu_s_per_gb, "s/GB", chart="Processor time of the broker" * is_charted
        ),
    }


def _shape(flow: Flow) -> str:
    partitions = f"{flow.partitions} partition{'s' * (flow.partitions > 1)}"
    return partitions if flow.codec == "none" else f"{partitions}, {flow.codec}"


def _memory(cluster: Cluster) -> Figures:
    return {"resident memory of a node after all this": Figure(resident_mb(cluster[1]), "MB", chart="Start and memory")}
