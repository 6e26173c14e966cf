"""Coordinators under faults that a seed chooses; `python -m odradek.sim.coordinator.swarm WORKLOAD SEED` runs it again.

First leaders change, nodes crash, hear of it late or not at all, high watermarks stand still and logs refuse. Then all
of it heals: every partition must be served again, and the workload checks that what was acknowledged is there, in the
state that serves and in the one that the next leader would load from the log.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from odradek.sim.coordinator.cluster import CoordinatorCluster
from odradek.sim.coordinator.faults import CoordinatorFaults
from odradek.sim.coordinator.groups import ConsumerGroupWorkload, GroupWorkload
from odradek.sim.coordinator.registers import RegisterWorkload
from odradek.sim.coordinator.transactions import TransactionWorkload

_FAULTS_MS = 8_000
_HEAL_LIMIT_MS = 60_000
#: Time for every client to learn what became of its last request, and for those that are gone to be missed.
_SETTLE_MS = 15_000


class SimulationFailed(AssertionError):
    """With the command that shows it again."""


class Workload(Protocol):
    """Clients of a cluster, and what they were promised."""

    @property
    def cluster(self) -> CoordinatorCluster[Any]: ...

    @property
    def acks(self) -> int: ...

    def begin(self) -> None: ...

    def progress(self) -> list[int]:
        """Numbers that all grow while everything is well."""
        ...

    def stop(self) -> None: ...

    def check(self) -> None:
        """Nobody asks any more. Raises Fault if anything is not as it was acknowledged."""
        ...


WORKLOADS: Mapping[str, Callable[[Random], Workload]] = {
    "registers": RegisterWorkload,
    "groups": GroupWorkload,
    "consumer_groups": ConsumerGroupWorkload,
    "transactions": TransactionWorkload,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    events: int
    acked: int
    elections: int
    crashes: int
    digest: str


def run(name: str, seed: int) -> Outcome:
    random = Random(f"{name} {seed}")
    workload = WORKLOADS[name](random)
    cluster, scheduler = workload.cluster, workload.cluster.scheduler
    faults = CoordinatorFaults(cluster, random)
    workload.begin()
    faults.begin()
    scheduler.run_for(_FAULTS_MS)
    faults.heal()
    scheduler.run_until(lambda: _is_served(cluster), "all are served", limit_ms=_HEAL_LIMIT_MS)
    before = workload.progress()
    scheduler.run_until(
        lambda: all(now > then for now, then in zip(workload.progress(), before, strict=True)),
        "everybody is acknowledged again",
        limit_ms=_HEAL_LIMIT_MS,
    )
    workload.stop()
    scheduler.run_for(_SETTLE_MS)
    workload.check()
    return Outcome(scheduler.events, workload.acks, cluster.elections, cluster.crashes, scheduler.digest)


def _is_served(cluster: CoordinatorCluster[Any]) -> bool:
    leaders = {number: cluster.leader_of(number) for number in cluster.topic.partitions}
    return all(
        leader is not None and number not in leader.log.views and leader.runtime.is_active(number)
        for number, leader in leaders.items()
    )


def run_or_explain(name: str, seed: int) -> Outcome:
    try:
        return run(name, seed)
    except Exception as error:
        command = f"python -m odradek.sim.coordinator.swarm {name} {seed}"
        raise SimulationFailed(f"{type(error).__name__}: {error}\nTo see it again: {command}") from error


if __name__ == "__main__":
    sys.stdout.write(f"{run(sys.argv[1], int(sys.argv[2]))}\n")
