"""Coordinators under faults that a seed chooses; `python -m odradek.sim.coordinator.swarm WORKLOAD SEED` runs it again.

First leaders change, nodes crash, hear of it late or not at all, high watermarks stand still and logs refuse. Then all
of it heals: every partition must be served again, and the workload checks that what was acknowledged is there, in the
state that serves and in the one that the next leader would load from the log.
"""

import sys
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Protocol

from odradek.sim.coordinator.cluster import CoordinatorCluster
from odradek.sim.coordinator.faults import CoordinatorFaults
from odradek.sim.coordinator.groups import ConsumerGroupWorkload, GroupWorkload
from odradek.sim.coordinator.registers import RegisterWorkload
from odradek.sim.coordinator.transactions import TransactionWorkload
from odradek.sim.world import results
from odradek.sim.world.results import SimulationResult

_FAULTS_MS = 8_000
_HEAL_LIMIT_MS = 60_000
#: Time for every client to learn what became of its last request, and for those that are gone to be missed.
_DRAIN_MS = 15_000


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


def run(name: str, seed: int) -> SimulationResult:
    random = Random(f"{name} {seed}")
    workload = WORKLOADS[name](random)
    cluster, scheduler = workload.cluster, workload.cluster.scheduler
    faults = CoordinatorFaults(cluster, random)
    workload.begin()
    faults.begin()
    scheduler.run_for(_FAULTS_MS)
    faults.heal()
    scheduler.run_until(lambda: _is_served(cluster), "all are served", limit_ms=_HEAL_LIMIT_MS)
    progress = workload.progress()
    scheduler.run_until(
        lambda: all(now > then for now, then in zip(workload.progress(), progress, strict=True)),
        "everybody is acknowledged again",
        limit_ms=_HEAL_LIMIT_MS,
    )
    workload.stop()
    scheduler.run_for(_DRAIN_MS)
    workload.check()
    counts = {
        "events": scheduler.events,
        "acked": workload.acks,
        "elections": cluster.elections,
        "crashes": cluster.crashes,
    }
    return SimulationResult(scheduler.digest, counts)


def _is_served(cluster: CoordinatorCluster[Any]) -> bool:
    leaders = {partition_index: cluster.leader_of(partition_index) for partition_index in cluster.topic.partitions}
    return all(
        leader is not None and partition_index not in leader.log.views and leader.runtime.is_active(partition_index)
        for partition_index, leader in leaders.items()
    )


def run_or_explain(name: str, seed: int) -> SimulationResult:
    return results.run_or_explain(lambda: run(name, seed), f"python -m odradek.sim.coordinator.swarm {name} {seed}")


if __name__ == "__main__":
    sys.stdout.write(f"{run(sys.argv[1], int(sys.argv[2]))}\n")
