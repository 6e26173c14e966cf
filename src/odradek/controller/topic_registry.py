"""Topics and partitions as the log has them, with the indexes that find them; only `replay_` methods change it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from odradek.common.failures import check, fail
from odradek.common.ids import uuid_to_text
from odradek.common.topic_names import collision_form
from odradek.controller.partition_index import PartitionIndex, TopicIdPartition
from odradek.metadata.image.partition_registration import PartitionRegistration, partition_from_record
from odradek.metadata.image.topics import TopicsImage
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


class TopicRegistry:
    def __init__(self) -> None:
        self.topics: dict[bytes, TopicState] = {}
        self.ids_by_name: dict[str, bytes] = {}
        self.index = PartitionIndex()
        #: Names by the form in which they would collide.
        self._names_by_form: dict[str, dict[str, None]] = {}

    def topic_named(self, name: str) -> TopicState | None:
        topic_id = self.ids_by_name.get(name)
        return None if topic_id is None else self.topics[topic_id]

    def partition(self, key: TopicIdPartition) -> PartitionRegistration:
        return self.topics[key.topic_id].partitions[key.partition_id]

    def colliding_topic(self, name: str) -> str | None:
        """Return an existing topic whose metrics would have the same names; None if there is none."""
        form = collision_form(name)
        return None if form is None else next(iter(self._names_by_form.get(form, ())), None)

    # Replay

    def copy_image(self, topics: TopicsImage) -> None:
        """Copy all topics into an empty registry, in the order in which a snapshot has them."""
        for name, topic in sorted(topics.by_name.items()):
            self.replay_topic(TopicRecord(name=name, topic_id=topic.id))
            state = self.topics[topic.id]
            for partition_id, partition in sorted(topic.partitions.items()):
                self._put(state, partition_id, partition)

    def replay_topic(self, record: TopicRecord) -> None:
        if record.name in self.ids_by_name:
            fail(f"the topic {record.name} is created twice")
        if record.topic_id in self.topics:
            fail(f"the topic id {uuid_to_text(record.topic_id)} is assigned twice")
        self.topics[record.topic_id] = TopicState(record.name, record.topic_id)
        self.ids_by_name[record.name] = record.topic_id
        form = collision_form(record.name)
        if form is not None:
            self._names_by_form.setdefault(form, {})[record.name] = None

    def replay_partition(self, record: PartitionRecord) -> None:
        topic = self._topic(record.topic_id)
        self._put(topic, record.partition_id, partition_from_record(record))

    def replay_change(self, record: PartitionChangeRecord) -> None:
        topic = self._topic(record.topic_id)
        partition = topic.partitions.get(record.partition_id)
        if partition is None:
            fail(f"a record changes {topic.name}-{record.partition_id}, which does not exist")
        self._put(topic, record.partition_id, partition.merge(record))

    def replay_remove(self, record: RemoveTopicRecord) -> str:
        """Remove a topic and return its name."""
        topic = self._topic(record.topic_id)
        for partition_id, partition in topic.partitions.items():
            self.index.update(TopicIdPartition(topic.id, partition_id), partition, None)
        del self.topics[topic.id]
        del self.ids_by_name[topic.name]
        form = collision_form(topic.name)
        if form is not None:
            del self._names_by_form[form][topic.name]
            if not self._names_by_form[form]:
                del self._names_by_form[form]
        return topic.name

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        if record.topic_name:
            topic = self.topic_named(record.topic_name)
            check(
                topic is not None, f"a record clears the eligible leaders of {record.topic_name}, which does not exist"
            )
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
        previous = topic.partitions.get(partition_id)
        topic.partitions[partition_id] = partition
        self.index.update(TopicIdPartition(topic.id, partition_id), previous, partition)

    def _topic(self, topic_id: bytes) -> TopicState:
        topic = self.topics.get(topic_id)
        if topic is None:
            fail(f"a record changes the topic {uuid_to_text(topic_id)}, which does not exist")
        return topic

    def durable_state(self) -> Mapping[str, object]:
        return {topic.name: (topic.id, dict(topic.partitions)) for topic in self.topics.values()}
