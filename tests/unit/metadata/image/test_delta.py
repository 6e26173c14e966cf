"""Image and delta against a rebuild from nothing, for random sequences of every kind of record."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.common.failures import Fault
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.metadata.records.record_serde import decode_record, encode_record
from odradek.metadata.records.writer_options import UnwritableMetadata, WriterOptions
from odradek.protocol.message import Message
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.end_transaction_record import EndTransactionRecord
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord
from odradek.protocol.messages.fence_broker_record import FenceBrokerRecord
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from odradek.protocol.messages.partition_record import PartitionRecord
from odradek.protocol.messages.register_broker_record import RegisterBrokerRecord
from odradek.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from odradek.protocol.messages.remove_topic_record import RemoveTopicRecord
from odradek.protocol.messages.topic_record import TopicRecord
from support.builders.metadata import replayed
from support.builders.metadata_records import RecordMaker, first_records

TOPIC_ID = bytes(15) + b"t"


def random_history(seed: int, length: int) -> list[Message]:
    maker, history = RecordMaker(Random(seed)), first_records()
    image = replayed(history)
    while len(history) < length:
        record = maker.next_record(image)
        history.append(record)
        image = replayed([record], image)
    return history


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(5, 150), st.data())
def test_images_by_any_cuts_equal_the_rebuild(seed: int, length: int, data: st.DataObject) -> None:
    history = random_history(seed, length)
    whole = replayed(history)
    image, start = EMPTY, 0
    while start < len(history):
        end = start + data.draw(st.integers(1, 40))
        image = replayed(history[start:end], image)
        start = end
    assert image == whole
    assert replayed([record.message for record in whole.records()]) == whole


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(5, 120), st.integers(5, 120))
def test_a_snapshot_over_any_image_leaves_nothing_of_it(seed: int, one: int, other: int) -> None:
    before, snapshot = replayed(random_history(seed, one)), replayed(random_history(seed + 1, other))
    delta = MetadataDelta(before)
    for record in snapshot.records():
        delta.replay(decode_record(encode_record(record)).message)
    delta.finish_snapshot()
    assert delta.apply(MetadataProvenance()) == snapshot


def test_untouched_parts_are_the_same_objects() -> None:
    image = replayed(random_history(1, 100))
    delta = MetadataDelta(image)
    delta.replay(ConfigRecord(resource_type=4, resource_name="", name="a", value="9"))
    assert delta.topics is None and delta.configs is not None
    successor = delta.apply(MetadataProvenance())
    assert successor.topics is image.topics and successor.cluster is image.cluster
    assert successor.configs is not image.configs


def partition(**fields: object) -> PartitionRecord:
    values = {"partition_id": 0, "topic_id": TOPIC_ID, "replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1}
    return PartitionRecord(**{**values, "leader_epoch": 0, "partition_epoch": 0, **fields})


def one_topic(*records: Message) -> MetadataImage:
    return replayed([*first_records(), TopicRecord(name="t", topic_id=TOPIC_ID), partition(), *records])


def the_partition(image: MetadataImage) -> PartitionRegistration:
    found = image.topics.partition(TOPIC_ID, 0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("leader", "epoch"), [(-2, 0), (-1, 1), (1, 1), (2, 1)], ids=["unchanged", "none", "the same again", "another"]
)
def test_a_leader_in_a_change_makes_a_new_leader_epoch(leader: int, epoch: int) -> None:
    changed = the_partition(one_topic(PartitionChangeRecord(topic_id=TOPIC_ID, partition_id=0, leader=leader)))
    assert changed.leader_epoch == epoch
    assert changed.partition_epoch == 1
    assert changed.leader == (1 if leader == -2 else leader)


def test_a_topic_deleted_and_made_again_within_a_delta() -> None:
    image = one_topic(ConfigRecord(resource_type=2, resource_name="t", name="a", value="1"))
    other = bytes(15) + b"u"
    again = replayed([RemoveTopicRecord(topic_id=TOPIC_ID), TopicRecord(name="t", topic_id=other)], image)
    assert list(again.topics.by_id) == [other] == [again.topics.by_name["t"].id]
    assert again.configs.is_empty


def test_settings_of_a_topic_that_came_and_went_within_a_delta_are_gone() -> None:
    image = one_topic(
        ConfigRecord(resource_type=2, resource_name="t", name="a", value="1"), RemoveTopicRecord(topic_id=TOPIC_ID)
    )
    assert image.topics.is_empty and image.configs.is_empty


@pytest.mark.parametrize(
    "record",
    [
        PartitionChangeRecord(topic_id=bytes(16), partition_id=0),
        PartitionChangeRecord(topic_id=TOPIC_ID, partition_id=7),
        RemoveTopicRecord(topic_id=bytes(16)),
        FenceBrokerRecord(id=5, epoch=1),
        FenceBrokerRecord(id=1, epoch=99),
        RemoveAccessControlEntryRecord(id=bytes(16)),
        FeatureLevelRecord(name="metadata.version", feature_level=99),
        EndTransactionRecord(),
        PartitionChangeRecord(topic_id=TOPIC_ID, partition_id=0, replicas=[1], directories=[b"d" * 16] * 2),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_record_that_contradicts_the_image_is_a_fault(record: Message) -> None:
    image = one_topic(RegisterBrokerRecord(broker_id=1, broker_epoch=3))
    with pytest.raises(Fault):
        replayed([record], image)


def test_a_removed_topic_cannot_be_changed_within_the_delta() -> None:
    change = PartitionChangeRecord(topic_id=TOPIC_ID, partition_id=0)
    with pytest.raises(Fault, match="does not exist"):
        replayed([RemoveTopicRecord(topic_id=TOPIC_ID), change], one_topic())


def test_what_a_lower_level_cannot_say_is_refused_or_reported() -> None:
    image = replayed([*random_history(3, 200)])
    with pytest.raises(UnwritableMetadata, match=r"3\.3-IV3"):
        list(image.records(WriterOptions(MetadataVersion.IBP_3_3_IV3)))
    losses: list[str] = []
    records = list(image.records(WriterOptions(MetadataVersion.IBP_3_3_IV3, on_loss=losses.append)))
    assert losses
    again = replayed(decode_record(encode_record(record)).message for record in records)
    assert again.topics.by_name.keys() == image.topics.by_name.keys()
    assert again.features.metadata_version is MetadataVersion.IBP_3_3_IV3


def test_secrets_are_not_shown() -> None:
    image = replayed(random_history(5, 300))
    assert image.scram.credentials
    assert "stored_key" not in repr(image.scram)
