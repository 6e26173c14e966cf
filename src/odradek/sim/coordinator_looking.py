"""For those who look on at the end of a simulation: the state that serves, and the one that a new leader would load."""

from collections.abc import Callable
from random import Random
from typing import TypeVar

from odradek.coordinator.runtime import CoordinatorRuntime
from odradek.coordinator.shard import Shard, ShardContext
from odradek.sim.coordinator_cluster import CoordinatorCluster

AnyShard = TypeVar("AnyShard", bound=Shard)


def shard_of(cluster: CoordinatorCluster[AnyShard], number: int) -> AnyShard:
    leader = cluster.leader_of(number)
    assert leader is not None
    return leader.runtime.shard(number)


def load_anew(
    cluster: CoordinatorCluster[AnyShard], number: int, new_shard: Callable[[ShardContext], AnyShard]
) -> AnyShard:
    leader = cluster.leader_of(number)
    assert leader is not None
    spare = CoordinatorRuntime(cluster.topic_name, leader.log, new_shard, cluster.clock, Random(0))
    spare.load(number, cluster.topic.partitions[number].leader_epoch)
    while spare.load_step(number):
        pass
    return spare.shard(number)
