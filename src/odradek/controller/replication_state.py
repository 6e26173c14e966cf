"""Topics and partitions as the log has them, with what is needed to find and to judge them.

The rules of replication (creation, ISR changes, elections, reassignment) each have a file of their own and share this
state; only `replay` changes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from odradek.common.failures import check, fail
from odradek.common.ids import uuid_to_text
from odradek.controller.cluster_control import ClusterControl
from odradek.controller.configuration_control import ConfigurationControl
from odradek.controller.decision import Refused
from odradek.controller.feature_control import FeatureControl
from odradek.controller.partition_change import PartitionContext
from odradek.controller.partition_index import PartitionIndex, TopicIdPartition
from odradek.controller.topic_names import collision_form
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.directory_id import UNASSIGNED
from odradek.metadata.image.partition_registration import PartitionRegistration, partition_from_record
from odradek.metadata.image.topics import TopicsImage
from odradek.protocol.config_kinds import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.clear_elr_record import ClearElrRecord
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from odradek.protocol.messages.partition_record import PartitionRecord
from odradek.protocol.messages.remove_topic_record import RemoveTopicRecord
from odradek.protocol.messages.topic_record import TopicRecord


@dataclass(slots=True)
class TopicState:
    name: str
    id: bytes
    partitions: dict[int, PartitionRegistration] = field(default_factory=dict)


class ReplicationState:
    def __init__(self, cluster: ClusterControl, configuration: ConfigurationControl, features: FeatureControl) -> None:
        self.cluster = cluster
        self.configuration = configuration
        self.features = features
        self.topics: dict[bytes, TopicState] = {}
        self.ids_by_name: dict[str, bytes] = {}
        self.index = PartitionIndex()
        #: Names by what they would collide as.
        self.colliding: dict[str, dict[str, None]] = {}

    # Questions

    def topic_named(self, name: str) -> TopicState | None:
        topic_id = self.ids_by_name.get(name)
        return None if topic_id is None else self.topics[topic_id]

    def partition(self, key: TopicIdPartition) -> PartitionRegistration:
        return self.topics[key.topic_id].partitions[key.partition_id]

    def min_isr(self, topic: TopicState) -> int:
        """At most the replication factor: a topic of one replica is healthy with one."""
        return min(self.configuration.min_insync_replicas(topic.name), len(topic.partitions[0].replicas))

    def context(
        self,
        key: TopicIdPartition,
        *,
        without: tuple[int, ...] = (),
        also: int | None = None,
        directories: Mapping[int, bytes] | None = None,
    ) -> PartitionContext:
        """Return the context of a change of the partition. `without` are brokers that are about to go, `also` one that
        is about to come, `directories` the new directories of some replicas."""
        topic = self.topics[key.topic_id]
        partition = topic.partitions[key.partition_id]

        def is_acceptable_leader(broker_id: int) -> bool:
            if broker_id in without or not (broker_id == also or self.cluster.is_active(broker_id)):
                return False
            directory = partition.directory(broker_id) if broker_id in partition.replicas else UNASSIGNED
            directory = (directories or {}).get(broker_id, directory)
            return self.cluster.has_online_directory(broker_id, directory)

        return PartitionContext(
            topic_id=key.topic_id,
            partition_id=key.partition_id,
            is_acceptable_leader=is_acceptable_leader,
            metadata_version=self.features.metadata_version,
            min_isr=self.min_isr(topic),
            is_elr_enabled=self.features.is_elr_enabled,
            default_directory=self.cluster.default_directory,
        )

    def check_resource_exists(self, resource: ConfigResource) -> None:
        if resource.type == ConfigResourceType.TOPIC and resource.name not in self.ids_by_name:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
        if resource.type == ConfigResourceType.BROKER and resource.name:
            broker_id = int(resource.name)
            if broker_id not in self.cluster.brokers and broker_id not in self.cluster.controllers:
                raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {broker_id} found.")

    def check_manual_assignment(self, replicas: list[int], replication_factor: int | None) -> None:
        """What a person may not assign: nobody, unknown brokers, one twice, another number than before."""
        prefix = "The manual partition assignment includes"
        if not replicas:
            raise _invalid_assignment(f"{prefix} an empty replica list.")
        previous = None
        for broker_id in sorted(replicas):
            broker = self.cluster.brokers.get(broker_id)
            if broker is None:
                raise _invalid_assignment(f"{prefix} broker {broker_id}, but no such broker is registered.")
            if not broker.has_uncordoned_directories:
                raise _invalid_assignment(f"{prefix} broker {broker_id}, but all its log directories are cordoned.")
            if broker_id == previous:
                raise _invalid_assignment(f"{prefix} the broker {broker_id} more than once.")
            previous = broker_id
        if replication_factor is not None and len(replicas) != replication_factor:
            raise _invalid_assignment(
                f"{prefix} a partition with {len(replicas)} replica(s), but this is not consistent with previous "
                f"partitions, which have {replication_factor} replica(s)."
            )

    # Replay

    def take_over(self, topics: TopicsImage) -> None:
        """Into an empty state, in the order in which a snapshot has them."""
        for name, topic in sorted(topics.by_name.items()):
            self.replay_topic(TopicRecord(name=name, topic_id=topic.id))
            state = self.topics[topic.id]
            for partition_id, partition in sorted(topic.partitions.items()):
                self._put(state, partition_id, partition)

    def replay_topic(self, record: TopicRecord) -> None:
        if record.name in self.ids_by_name:
            fail(f"the topic {record.name} is created twice")
        if record.topic_id in self.topics:
            fail(f"the topic id {uuid_to_text(record.topic_id)} is given twice")
        self.topics[record.topic_id] = TopicState(record.name, record.topic_id)
        self.ids_by_name[record.name] = record.topic_id
        form = collision_form(record.name)
        if form is not None:
            self.colliding.setdefault(form, {})[record.name] = None

    def replay_partition(self, record: PartitionRecord) -> None:
        topic = self._topic(record.topic_id)
        self._put(topic, record.partition_id, partition_from_record(record))

    def replay_change(self, record: PartitionChangeRecord) -> None:
        topic = self._topic(record.topic_id)
        partition = topic.partitions.get(record.partition_id)
        if partition is None:
            fail(f"a record changes {topic.name}-{record.partition_id}, which is not there")
        self._put(topic, record.partition_id, partition.merge(record))

    def replay_remove(self, record: RemoveTopicRecord) -> None:
        topic = self._topic(record.topic_id)
        for partition_id, partition in topic.partitions.items():
            self.index.update(TopicIdPartition(topic.id, partition_id), partition, None)
        del self.topics[topic.id]
        del self.ids_by_name[topic.name]
        form = collision_form(topic.name)
        if form is not None:
            del self.colliding[form][topic.name]
            if not self.colliding[form]:
                del self.colliding[form]
        self.configuration.remove_topic(topic.name)

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        if record.topic_name:
            topic = self.topic_named(record.topic_name)
            check(topic is not None, f"a record clears the eligible leaders of {record.topic_name}, which is not there")
            assert topic is not None
            self._clear_elr(topic)
        else:
            for topic in self.topics.values():
                self._clear_elr(topic)

    def _clear_elr(self, topic: TopicState) -> None:
        cleared = PartitionChangeRecord(eligible_leader_replicas=[], last_known_elr=[])
        for partition_id, partition in list(topic.partitions.items()):
            if partition.elr or partition.last_known_elr:
                self._put(topic, partition_id, partition.merge(cleared))

    def _put(self, topic: TopicState, partition_id: int, partition: PartitionRegistration) -> None:
        before = topic.partitions.get(partition_id)
        topic.partitions[partition_id] = partition
        self.index.update(TopicIdPartition(topic.id, partition_id), before, partition)

    def _topic(self, topic_id: bytes) -> TopicState:
        topic = self.topics.get(topic_id)
        if topic is None:
            fail(f"a record changes the topic {uuid_to_text(topic_id)}, which is not there")
        return topic

    def durable_state(self) -> Mapping[str, object]:
        return {topic.name: (topic.id, dict(topic.partitions)) for topic in self.topics.values()}


def _invalid_assignment(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
