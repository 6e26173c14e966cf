"""Brokers beside Apache Kafka's, the same clients for both: small requests, throughput, start, memory, failover.

Nodes are broker and controller in one, with default settings, as processes of their own on this machine, one kind
after the other; the clients (see `loads`) share its cores. A JVM is warmed up by the same load before it is measured.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypedDict

from helpers.nodes import Cluster, Kind, Node
from loads import (
    Pipeline,
    consume,
    cpu_seconds,
    create_topic,
    end_to_end_ms,
    leaders,
    longest_gap_s,
    produce,
)
from network import ask, connected
from quorums import KINDS, bytecode, cluster_of, resident_bytes, spec
from rows import Row

STARTS = 3

IN_FLIGHT = (1, 5, 50)
PIPELINE_SECONDS = 3.0
WARM_UP_SECONDS = 5.0

#: Records of a size: a few seconds of work for either kind.
COUNTS = {100: 500_000, 1_000: 100_000}
PARTITIONS = (1, 12)
#: Records before a throughput is measured.
WARM_UP_RECORDS = 300_000

STEADY_PER_SECOND, STEADY_SECONDS = 1_000, 5.0
KILL_PARTITIONS, KILL_PER_SECOND, KILL_SECONDS = 6, 600, 30.0

CONNECTIONS = 1_000
MANY_TOPICS, MANY_PARTITIONS = 10, 1_000

_START_TIMEOUT_S = 120
_PAUSE_S = 0.005


class Figure(TypedDict):
    value: float
    unit: str
    is_rate: bool


Figures = dict[str, Figure]


def run() -> Iterator[Row]:
    with bytecode():
        for measure in (one_node, three_nodes, starts, many_partitions):
            measured = {kind: measure(kind) for kind in KINDS}
            for operation, ours in measured[Kind.ODRADEK].items():
                yield Row(
                    operation=operation,
                    ours=ours["value"],
                    peer=measured[Kind.KAFKA][operation]["value"],
                    unit=ours["unit"],
                    is_rate=ours["is_rate"],
                    note="",
                )


def figure(value: float, unit: str, *, is_rate: bool = False) -> Figure:
    return Figure(value=value, unit=unit, is_rate=is_rate)


# One node


@contextmanager
def running(kind: Kind, count: int = 1) -> Iterator[Cluster]:
    """Nodes that answer."""
    replicated = {"min.insync.replicas": "2"} if count > 1 else {}
    specs = [spec(kind, number, "broker,controller", replicated) for number in range(1, count + 1)]
    with cluster_of(*specs) as cluster:
        cluster.start()
        for node in cluster.nodes.values():
            until_answer(node)
        yield cluster


def until_answer(node: Node) -> None:
    deadline_s = time.monotonic() + _START_TIMEOUT_S
    while True:
        node.check_alive()
        try:
            with connected(node.broker_port) as connection:
                return ask(connection)
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(_PAUSE_S)


def starts(kind: Kind) -> Figures:
    """A formatted, empty directory each time."""
    spent = [_start(kind) for _ in range(STARTS)]
    seconds, cpu, memory = (statistics.median(column) for column in zip(*spent, strict=True))
    return {
        "start of one node, to its first answer": figure(seconds, "s"),
        "processor time of a node, to its first answer": figure(cpu, "s"),
        "resident memory of an idle node": figure(memory, "MB"),
    }


def _start(kind: Kind) -> tuple[float, float, float]:
    with cluster_of(spec(kind, roles="broker,controller")) as cluster:
        started_s = time.perf_counter()
        cluster.start()
        until_answer(cluster[1])
        seconds, cpu = time.perf_counter() - started_s, cpu_seconds([cluster[1]])
        create_topic(cluster[1].broker_address, "idle")
        return seconds, cpu, resident_bytes(cluster[1]) / 1e6


def one_node(kind: Kind) -> Figures:
    with running(kind) as cluster:
        node = cluster[1]
        figures = small_requests(node, cluster, "acks=1", 1)
        for partitions in PARTITIONS:
            figures |= throughput(node, partitions)
        figures |= latency(node)
        figures["resident memory of a node after all this"] = figure(resident_bytes(node) / 1e6, "MB")
        figures |= connections(node)
        return figures


def small_requests(leader: Node, cluster: Cluster, what: str, acks: int, replicas: int = 1) -> Figures:
    topic = "small"
    create_topic(leader.broker_address, topic, replicas=replicas)
    leader = cluster[leaders(leader.broker_address, topic)[0]]
    nodes = list(cluster.nodes.values())
    pipeline = Pipeline(leader.broker_port, topic, acks)
    figures: Figures = {}
    try:
        pipeline.run(max(IN_FLIGHT), WARM_UP_SECONDS, nodes)
        for in_flight in IN_FLIGHT:
            name = f"one-record requests, {what}, {in_flight} in flight"
            found = pipeline.run(in_flight, PIPELINE_SECONDS, nodes)
            figures[name] = figure(found.per_second, "/s", is_rate=True)
            figures[f"{name}, p50"] = figure(found.p50_ms, "ms")
            figures[f"{name}, p99"] = figure(found.p99_ms, "ms")
            figures[f"{name}, p99.9"] = figure(found.p999_ms, "ms")
            figures[f"{name}, processor time of the brokers each"] = figure(found.cpu_us, "µs")
    finally:
        pipeline.close()
    return figures


def throughput(node: Node, partitions: int) -> Figures:
    servers, figures = node.broker_address, Figures()
    where = f"{partitions} partition{'s' * (partitions > 1)}"
    create_topic(servers, f"warm-{partitions}", partitions)
    produce(servers, f"warm-{partitions}", WARM_UP_RECORDS, 100, "1", [node])
    for size, count in COUNTS.items():
        for acks in ("1", "all"):
            topic = f"load-{partitions}-{size}-{acks}"
            create_topic(servers, topic, partitions)
            made = produce(servers, topic, count, size, acks, [node])
            name = f"produce {size:,} B, acks={acks}, {where}, librdkafka"
            figures[name] = figure(made.per_second, "records/s", is_rate=True)
            figures[f"{name}, processor time of the broker"] = figure(made.cpu_s_per_gb, "s/GB")
        taken = consume(servers, topic, partitions, count, size, [node])
        name = f"consume {size:,} B, {where}, librdkafka"
        figures[name] = figure(taken.per_second * size / 1e6, "MB/s", is_rate=True)
        figures[f"{name}, processor time of the broker"] = figure(taken.cpu_s_per_gb, "s/GB")
    return figures


def latency(node: Node) -> Figures:
    create_topic(node.broker_address, "steady")
    waits_ms = sorted(end_to_end_ms(node.broker_address, "steady", STEADY_PER_SECOND, STEADY_SECONDS))
    name = f"end to end at {STEADY_PER_SECOND:,} records/s"
    cuts = statistics.quantiles(waits_ms, n=100)
    return {f"{name}, p50": figure(cuts[49], "ms"), f"{name}, p99": figure(cuts[98], "ms")}


def connections(node: Node) -> Figures:
    """Held open, each asked once; then each asked once more."""
    held = []
    try:
        started_s = time.perf_counter()
        for _ in range(CONNECTIONS):
            held.append(connected(node.broker_port))
            ask(held[-1])
        opened_s = time.perf_counter() - started_s
        started_s = time.perf_counter()
        for connection in held:
            ask(connection)
        asked_s = time.perf_counter() - started_s
    finally:
        for connection in held:
            connection.close()
    return {
        f"{CONNECTIONS:,} connections, opened": figure(CONNECTIONS / opened_s, "/s", is_rate=True),
        f"{CONNECTIONS:,} connections, each asked once": figure(CONNECTIONS / asked_s, "/s", is_rate=True),
    }


# Three nodes


def three_nodes(kind: Kind) -> Figures:
    with running(kind, 3) as cluster:
        where = "three nodes, RF 3, acks=all"
        figures = small_requests(cluster[1], cluster, where, -1, replicas=3)
        servers, nodes = _servers(cluster), list(cluster.nodes.values())
        create_topic(servers, "warm", 6, 3)
        produce(servers, "warm", WARM_UP_RECORDS // 3, 100, "all", nodes)
        for size, count in COUNTS.items():
            topic = f"load-{size}"
            create_topic(servers, topic, 6, 3)
            made = produce(servers, topic, count // 2, size, "all", nodes)
            name = f"produce {size:,} B, {where}, 6 partitions, librdkafka"
            figures[name] = figure(made.per_second, "records/s", is_rate=True)
            figures[f"{name}, processor time of the brokers"] = figure(made.cpu_s_per_gb, "s/GB")
        figures["kill -9 of a node of three, longest gap in acknowledged writes"] = figure(_kill_gap_s(cluster), "s")
        return figures


def _kill_gap_s(cluster: Cluster) -> float:
    """Of the node that leads the quorum if one can tell, and in any case leads some of the partitions."""
    servers = _servers(cluster)
    create_topic(servers, "killed", KILL_PARTITIONS, 3)
    victim = cluster[leaders(servers, "killed")[0]]
    return longest_gap_s(servers, "killed", KILL_PARTITIONS, KILL_PER_SECOND, KILL_SECONDS, victim.kill)


def _servers(cluster: Cluster) -> str:
    return ",".join(node.broker_address for node in cluster.nodes.values())


# Many partitions


def many_partitions(kind: Kind) -> Figures:
    count = f"{MANY_TOPICS * MANY_PARTITIONS:,} partitions"
    with running(kind) as cluster:
        node = cluster[1]
        servers = node.broker_address
        made_s = _timed(lambda: _create_many(servers))
        memory = resident_bytes(node) / 1e6
        asked_s = statistics.median(_timed(lambda: leaders(servers, "many-0")) for _ in range(5))
        node.stop()
        node.start()
        started_s = _timed(lambda: _until_led(node))
        return {
            f"{count}, made": figure(made_s, "s"),
            f"{count}, resident memory": figure(memory, "MB"),
            f"{count}, metadata of 1,000, with a new client": figure(asked_s * 1000, "ms"),
            f"{count}, start to the last leader": figure(started_s, "s"),
        }


def _create_many(servers: str) -> None:
    for number in range(MANY_TOPICS):
        create_topic(servers, f"many-{number}", MANY_PARTITIONS)


def _until_led(node: Node) -> None:
    until_answer(node)
    last = f"many-{MANY_TOPICS - 1}"
    while leaders(node.broker_address, last).count(-1):
        time.sleep(_PAUSE_S)


def _timed(work: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    work()
    return time.perf_counter() - started_s


if __name__ == "__main__":
    for row in run():
        print(f"{row['operation']:80} {row['ours']:12,.4g} {row['peer']:12,.4g} {row['unit']}", flush=True)
