"""A broker beside Apache Kafka's, the same clients for both: start, memory, small requests, latency, connections, many
partitions. What flows through brokers is in `flows`, what three of them do together in `three_nodes`.
"""

import socket
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import count

from beside import (
    Clusters,
    Effort,
    Figure,
    Figures,
    both_kinds,
    in_turn,
    kinds_in_turn,
    running,
    servers_of,
    until_answer,
)
from loads import Pipeline, cpu_seconds, create_topic, end_to_end_ms, leaders
from network import ask, connected
from odradek.protocol.framing import FrameReader, frame
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import request_parts
from quorums import bytecode, cluster_of, resident_bytes, spec
from rows import Row
from support.processes.nodes import Cluster, Kind, Node

IN_FLIGHT = (1, 5, 50)
PIPELINE_SECONDS = 4.0
#: So that a JVM has compiled what it is measured at; not less for being in a hurry.
WARM_UP_SECONDS = 5.0

STEADY_PER_SECOND, STEADY_SECONDS = 1_000, 10.0

CONNECTIONS = 1_000
MANY_TOPICS, MANY_PARTITIONS = 10, 1_000

_PAUSE_S = 0.005

_numbers = count()


# Start


def starts(effort: Effort) -> Iterator[Row]:
    """A formatted, empty directory each time."""
    with bytecode():
        yield from kinds_in_turn(effort, _start)


def _start(kind: Kind) -> Figures:
    with cluster_of(spec(kind, roles="broker,controller")) as cluster:
        seconds = timed(lambda: _start_and_ask(cluster))
        cpu = cpu_seconds([cluster[1]])
        create_topic(cluster[1].broker_address, "idle")
        return {
            "start of one node, to its first answer": Figure(seconds, "s", chart="Start and memory"),
            "processor time of a node, to its first answer": Figure(cpu, "s"),
            "resident memory of an idle node": Figure(resident_mb(cluster[1]), "MB", chart="Start and memory"),
        }


def _start_and_ask(cluster: Cluster) -> None:
    cluster.start()
    until_answer(cluster[1])


# Requests


def one_record(effort: Effort) -> Iterator[Row]:
    with both_kinds() as clusters:
        yield from pipelined(effort, clusters, "acks=1", 1)


def pipelined(effort: Effort, clusters: Clusters, what: str, acks: int, replicas: int = 1) -> Iterator[Row]:
    """Over one connection to the leader of one partition, which keeps so many requests on their way."""
    pipelines = {kind: _pipeline(cluster, acks, replicas) for kind, cluster in clusters.items()}
    try:
        for kind, pipeline in pipelines.items():
            pipeline.run(max(IN_FLIGHT), WARM_UP_SECONDS, list(clusters[kind].nodes.values()))
        for in_flight in IN_FLIGHT:
            yield from kinds_in_turn(effort, _round_of(effort, clusters, pipelines, what, in_flight))
    finally:
        for pipeline in pipelines.values():
            pipeline.close()


def _pipeline(cluster: Cluster, acks: int, replicas: int) -> Pipeline:
    servers, topic = servers_of(cluster), "small"
    create_topic(servers, topic, replicas=replicas)
    return Pipeline(cluster[leaders(servers, topic)[0]].broker_port, topic, acks)


def _round_of(
    effort: Effort, clusters: Clusters, pipelines: dict[Kind, Pipeline], what: str, in_flight: int
) -> Callable[[Kind], Figures]:
    name, chart = f"one-record requests, {what}, {in_flight} in flight", f"One-record requests, {what}"

    def measure(kind: Kind) -> Figures:
        nodes = list(clusters[kind].nodes.values())
        found = pipelines[kind].run(in_flight, PIPELINE_SECONDS * max(effort.share, 0.4), nodes)
        return {
            name: Figure(found.per_second, "/s", is_rate=True, chart=chart),
            f"{name}, p50": Figure(found.p50_ms, "ms"),
            f"{name}, p99": Figure(found.p99_ms, "ms", chart=chart),
            f"{name}, p99.9": Figure(found.p999_ms, "ms"),
            f"{name}, processor time of the brokers each": Figure(found.cpu_us, "µs"),
        }

    return measure


def latency(effort: Effort) -> Iterator[Row]:
    with both_kinds() as clusters:
        yield from steady(effort, clusters, "")


def steady(effort: Effort, clusters: Clusters, where: str, replicas: int = 1) -> Iterator[Row]:
    """Records one by one at a steady rate, from librdkafka to librdkafka, acks=all."""
    name, chart = f"end to end at {STEADY_PER_SECOND:,} records/s{where}", "End to end at 1,000 records/s"
    seconds = STEADY_SECONDS * max(effort.share, 0.3)

    def measure(cluster: Cluster) -> Figures:
        servers, topic = servers_of(cluster), f"steady-{next(_numbers)}"
        create_topic(servers, topic, replicas=replicas)
        cuts = statistics.quantiles(end_to_end_ms(servers, topic, STEADY_PER_SECOND, seconds), n=1000)
        return {
            f"{name}, p50": Figure(cuts[499], "ms", chart=chart),
            f"{name}, p99": Figure(cuts[989], "ms", chart=chart),
            f"{name}, p99.9": Figure(cuts[998], "ms"),
        }

    for cluster in clusters.values():
        measure(cluster)
    yield from in_turn(clusters, effort, measure)


def connections(effort: Effort) -> Iterator[Row]:
    with both_kinds() as clusters:
        for cluster in clusters.values():
            _connections(cluster)
        yield from in_turn(clusters, effort, _connections)


def _connections(cluster: Cluster) -> Figures:
    """Held open, each asked once; then each asked once more."""
    node, held = cluster[1], list[socket.socket]()

    def open_all() -> None:
        for _ in range(CONNECTIONS):
            held.append(connected(node.broker_port))
            ask(held[-1])

    def ask_all() -> None:
        for connection in held:
            ask(connection)

    chart = f"{CONNECTIONS:,} connections"
    try:
        opened_s, asked_s = timed(open_all), timed(ask_all)
    finally:
        for connection in held:
            connection.close()
    return {
        f"{chart}, opened": Figure(CONNECTIONS / opened_s, "/s", is_rate=True, chart=chart),
        f"{chart}, each asked once": Figure(CONNECTIONS / asked_s, "/s", is_rate=True, chart=chart),
    }


# Many partitions


def many_partitions(effort: Effort) -> Iterator[Row]:
    once = Effort(effort.name, 1, effort.share)
    with bytecode():
        yield from kinds_in_turn(once, lambda kind: _many_partitions(kind, effort.of(MANY_TOPICS)))


def _many_partitions(kind: Kind, topics: int) -> Figures:
    chart = f"{topics * MANY_PARTITIONS:,} partitions"
    with running(kind) as cluster:
        node = cluster[1]
        made_s = timed(lambda: _create_many(node.broker_address, topics))
        memory_mb = resident_mb(node)
        asked_s = statistics.median(_metadata_seconds(node) for _ in range(7))
        node.stop()
        node.start()
        started_s = timed(lambda: _until_led(node, topics))
        return {
            f"{chart}, made": Figure(made_s, "s", chart=chart),
            f"{chart}, resident memory": Figure(memory_mb, "MB", chart=chart),
            f"{chart}, metadata of all": Figure(asked_s * 1000, "ms", chart=chart),
            f"{chart}, start to the last leader": Figure(started_s, "s", chart=chart),
        }


def _create_many(servers: str, topics: int) -> None:
    for number in range(topics):
        create_topic(servers, f"many-{number}", MANY_PARTITIONS)


def _until_led(node: Node, topics: int) -> None:
    until_answer(node)
    for number in range(topics):
        while -1 in (found := leaders(node.broker_address, f"many-{number}")) or len(found) < MANY_PARTITIONS:
            time.sleep(_PAUSE_S)


def _metadata_seconds(node: Node) -> float:
    header = RequestHeader(request_api_key=3, request_api_version=12, correlation_id=1, client_id="bench")
    request = b"".join(frame(request_parts(header, MetadataRequest(topics=None))))
    with connected(node.broker_port) as connection:

        def answered() -> None:
            connection.sendall(request)
            reader = FrameReader()
            while not list(reader.feed(connection.recv(1 << 20))):
                pass

        return timed(answered)


def resident_mb(node: Node) -> float:
    return resident_bytes(node) / 1e6


def timed(work: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    work()
    return time.perf_counter() - started_s
