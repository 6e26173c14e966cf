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
        """By name, so that all nodes write the same bytes for the same image."""
        for _, topic in sorted(self.by_name.items()):
            yield from topic.records(options)


class TopicDelta:
    """What changes in one topic; `image` is the topic before, without partitions if it is new."""

    def __init__(self, image: TopicImage) -> None:
        self.image = image
        self.partitions = MapDelta(image.partitions)

    def replay_partition(self, record: PartitionRecord) -> None:
        self.partitions.put(record.partition_id, partition_from_record(record))

    def replay_change(self, record: PartitionChangeRecord) -> None:
        partition = self.partitions.get(record.partition_id)
        if partition is None:
            fail(f"a record changes {self.image.name}-{record.partition_id}, which is not there")
        self.partitions.put(record.partition_id, partition.merge(record))

    def clear_elr(self) -> None:
        """Partitions without any keep their epoch: Kafka's image leaves them alone."""
        cleared = PartitionChangeRecord(eligible_leader_replicas=[], last_known_elr=[])
        for partition_id, partition in {**self.image.partitions, **self.partitions.changes}.items():
            if partition is not None and (partition.elr or partition.last_known_elr):
                self.partitions.put(partition_id, partition.merge(cleared))

    def apply(self) -> TopicImage:
        return TopicImage(self.image.name, self.image.id, self.partitions.apply())


class TopicsDelta:
    """`changed` has a delta for each topic that is there afterwards, `deleted` the name of each that is not."""

    def __init__(self, image: TopicsImage) -> None:
        self.image = image
        self.changed: dict[bytes, TopicDelta] = {}
        self.deleted: dict[bytes, str] = {}
        #: Names taken within the delta; a name may be given up and taken again by another id.
        self.created: dict[str, bytes] = {}

    @staticmethod
    def whole(image: TopicsImage) -> "TopicsDelta":
        """From nothing to the image."""
        delta = TopicsDelta(TopicsImage())
        for topic_id, topic in image.by_id.items():
            made = delta.changed[topic_id] = TopicDelta(TopicImage(topic.name, topic_id))
            made.partitions.changes.update(topic.partitions)
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
        """The name of the topic that is gone."""
        topic_id = record.topic_id
        topic = self._topic(topic_id).image
        del self.changed[topic_id]
        if self.created.get(topic.name) == topic_id:
            del self.created[topic.name]
        if topic_id in self.image.by_id:
            self.deleted[topic_id] = topic.name
        return topic.name

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        """Of one topic, or of all when the record names none."""
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
        found = self.changed.get(topic_id)
        if found is None:
            check(
                topic_id in self.image.by_id and topic_id not in self.deleted,
                f"a record changes the topic {uuid_to_text(topic_id)}, which is not there",
            )
            found = self.changed[topic_id] = TopicDelta(self.image.by_id[topic_id])
        return found

    def _id_of(self, name: str) -> bytes:
        if name in self.created:
            return self.created[name]
        topic: TopicImage | None = self.image.by_name.get(name)
        if topic is None:
            fail(f"a record clears the eligible leaders of the topic {name}, which is not there")
        return topic.id
