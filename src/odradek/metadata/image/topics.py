"""Topics and their partitions."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from odradek.common.failures import check, fail
from odradek.common.ids import uuid_to_text
from odradek.metadata.image.immutable_map import MapDelta, SharedMap
from odradek.metadata.image.partition_registration import PartitionRegistration, partition_from_record
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.writer_options import WriterOptions
from odradek.protocol.messages.clear_elr_record import ClearElrRecord
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from odradek.protocol.messages.partition_record import PartitionRecord
from odradek.protocol.messages.remove_topic_record import RemoveTopicRecord
from odradek.protocol.messages.topic_record import TopicRecord


@dataclass(frozen=True, slots=True)
class TopicImage:
    name: str
    id: bytes
    partitions: SharedMap[int, PartitionRegistration] = field(default_factory=SharedMap)

    def records(self, options: WriterOptions) -> Iterator[MetadataRecord]:
        yield MetadataRecord(TopicRecord(name=self.name, topic_id=self.id), 0)
        for partition_id, partition in sorted(self.partitions.items()):
            yield partition.to_record(self.id, partition_id, options)


@dataclass(frozen=True, slots=True)
class TopicsImage:
    """Both maps have the same topics."""

    by_id: SharedMap[bytes, TopicImage] = field(default_factory=SharedMap)
    by_name: SharedMap[str, TopicImage] = field(default_factory=SharedMap)

    @property
    def is_empty(self) -> bool:
        return not self.by_id

    def partition(self, topic_id: bytes, partition_id: int) -> PartitionRegistration | None:
        topic: TopicImage | None = self.by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(partition_id)

    def records(self, options: WriterOptions) -> Iterator[MetadataRecord]:
        """Yield records in the order of names, so that all nodes write the same bytes for the same image."""
        for _, topic in sorted(self.by_name.items()):
            yield from topic.records(options)


class TopicDelta:
    """Changes of one topic; `image` is the topic before them, without partitions if it is new."""

    def __init__(self, image: TopicImage) -> None:
        self.image = image
        self.partitions = MapDelta(image.partitions)

    def replay_partition(self, record: PartitionRecord) -> None:
        self.partitions.put(record.partition_id, partition_from_record(record))

    def replay_change(self, record: PartitionChangeRecord) -> None:
        partition = self.partitions.get(record.partition_id)
        if partition is None:
            fail(f"a record changes {self.image.name}-{record.partition_id}, which does not exist")
        self.partitions.put(record.partition_id, partition.merge(record))

    def clear_elr(self) -> None:
        """Clear the ELR of each partition that has one; the others keep their epoch, as in Kafka's image."""
        cleared = PartitionChangeRecord(eligible_leader_replicas=[], last_known_elr=[])
        for partition_id, partition in {**self.image.partitions, **self.partitions.changes}.items():
            if partition is not None and (partition.elr or partition.last_known_elr):
                self.partitions.put(partition_id, partition.merge(cleared))

    def apply(self) -> TopicImage:
        return TopicImage(self.image.name, self.image.id, self.partitions.apply())


class TopicsDelta:
    """`changed` has a delta for each created or changed topic, `deleted` the name of each removed one."""

    def __init__(self, image: TopicsImage) -> None:
        self.image = image
        self.changed: dict[bytes, TopicDelta] = {}
        self.deleted: dict[bytes, str] = {}
        #: Names of topics created within the delta; a name may be released and used again by another id.
        self.created: dict[str, bytes] = {}

    @staticmethod
    def from_nothing_to(image: TopicsImage) -> "TopicsDelta":
        """Return the delta from the empty image to this one."""
        delta = TopicsDelta(TopicsImage())
        for topic_id, topic in image.by_id.items():
            created = delta.changed[topic_id] = TopicDelta(TopicImage(topic.name, topic_id))
            created.partitions.changes.update(topic.partitions)
            delta.created[topic.name] = topic_id
        return delta

    def replay_topic(self, record: TopicRecord) -> None:
        self.changed[record.topic_id] = TopicDelta(TopicImage(record.name, record.topic_id))
        self.created[record.name] = record.topic_id

    def replay_partition(self, record: PartitionRecord) -> None:
        self._topic(record.topic_id).replay_partition(record)

    def replay_change(self, record: PartitionChangeRecord) -> None:
        self._topic(record.topic_id).replay_change(record)

    def replay_remove(self, record: RemoveTopicRecord) -> str:
        """Remove a topic and return its name."""
        topic_id = record.topic_id
        topic = self._topic(topic_id).image
        del self.changed[topic_id]
        if self.created.get(topic.name) == topic_id:
            del self.created[topic.name]
        if topic_id in self.image.by_id:
            self.deleted[topic_id] = topic.name
        return topic.name

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        """Clear the ELR of one topic, or of all topics if the record has no name."""
        if record.topic_name:
            self._topic(self._id_of(record.topic_name)).clear_elr()
            return
        for topic_id, topic in self.image.by_id.items():
            untouched = topic_id not in self.changed and topic_id not in self.deleted
            if untouched and any(p.elr or p.last_known_elr for p in topic.partitions.values()):
                self._topic(topic_id)
        for delta in self.changed.values():
            delta.clear_elr()

    def finish_snapshot(self) -> None:
        for topic_id, topic in self.image.by_id.items():
            if topic_id not in self.changed:
                self.deleted[topic_id] = topic.name

    def apply(self) -> TopicsImage:
        by_id: dict[bytes, TopicImage | None] = dict.fromkeys(self.deleted)
        by_name: dict[str, TopicImage | None] = dict.fromkeys(self.deleted.values())
        for topic_id, delta in self.changed.items():
            topic = delta.apply()
            by_id[topic_id] = by_name[topic.name] = topic
        return TopicsImage(self.image.by_id.changed(by_id), self.image.by_name.changed(by_name))

    def _topic(self, topic_id: bytes) -> TopicDelta:
        delta = self.changed.get(topic_id)
        if delta is None:
            check(
                topic_id in self.image.by_id and topic_id not in self.deleted,
                f"a record changes the topic {uuid_to_text(topic_id)}, which does not exist",
            )
            delta = self.changed[topic_id] = TopicDelta(self.image.by_id[topic_id])
        return delta

    def _id_of(self, name: str) -> bytes:
        if name in self.created:
            return self.created[name]
        topic: TopicImage | None = self.image.by_name.get(name)
        if topic is None:
            fail(f"a record clears the eligible leaders of the topic {name}, which does not exist")
        return topic.id
