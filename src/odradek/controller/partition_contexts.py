"""State of the cluster that changes of partitions depend on, collected for each change."""

from collections.abc import Mapping

from odradek.controller.cluster_control import ClusterControl
from odradek.controller.configuration_control import ConfigurationControl
from odradek.controller.feature_control import FeatureControl
from odradek.controller.partition_change_builder import PartitionContext
from odradek.controller.partition_index import TopicIdPartition
from odradek.controller.topic_registry import TopicRegistry, TopicState
from odradek.metadata.image.directory_id import UNASSIGNED

_NO_DIRECTORIES: Mapping[int, bytes] = {}


class PartitionContexts:
    def __init__(
        self,
        registry: TopicRegistry,
        cluster: ClusterControl,
        configuration: ConfigurationControl,
        features: FeatureControl,
    ) -> None:
        self._registry = registry
        self._cluster = cluster
        self._configuration = configuration
        self._features = features

    def context(
        self,
        key: TopicIdPartition,
        *,
        without: tuple[int, ...] = (),
        also: int | None = None,
        directories: Mapping[int, bytes] = _NO_DIRECTORIES,
    ) -> PartitionContext:
        """Return the context of a change of the partition. `without` are brokers that are about to go, `also` one that
        is about to be unfenced, `directories` the new directories of some replicas."""
        topic = self._registry.topics[key.topic_id]
        partition = topic.partitions[key.partition_id]

        def is_acceptable_leader(broker_id: int) -> bool:
            if broker_id in without or not (broker_id == also or self._cluster.is_active(broker_id)):
                return False
            directory = partition.directory(broker_id) if broker_id in partition.replicas else UNASSIGNED
            return self._cluster.has_online_directory(broker_id, directories.get(broker_id, directory))

        return PartitionContext(
            topic_id=key.topic_id,
            partition_id=key.partition_id,
            is_acceptable_leader=is_acceptable_leader,
            metadata_version=self._features.metadata_version,
            min_isr=self._min_isr(topic),
            is_elr_enabled=self._features.is_elr_enabled,
            default_directory=self._cluster.default_directory,
        )

    def _min_isr(self, topic: TopicState) -> int:
        """Return min.insync.replicas, at most the replication factor: a topic of one replica is healthy with one."""
        return min(self._configuration.min_insync_replicas(topic.name), len(topic.partitions[0].replicas))
