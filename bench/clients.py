"""Clients in Python side by side on one broker of ours: ours, aiokafka, kafka-python and confluent-kafka.

Each runs in a process of its own (`clients_produce`, `clients_consume`), so that processor time and memory are its
own; all take turns in each round, so that they are disturbed alike. A line is the median of the rounds.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product

from beside import Effort, running, servers_of
from clients_consume import Consumed as Measured
from clients_consume import consume
from clients_produce import produce
from flows import new_topic_name
from loads import create_topic, delete_topic
from loads import produce as fill
from quorums import bytecode
from rows import Row
from support.processes.nodes import Kind

OTHERS = ("aiokafka", "kafka-python", "confluent-kafka")
#: Records of a size: seconds for the quick ones, half a minute for the slowest.
COUNTS = {100: 500_000, 1_000: 200_000}
PARTITIONS = 6

_SENDING = {"one": "one at a time", "batches": "1,000 at once"}
_READING = {"one": "one at a time", "lists": "in lists", "columns": "as columns"}
#: The others have no columns: beside those stand their lists.
_BEST_OF_OTHERS = {"columns": "lists"}

#: client, way -> what it took
Measure = Callable[[str, str], Measured]


def run(effort: Effort) -> Iterator[Row]:
    with bytecode(), running(Kind.ODRADEK) as cluster:
        servers = servers_of(cluster)
        for size, way in product(COUNTS, _SENDING):
            measure = partial(_produce, servers, effort.of(COUNTS[size]), size)
            yield from _rows(effort, f"produce {size:,} B, {_SENDING[way]}", way, measure)
        for size in COUNTS:
            topic, count = new_topic_name(), effort.of(COUNTS[size])
            create_topic(servers, topic)
            fill(servers, topic, count, size, "all", list(cluster.nodes.values()))
            for way, name in _READING.items():
                measure = partial(_consume, servers, topic, count)
                yield from _rows(effort, f"consume {size:,} B, {name}", way, measure)
            delete_topic(servers, topic)


def _produce(servers: str, count: int, size: int, client: str, way: str) -> Measured:
    topic = new_topic_name()
    create_topic(servers, topic, PARTITIONS)
    measured = produce(client, way, servers, topic, count, size)
    delete_topic(servers, topic)
    return measured


def _consume(servers: str, topic: str, count: int, client: str, way: str) -> Measured:
    return consume(client, way, servers, topic, count)


def _rows(effort: Effort, operation: str, way: str, measure: Measure) -> Iterator[Row]:
    found: dict[str, list[Measured]] = {client: [] for client in ("odradek", *OTHERS)}
    for _ in range(effort.rounds):
        for client, each in found.items():
            others_way = way if client == "odradek" else _BEST_OF_OTHERS.get(way, way)
            each.append(measure(client, others_way))
    for other in OTHERS:
        yield from _lines(f"{operation}, beside {other}", found["odradek"], found[other])


def _lines(operation: str, ours: Sequence[Measured], others: Sequence[Measured]) -> Iterator[Row]:
    def median(measured: Sequence[Measured], figure: Callable[[Measured], float]) -> float:
        return statistics.median(map(figure, measured))

    def line(name: str, unit: str, figure: Callable[[Measured], float], *, is_rate: bool = False) -> Row:
        return Row(
            operation=name,
            ours=median(ours, figure),
            peer=median(others, figure),
            unit=unit,
            is_rate=is_rate,
            note="",
            beside="the other client",
        )

    yield line(operation, "records/s", lambda each: each.per_second, is_rate=True)
    yield line(f"{operation}, processor time", "µs", lambda each: each.cpu_us)
    yield line(f"{operation}, memory", "MB", lambda each: each.memory_mb)
