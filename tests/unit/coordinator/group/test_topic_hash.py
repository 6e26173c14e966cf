"""The numbers were computed by the library that Apache Kafka hashes with, fed as its coordinator feeds it."""

from odradek.coordinator.group.topic_hash import group_hash, topic_hash
from odradek.protocol.messages.register_broker_record import RegisterBrokerRecord
from odradek.protocol.messages.topic_record import TopicRecord
from support.builders.metadata import replayed
from support.builders.replica import partition_record

FOO, BAR = bytes.fromhex("0102030405060708f1f2f3f4f5f6f7f8"), b"b" * 16
FOO_HASH, BAR_HASH, BOTH_HASH = -3648312376594714811, -4632725818012647473, -6509773814345545807

IMAGE = replayed(
    [
        RegisterBrokerRecord(broker_id=1, rack="rack1"),
        RegisterBrokerRecord(broker_id=2, rack="rack0"),
        RegisterBrokerRecord(broker_id=3, rack="\N{GRINNING FACE}"),
        RegisterBrokerRecord(broker_id=4, rack=None),
        TopicRecord(name="foo", topic_id=FOO),
        partition_record([1, 2], number=0, topic_id=FOO),
        partition_record([3, 1, 4], number=1, topic_id=FOO),
        TopicRecord(name="bar", topic_id=BAR),
        partition_record([4], number=0, topic_id=BAR),
    ]
)


def test_a_topic_by_its_id_name_partitions_and_racks() -> None:
    assert topic_hash(IMAGE, IMAGE.topics.by_name["foo"]) == FOO_HASH
    assert topic_hash(IMAGE, IMAGE.topics.by_name["bar"]) == BAR_HASH


def test_a_group_by_its_topics_in_the_order_of_their_names() -> None:
    assert group_hash(IMAGE, ["foo", "bar", "foo", "not there"]) == BOTH_HASH
    assert group_hash(IMAGE, ["not there"]) == 0
