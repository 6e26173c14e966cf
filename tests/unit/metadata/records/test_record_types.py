"""Record types are those of the message classes, and a route has the key of its record class."""

from odradek.metadata.records.record_types import (
    TRANSACTION_TYPES,
    TYPES_WITHOUT_EFFECT,
    MetadataRecordType,
    part_route,
    route,
)
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.protocol.registry import message_class, message_names, record_class
from odradek.protocol.schema import snake_case


def test_every_metadata_record_has_its_type() -> None:
    classes = [message_class(name) for name in message_names("metadata", "metadata")]
    assert {snake_case(c.__name__).upper(): c.API_KEY for c in classes} == {t.name: t.value for t in MetadataRecordType}


def test_special_types_are_those_of_their_classes() -> None:
    names = [record_class("metadata", "metadata", t).__name__ for t in (*TYPES_WITHOUT_EFFECT, *TRANSACTION_TYPES)]
    assert names == [
        *("NoOpRecord", "ZkMigrationStateRecord"),
        *("BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"),
    ]


class Topics:
    def __init__(self) -> None:
        self.names: list[str] = []

    def replay_topic(self, record: TopicRecord) -> None:
        self.names.append(record.name)


class Image:
    def __init__(self) -> None:
        self.topics = Topics()
        self.selected = 0

    def touch_topics(self) -> Topics:
        self.selected += 1
        return self.topics


def test_a_route_replays_records_of_its_class() -> None:
    topics = Topics()
    record_type, replay = route(TopicRecord, topics.replay_topic)
    replay(TopicRecord(name="orders"))
    assert (record_type, topics.names) == (MetadataRecordType.TOPIC_RECORD, ["orders"])


def test_a_part_is_selected_when_its_first_record_comes() -> None:
    image = Image()
    record_type, replay_of = part_route(TopicRecord, Image.touch_topics, Topics.replay_topic)
    assert (record_type, image.selected) == (MetadataRecordType.TOPIC_RECORD, 0)
    replay = replay_of(image)
    replay(TopicRecord(name="orders"))
    replay(TopicRecord(name="payments"))
    assert (image.selected, image.topics.names) == (1, ["orders", "payments"])
