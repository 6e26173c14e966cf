"""Coordinators under faults that a seed chooses: `python -m odradek.sim.coordinator_swarm SEED` runs one again.

First leaders change, nodes crash, hear of it late or not at all, high watermarks stand still and logs refuse. Then all
of it heals: every partition must be served again, and what was acknowledged must be there, in the state that serves
and in the one that the next leader would load from the log.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from odradek.common.failures import check
from odradek.coordinator.shard import Shard, ShardContext
from odradek.sim.coordinator_cluster import CoordinatorCluster
from odradek.sim.coordinator_faults import CoordinatorFaults
from odradek.sim.coordinator_registers import SWEEP, RegisterClient, RegisterShard, TransactionalClient

AnyShard = TypeVar("AnyShard", bound=Shard)

_FAULTS_MS = 8_000
_HEAL_LIMIT_MS = 30_000
#: Time for every client to learn what became of its last request.
_SETTLE_MS = 15_000


class SimulationFailed(AssertionError):
    """With the command that shows it again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    events: int
    acked: int
    elections: int
    crashes: int
    digest: str


def run(seed: int) -> Outcome:
    random = Random(f"coordinators {seed}")
    cluster = CoordinatorCluster(
        Random(random.getrandbits(64)),
        "__consumer_offsets",
        RegisterShard,
        node_count=random.randint(2, 4),
        partition_count=random.randint(1, 3),
    )
    clients = _clients(cluster, random)
    faults = CoordinatorFaults(cluster, random)
    for client in clients:
        client.next()
    faults.begin()
    cluster.scheduler.run_for(_FAULTS_MS)
    faults.heal()
    check_healed(cluster)
    _check_served(cluster, clients)
    for client in clients:
        client.is_over = True
    cluster.scheduler.run_for(_SETTLE_MS)
    for number in cluster.topic.partitions:
        live, loaded = shard_of(cluster, number), load_anew(cluster, number, RegisterShard)
        check(live.values == loaded.values, f"{number}: {live.values} is served, {loaded.values} is in the log")
        check(live.pending == loaded.pending, f"{number}: {live.pending} is open, {loaded.pending} in the log")
    for client in clients:
        client.check_final(shard_of(cluster, client.number).get(client.key))
    return Outcome(
        cluster.scheduler.events,
        sum(len(client.acked) for client in clients),
        cluster.elections,
        cluster.crashes,
        cluster.scheduler.digest,
    )


def _clients(cluster: CoordinatorCluster[RegisterShard], random: Random) -> list[RegisterClient]:
    made: list[RegisterClient] = []
    for number in cluster.topic.partitions:
        made += [
            RegisterClient(cluster, number, f"r{number}-{each}", random.choice((20, 60, 200)))
            for each in range(random.randint(1, 3))
        ]
        made.append(TransactionalClient(cluster, number, f"t{number}", number))
    return made


def check_healed(cluster: CoordinatorCluster[Any]) -> None:
    """Every partition has a leader that serves it."""

    def is_served(number: int) -> bool:
        leader = cluster.leader_of(number)
        return leader is not None and number not in leader.log.views and leader.runtime.is_active(number)

    cluster.scheduler.run_until(
        lambda: all(map(is_served, cluster.topic.partitions)), "all are served", limit_ms=_HEAL_LIMIT_MS
    )


def _check_served(cluster: CoordinatorCluster[RegisterShard], clients: list[RegisterClient]) -> None:
    acked = {client.key: len(client.acked) for client in clients}
    swept = {number: shard_of(cluster, number).get(SWEEP) for number in cluster.topic.partitions}
    cluster.scheduler.run_until(
        lambda: (
            all(len(client.acked) > acked[client.key] for client in clients)
            and all(shard_of(cluster, number).get(SWEEP) > before for number, before in swept.items())
        ),
        "everybody is acknowledged again, and timers run",
        limit_ms=_HEAL_LIMIT_MS,
    )


def shard_of(cluster: CoordinatorCluster[AnyShard], number: int) -> AnyShard:
    leader = cluster.leader_of(number)
    assert leader is not None
    return leader.runtime.shard(number)


def load_anew(
    cluster: CoordinatorCluster[AnyShard], number: int, new_shard: Callable[[ShardContext], AnyShard]
) -> AnyShard:
    """What a leader would have that loads the log now."""
    leader = cluster.leader_of(number)
    assert leader is not None
    spare = type(leader.runtime)(cluster.topic_name, leader.log, new_shard, cluster.clock, Random(0))
    spare.load(number, cluster.topic.partitions[number].leader_epoch)
    while spare.load_step(number):
        pass
    return spare.shard(number)


def run_or_explain(seed: int) -> Outcome:
    try:
        return run(seed)
    except Exception as error:
        command = f"python -m odradek.sim.coordinator_swarm {seed}"
        raise SimulationFailed(f"{type(error).__name__}: {error}\nTo see it again: {command}") from error


if __name__ == "__main__":
    sys.stdout.write(f"{run(int(sys.argv[1]))}\n")
