"""Controllers beside Apache Kafka's, the same work for both: start, failover, changes of metadata, a large image.

Both kinds run as processes of their own with their default settings, on the same machine, one after the other; the
client is the same. Each row has our figure and Apache Kafka's, and says which is ahead.
"""

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from odradek.network.loop import run as run_loop
from odradek.protocol.message import Message
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from quorums import (
    KINDS,
    Client,
    Connections,
    bytecode,
    check_accepted,
    client_of,
    cluster_of,
    fake_brokers,
    quorum_of,
    resident_bytes,
    spec,
)
from rows import Row
from support.processes.nodes import Cluster, Kind, Node
from timing import scratch_directory

ROUNDS = 3
KILLS = 3
PROPAGATIONS = 30

#: Requests before a measurement, so that a JVM has compiled what it is measured at.
WARM_UP = 300

IMAGE_TOPICS, IMAGE_PARTITIONS = 100, 1_000

#: No broker is fenced while something is measured: nobody keeps those of a prepared image alive, and on a busy machine
#: heartbeats may be late.
_LONG_SESSION = {"broker.session.timeout.ms": "600000"}


def run() -> Iterator[Row]:
    with bytecode():
        for measure in (starts, combined, failovers, changes, images):
            yield from measure()


def row(operation: str, unit: str, measured: dict[Kind, float], note: str = "", *, is_rate: bool = False) -> Row:
    return Row(
        operation=operation,
        ours=measured[Kind.ODRADEK],
        peer=measured[Kind.KAFKA],
        unit=unit,
        is_rate=is_rate,
        note=note,
    )


# Start and failover


def starts() -> Iterator[Row]:
    """A formatted, empty directory each time."""
    for controllers in (1, 3):
        spent: dict[Kind, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(ROUNDS):
            for kind in KINDS:
                with cluster_of(*quorum_of(kind, controllers)) as cluster:
                    spent[kind].append(run_loop(_time_to_leader(cluster)))
        medians = {kind: statistics.median(values) for kind, values in spent.items()}
        name = "one controller" if controllers == 1 else f"{controllers} controllers"
        yield row(f"cold start of {name}, to a leader that takes a change", "s", medians)


async def _time_to_leader(cluster: Cluster) -> float:
    async with client_of(cluster) as client:
        started_s = time.perf_counter()
        cluster.start()
        await client.leader()
        return time.perf_counter() - started_s


def failovers() -> Iterator[Row]:
    gaps: dict[Kind, list[float]] = {}
    for kind in KINDS:
        with cluster_of(*quorum_of(kind, 3)) as cluster:
            cluster.start()
            gaps[kind] = run_loop(_gaps(cluster))
    note = "longest: " + ", ".join(f"{kind.value} {max(values):.2f} s" for kind, values in gaps.items())
    medians = {kind: statistics.median(values) for kind, values in gaps.items()}
    yield row("kill -9 of the leader of 3, until the next change is acknowledged", "s", medians, note)


async def _gaps(cluster: Cluster) -> list[float]:
    gaps = []
    async with client_of(cluster) as client:
        for _ in range(KILLS):
            leader = await client.leader()
            await _all_follow(client, leader)
            killed_s = time.perf_counter()
            leader.kill()
            await client.leader()
            gaps.append(time.perf_counter() - killed_s)
            leader.start()
    return gaps


async def _all_follow(client: Client, leader: Node) -> None:
    """Changes go on until every controller has fetched them: one that has just come back could not take over."""
    while not await client.is_followed(leader):
        await client.change(leader)


# A combined node


def combined() -> Iterator[Row]:
    spent: dict[Kind, list[tuple[float, float, float]]] = {kind: [] for kind in KINDS}
    for _ in range(ROUNDS):
        for kind in KINDS:
            with cluster_of(spec(kind, roles="broker,controller")) as cluster:
                spent[kind].append(run_loop(_combined(cluster)))
    columns = {
        kind: [statistics.median(values) for values in zip(*rounds, strict=True)] for kind, rounds in spent.items()
    }
    for index, (operation, unit) in enumerate(
        (
            ("start of a combined node, to its first answer to a client", "s"),
            ("resident memory of a combined node that has just started", "MB"),
            ("a new topic acknowledged, until a broker's metadata has it", "ms"),
        )
    ):
        yield row(operation, unit, {kind: values[index] for kind, values in columns.items()})


async def _combined(cluster: Cluster) -> tuple[float, float, float]:
    node = cluster.controllers[0]
    async with client_of(cluster) as client:
        started_s = time.perf_counter()
        cluster.start()
        await client.until(node.broker_port, MetadataRequest(topics=[]), lambda answer: len(answer.brokers) == 1)
        ready_s = time.perf_counter() - started_s
        memory = resident_bytes(node) / 1e6
        lags = [await _propagation_ms(client, node, f"new-{number}") for number in range(PROPAGATIONS)]
        return ready_s, memory, statistics.median(lags)


async def _propagation_ms(client: Client, node: Node, name: str) -> float:
    answer = await client.ask(node.controller_port, _create([name], 1, 1))
    check_accepted(answer.topics)
    acknowledged_s = time.perf_counter()
    await client.until(node.broker_port, _metadata_of(name), lambda answer: len(answer.topics[0].partitions) == 1)
    return (time.perf_counter() - acknowledged_s) * 1000


def _metadata_of(name: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)


# Changes of metadata


def changes() -> Iterator[Row]:
    for controllers, brokers in ((1, 1), (3, 3)):
        measured: dict[str, dict[Kind, float]] = {}
        for kind in KINDS:
            with cluster_of(*quorum_of(kind, controllers, _LONG_SESSION)) as cluster:
                cluster.start()
                for operation, rate in run_loop(_changes(cluster, brokers)).items():
                    measured.setdefault(operation, {})[kind] = rate
        where = f"{controllers} controller{'s' * (controllers > 1)}, replication factor {brokers}"
        for operation, rates in measured.items():
            yield row(f"{operation}; {where}", "partitions/s", rates, is_rate=True)


async def _changes(cluster: Cluster, brokers: int) -> dict[str, float]:
    rates = {}
    async with client_of(cluster) as client:
        leader = await client.leader()
        async with fake_brokers(cluster, leader, brokers):
            await _warm_up(leader, brokers)
            for shape in SHAPES:
                for operation, seconds in (await _measure(leader, shape, brokers)).items():
                    rates[operation] = shape.partition_count / seconds
    return rates


class Shape:
    """Topics in requests, `in_flight` of them at a time."""

    def __init__(self, topics: int, partitions: int, topics_per_request: int, in_flight: int) -> None:
        self.topics = topics
        self.partitions = partitions
        self.topics_per_request = topics_per_request
        self.in_flight = in_flight

    @property
    def partition_count(self) -> int:
        return self.topics * self.partitions

    @property
    def what(self) -> str:
        each = f"{self.topics_per_request} topic{'s' * (self.topics_per_request > 1)} a request"
        return f"{self.topics:,} topics of {self.partitions:,}, {each}, {self.in_flight} in flight"

    def requests(self) -> list[list[str]]:
        names = [f"topic-{self.topics_per_request}-{self.in_flight}-{number}" for number in range(self.topics)]
        return [names[at : at + self.topics_per_request] for at in range(0, len(names), self.topics_per_request)]


#: One request may make at most 10,000 records, so ten topics of 1,000 partitions take two.
SHAPES = (
    Shape(10, 1_000, 5, 1),
    Shape(1_000, 10, 50, 1),
    Shape(1_000, 1, 1, 1),
    Shape(1_000, 1, 1, 50),
)


async def _measure(leader: Node, shape: Shape, replication_factor: int) -> dict[str, float]:
    connections = Connections(leader, shape.in_flight)
    await connections.connect()
    try:
        groups = shape.requests()
        creations = [_create(names, shape.partitions, replication_factor) for names in groups]
        created_s = await _timed(connections, creations, lambda answer: answer.topics)
        deletions = [_delete(names) for names in groups]
        deleted_s = await _timed(connections, deletions, lambda answer: answer.responses)
    finally:
        await connections.close()
    return {f"create {shape.what}": created_s, f"delete {shape.what}": deleted_s}


async def _timed(connections: Connections, requests: Sequence[Message], results: Callable[[Any], list[Any]]) -> float:
    started_s = time.perf_counter()
    answers = await connections.send_all(list(requests))
    spent_s = time.perf_counter() - started_s
    for answer in answers:
        check_accepted(results(answer))
    return spent_s


async def _warm_up(leader: Node, replication_factor: int) -> None:
    await _measure(leader, Shape(WARM_UP, 10, 1, 5), replication_factor)


def _create(names: list[str], partitions: int, replication_factor: int) -> CreateTopicsRequest:
    topics = [
        CreatableTopic(name=name, num_partitions=partitions, replication_factor=replication_factor) for name in names
    ]
    return CreateTopicsRequest(topics=topics, timeout_ms=60_000)


def _delete(names: list[str]) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=60_000)


# A large image


def images() -> Iterator[Row]:
    """Both kinds start on copies of the same directory, which ours has written."""
    count = f"{IMAGE_TOPICS * IMAGE_PARTITIONS:,} partitions"
    empty = {kind: _on_image(kind, None, _load_controller)[1] for kind in KINDS}
    yield row("resident memory of a controller without partitions", "MB", empty)
    with tempfile.TemporaryDirectory(prefix="odradek-bench-", dir=scratch_directory()) as directory:
        log, snapshot = Path(directory, "log"), Path(directory, "snapshot")
        _prepare_image(log, snapshot)
        for source, found in (("log", log), ("snapshot", snapshot)):
            loaded = {kind: _on_image(kind, found, _load_controller) for kind in KINDS}
            yield row(f"start of a controller on a {source} of {count}, to a change", "s", _column(loaded, 0))
            yield row(f"resident memory of a controller after a {source} of {count}", "MB", _column(loaded, 1))
        loaded = {kind: _on_image(kind, snapshot, _load_broker, has_broker=True) for kind in KINDS}
        yield row(f"start of a broker in a cluster of {count}, to its answer about the last", "s", _column(loaded, 0))
        yield row(f"resident memory of a broker in a cluster of {count}", "MB", _column(loaded, 1))


Measured = tuple[float, float]


def _column(measured: dict[Kind, Measured], index: int) -> dict[Kind, float]:
    return {kind: values[index] for kind, values in measured.items()}


def _prepare_image(log: Path, snapshot: Path) -> None:
    with cluster_of(spec(Kind.ODRADEK, settings=_LONG_SESSION)) as cluster:
        cluster.start()
        run_loop(_fill(cluster))
        node = cluster.controllers[0]
        node.stop()
        shutil.copytree(node.data, log)
        lines = node.properties.read_text() + "metadata.log.max.record.bytes.between.snapshots=1\n"
        node.properties.write_text(lines)
        node.start()
        run_loop(_until_snapshot(cluster))
        node.stop()
        shutil.copytree(node.data, snapshot)


async def _fill(cluster: Cluster) -> None:
    async with client_of(cluster) as client:
        leader = await client.leader()
        async with fake_brokers(cluster, leader, 3):
            await _measure_creation(leader)


async def _measure_creation(leader: Node) -> None:
    connections = Connections(leader, 1)
    requests: list[Message] = [_create([f"image-{number}"], IMAGE_PARTITIONS, 3) for number in range(IMAGE_TOPICS)]
    for answer in await connections.send_all(requests):
        check_accepted(answer.topics)
    await connections.close()


async def _until_snapshot(cluster: Cluster) -> None:
    """One with everything is larger than that which formatting may have left."""
    async with client_of(cluster) as client:
        leader = await client.leader()
        while not any(path.stat().st_size > 1_000_000 for path in leader.metadata_directory.glob("*.checkpoint")):
            await client.change(leader)
            await asyncio.sleep(0.1)


def _on_image(
    kind: Kind,
    image: Path | None,
    load: Callable[[Cluster], Awaitable[Measured]],
    *,
    has_broker: bool = False,
) -> Measured:
    specs = [spec(kind, settings=_LONG_SESSION)]
    if has_broker:
        specs.append(spec(kind, 2, "broker"))
    with cluster_of(*specs) as cluster:
        if image is not None:
            _take_over(cluster, image)
        return run_loop(_awaited(load(cluster)))


async def _awaited(measured: Awaitable[Measured]) -> Measured:
    return await measured


def _take_over(cluster: Cluster, image: Path) -> None:
    """The controller gets the image, and all other nodes the id of its cluster."""
    controller = cluster.controllers[0]
    shutil.rmtree(controller.data)
    shutil.copytree(image, controller.data)
    identity = next(
        line for line in (image / "meta.properties").read_text().splitlines() if line.startswith("cluster.id=")
    )
    for node in cluster.nodes.values():
        path = node.data / "meta.properties"
        lines = [identity if line.startswith("cluster.id=") else line for line in path.read_text().splitlines()]
        path.write_text("\n".join(lines) + "\n")


async def _load_controller(cluster: Cluster) -> Measured:
    seconds = await _time_to_leader(cluster)
    return seconds, resident_bytes(cluster.controllers[0]) / 1e6


async def _load_broker(cluster: Cluster) -> Measured:
    broker = cluster[2]
    async with client_of(cluster) as client:
        cluster.start(1)
        await client.leader()
        started_s = time.perf_counter()
        cluster.start(2)
        last = _metadata_of(f"image-{IMAGE_TOPICS - 1}")
        await client.until(
            broker.broker_port, last, lambda answer: len(answer.topics[0].partitions) == IMAGE_PARTITIONS
        )
        return time.perf_counter() - started_s, resident_bytes(broker) / 1e6
