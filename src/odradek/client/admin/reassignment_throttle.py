"""Replication quotas of a reassignment, as settings of brokers and topics.

Brokers have the rate, topics the replicas it applies to: existing replicas are throttled as leaders (`leader.…`), new
ones as followers (`follower.…`). The settings are dynamic, and have to be removed after the reassignment.
"""

from collections.abc import Iterable, Mapping, Sequence

from odradek.client.admin.configs import ConfigChange, ConfigOperations, ConfigResource
from odradek.client.admin.outcomes import Outcomes
from odradek.client.types import TopicPartition
from odradek.protocol.config_types import ConfigOp, ConfigResourceType

_RATES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
)
_LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
_LEADERS = "leader.replication.throttled.replicas"
_FOLLOWERS = "follower.replication.throttled.replicas"


class ReassignmentThrottle:
    """Sets and removes the replication quota of a reassignment."""

    def __init__(self, configs: ConfigOperations) -> None:
        self._configs = configs

    async def apply(
        self,
        current: Mapping[TopicPartition, Sequence[int]],
        targets: Mapping[TopicPartition, Sequence[int]],
        bytes_per_second: int,
        *,
        between_log_dirs: bool = False,
    ) -> Outcomes[ConfigResource, None]:
        """Limit the rate of moves. `between_log_dirs` also limits moves between the log directories of a broker."""
        leaders: dict[str, list[str]] = {}
        followers: dict[str, list[str]] = {}
        broker_ids: set[int] = set()
        for partition, replicas in targets.items():
            existing = current[partition]
            added = [broker_id for broker_id in replicas if broker_id not in existing]
            leaders.setdefault(partition.topic, []).extend(f"{partition.partition}:{id_}" for id_ in existing)
            followers.setdefault(partition.topic, []).extend(f"{partition.partition}:{id_}" for id_ in added)
            broker_ids.update(existing, replicas)
        rates = (*_RATES, _LOG_DIR_RATE) if between_log_dirs else _RATES
        changes: dict[ConfigResource, list[ConfigChange]] = {
            _broker(broker_id): [ConfigChange(key, ConfigOp.SET, str(bytes_per_second)) for key in rates]
            for broker_id in sorted(broker_ids)
        }
        for topic in leaders:
            changes[ConfigResource(ConfigResourceType.TOPIC, topic)] = [
                ConfigChange(_LEADERS, ConfigOp.SET, ",".join(leaders[topic])),
                ConfigChange(_FOLLOWERS, ConfigOp.SET, ",".join(followers[topic])),
            ]
        return await self._configs.alter(changes)

    async def clear(self, topics: Iterable[str], broker_ids: Iterable[int]) -> Outcomes[ConfigResource, None]:
        changes = {
            ConfigResource(ConfigResourceType.TOPIC, topic): [
                ConfigChange(key, ConfigOp.DELETE) for key in (_LEADERS, _FOLLOWERS)
            ]
            for topic in topics
        }
        rates = [ConfigChange(key, ConfigOp.DELETE) for key in (*_RATES, _LOG_DIR_RATE)]
        changes |= {_broker(broker_id): rates for broker_id in broker_ids}
        return await self._configs.alter(changes)


def _broker(broker_id: int) -> ConfigResource:
    return ConfigResource(ConfigResourceType.BROKER, str(broker_id))
