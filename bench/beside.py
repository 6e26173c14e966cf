"""Nodes of both kinds at once, which take turns under the same load.

What else a machine does changes from minute to minute: taking turns, both kinds are disturbed alike. Nodes are broker
and controller in one, with default settings, as processes of their own; the clients share the machine with them. Who
is not under load costs next to nothing.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from network import ask, connected
from quorums import KINDS, bytecode, cluster_of, spec
from rows import Row
from support.processes.nodes import Cluster, Kind, Node

#: A node starts in seconds; on a machine that is busy with something else, in minutes.
_START_TIMEOUT_S = 600
_PAUSE_S = 0.005


@dataclass(frozen=True, slots=True)
class Effort:
    name: str
    #: A line is the median of so many.
    rounds: int
    #: How much of the records and seconds of a full round.
    share: float

    def of(self, amount: float) -> int:
        return max(1, round(amount * self.share))


FULL = Effort("full", rounds=3, share=1.0)
QUICK = Effort("quick", rounds=1, share=0.2)


@dataclass(frozen=True, slots=True)
class Figure:
    value: float
    unit: str
    is_rate: bool = False
    chart: str = ""


Figures = dict[str, Figure]
Clusters = Mapping[Kind, Cluster]


@contextmanager
def both_kinds(count: int = 1, settings: Mapping[str, str] | None = None) -> Iterator[Clusters]:
    """A cluster of each, with so many nodes, all of which answer."""
    with ExitStack() as stack:
        stack.enter_context(bytecode())
        yield {kind: stack.enter_context(running(kind, count, settings)) for kind in KINDS}


@contextmanager
def running(kind: Kind, count: int = 1, settings: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    replicated = {"min.insync.replicas": "2"} if count > 1 else {}
    given = {**replicated, **(settings or {})}
    with cluster_of(*(spec(kind, number, "broker,controller", given) for number in range(1, count + 1))) as cluster:
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


def servers_of(cluster: Cluster) -> str:
    return ",".join(node.broker_address for node in cluster.nodes.values())


def in_turn(clusters: Clusters, effort: Effort, measure: Callable[[Cluster], Figures]) -> Iterator[Row]:
    """Each kind once a round."""
    return kinds_in_turn(effort, lambda kind: measure(clusters[kind]))


def kinds_in_turn(effort: Effort, measure: Callable[[Kind], Figures]) -> Iterator[Row]:
    found: dict[Kind, list[Figures]] = {kind: [] for kind in KINDS}
    for _ in range(effort.rounds):
        for kind in KINDS:
            found[kind].append(measure(kind))
    return rows(found)


def rows(found: Mapping[Kind, Sequence[Figures]]) -> Iterator[Row]:
    for operation, figure in found[Kind.ODRADEK][0].items():
        ours, peer = (statistics.median(each[operation].value for each in found[kind]) for kind in KINDS)
        row = Row(operation=operation, ours=ours, peer=peer, unit=figure.unit, is_rate=figure.is_rate, note="")
        if figure.chart:
            row["chart"] = figure.chart
        yield row
