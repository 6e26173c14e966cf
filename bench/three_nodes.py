"""Three nodes with three replicas of everything, beside Apache Kafka's: requests, flows, latency, and a death."""

from collections.abc import Iterator
from functools import partial

from beside import Effort, Figure, Figures, both_kinds, in_turn, kinds_in_turn, running, servers_of
from brokers import pipelined, steady
from flows import COUNTS, Flow, Librdkafka, Loads, java_loads, new_topic_name, produced, warm_up
from loads import create_topic, delete_topic, leaders, longest_gap_s
from odradek.network.loop import run as run_loop
from quorums import bytecode, client_of
from rows import Row
from support.processes.nodes import Cluster, Kind, Node

NODES = 3
PARTITIONS = 6
WHERE = "three nodes, RF 3, acks=all"
#: Every record is written three times on one machine.
COUNT_SHARE = 0.5

KILL_PARTITIONS, KILL_PER_SECOND = 6, 600
#: A third before the death; what follows must be longer than the gap of either kind.
KILL_SECONDS = 24.0


def requests(effort: Effort) -> Iterator[Row]:
    with both_kinds(NODES) as clusters:
        yield from pipelined(effort, clusters, WHERE, -1, NODES)


def flows(effort: Effort) -> Iterator[Row]:
    with both_kinds(NODES) as clusters, java_loads() as java:
        clients: tuple[Loads, ...] = (Librdkafka(), java)
        for loads in clients:
            for cluster in clusters.values():
                warm_up(effort, cluster, loads, NODES)
            for size in COUNTS:
                flow = Flow(size, PARTITIONS, "none", NODES)
                yield from in_turn(clusters, effort, partial(_produced, effort, loads, flow))
        yield from steady(effort, clusters, f", {WHERE}", NODES)


def _produced(effort: Effort, loads: Loads, flow: Flow, cluster: Cluster) -> Figures:
    servers, topic = servers_of(cluster), new_topic_name()
    create_topic(servers, topic, flow.partitions, flow.replicas)
    count = effort.of(COUNTS[flow.size] * COUNT_SHARE)
    made = loads.produce(servers, topic, count, flow, "all", list(cluster.nodes.values()))
    delete_topic(servers, topic)
    return produced(made, flow, WHERE, loads.name, is_charted=True)


def kills(effort: Effort) -> Iterator[Row]:
    with bytecode():
        yield from kinds_in_turn(effort, _kill)


def _kill(kind: Kind) -> Figures:
    """Of the active controller, which leads some of the partitions as well."""
    with running(kind, NODES) as cluster:
        servers = servers_of(cluster)
        create_topic(servers, "killed", KILL_PARTITIONS, NODES)
        victim = run_loop(_active_controller(cluster))
        assert victim.id in leaders(servers, "killed")
        gap_s = longest_gap_s(servers, "killed", KILL_PARTITIONS, KILL_PER_SECOND, KILL_SECONDS, victim.kill)
        name = "kill -9 of a node of three, longest gap in acknowledged writes"
        return {name: Figure(gap_s, "s", chart="Three nodes")}


async def _active_controller(cluster: Cluster) -> Node:
    async with client_of(cluster) as client:
        return await client.leader()
