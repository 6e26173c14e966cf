"""A limit to how fast partitions move, in Kafka's settings.

Brokers know the rate, topics know which replicas it is for: those that are there give (`leader.…`), those that come
take (`follower.…`). All of it is dynamic, and must be taken away when the move is over.
"""

from collections.abc import Iterable, Mapping, Sequence

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.configs import ConfigChange, ConfigResource, alter_configs
from odradek.client.admin.outcomes import Outcomes, TopicPartition
from odradek.protocol.config_kinds import ConfigOp, ConfigResourceType

_RATES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
)
_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
_LEADERS = "leader.replication.throttled.replicas"
_FOLLOWERS = "follower.replication.throttled.replicas"


async def set_throttle(
    cluster: ClusterRouter,
    current: Mapping[TopicPartition, Sequence[int]],
    targets: Mapping[TopicPartition, Sequence[int]],
    bytes_per_second: int,
    *,
    between_dirs: bool = False,
) -> Outcomes[ConfigResource, None]:
    """`between_dirs`: of replicas that move between the directories of a broker, too."""
    givers: dict[str, list[str]] = {}
    takers: dict[str, list[str]] = {}
    brokers: set[int] = set()
    for partition, replicas in targets.items():
        had = current[partition]
        coming = [broker_id for broker_id in replicas if broker_id not in had]
        givers.setdefault(partition.topic, []).extend(f"{partition.partition}:{each}" for each in had)
        takers.setdefault(partition.topic, []).extend(f"{partition.partition}:{each}" for each in coming)
        brokers.update(had, replicas)
    rates = (*_RATES, _DIR_RATE) if between_dirs else _RATES
    changes: dict[ConfigResource, list[ConfigChange]] = {
        _broker(broker_id): [ConfigChange(key, ConfigOp.SET, str(bytes_per_second)) for key in rates]
        for broker_id in sorted(brokers)
    }
    for topic in givers:
        changes[ConfigResource(ConfigResourceType.TOPIC, topic)] = [
            ConfigChange(_LEADERS, ConfigOp.SET, ",".join(givers[topic])),
            ConfigChange(_FOLLOWERS, ConfigOp.SET, ",".join(takers[topic])),
        ]
    return await alter_configs(cluster, changes)


async def clear_throttle(
    cluster: ClusterRouter, topics: Iterable[str], broker_ids: Iterable[int]
) -> Outcomes[ConfigResource, None]:
    changes = {
        ConfigResource(ConfigResourceType.TOPIC, topic): [
            ConfigChange(key, ConfigOp.DELETE) for key in (_LEADERS, _FOLLOWERS)
        ]
        for topic in topics
    }
    rates = [ConfigChange(key, ConfigOp.DELETE) for key in (*_RATES, _DIR_RATE)]
    changes |= {_broker(broker_id): rates for broker_id in broker_ids}
    return await alter_configs(cluster, changes)


def _broker(broker_id: int) -> ConfigResource:
    return ConfigResource(ConfigResourceType.BROKER, str(broker_id))
