"""For those who look on at the end of a simulation: the state that serves, and the one that a new leader would load."""

from collections.abc import Callable
from random import Random
from typing import TypeVar

from odradek.coordinator.runtime.deadlines import Deadlines
from odradek.coordinator.runtime.hosted_shard import ShardTimers
from odradek.coordinator.runtime.loading import Loader
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.serde import module_of
from odradek.coordinator.runtime.shard import Shard, ShardContext
from odradek.sim.coordinator.cluster import CoordinatorCluster

AnyShard = TypeVar("AnyShard", bound=Shard)


def shard_of(cluster: CoordinatorCluster[AnyShard], partition_index: int) -> AnyShard:
    leader = cluster.leader_of(partition_index)
    assert leader is not None
    return leader.runtime.shard(partition_index)


def load_anew(
    cluster: CoordinatorCluster[AnyShard], partition_index: int, new_shard: Callable[[ShardContext], AnyShard]
) -> AnyShard:
    """Load a shard from the log, with uncommitted records, as the serving one has them."""
    leader = cluster.leader_of(partition_index)
    assert leader is not None
    epoch = cluster.topic.partitions[partition_index].leader_epoch
    timers = ShardTimers(cluster.clock, Deadlines(), lambda _: Reply())
    shard = new_shard(ShardContext(partition_index, epoch, cluster.clock, Random(0), timers, lambda: cluster.image))
    loader = Loader(shard, module_of(cluster.topic_name), leader.log, partition_index)
    while not loader.step():
        pass
    return shard
