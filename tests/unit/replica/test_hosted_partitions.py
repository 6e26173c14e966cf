"""Partitions of a broker: online, offline, damaged, and the errors for those that are not online."""

from typing import Any, cast

import pytest

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.log.errors import InconsistentTopicId, KafkaStorageError
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataProvenance
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.replica.cluster_view import ClusterView
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.partition import OfflineReplica, Partition
from support.builders.replica import TOPIC, TOPIC_ID, TP, partition_record

OTHER_ID = b"o" * 16


def new_partition() -> Partition:
    """A partition whose role is never changed, so that it needs no collaborators."""
    return Partition(TP, TOPIC_ID, cast(Any, None))


@pytest.fixture
def hosted() -> HostedPartitions:
    hosted = HostedPartitions(ClusterView(0))
    hosted.add(new_partition())
    return hosted


def code_of(hosted: HostedPartitions, tp: TopicPartition) -> int:
    with pytest.raises(ApiError) as raised:
        hosted.find(tp)
    return raised.value.code


def test_an_online_partition_is_found_by_its_own_topic_id_only(hosted: HostedPartitions) -> None:
    assert hosted.find(TP) is hosted.find(TP, TOPIC_ID) is hosted.online[TP]
    with pytest.raises(InconsistentTopicId):
        hosted.find(TP, OTHER_ID)


def test_a_partition_is_unknown_or_led_elsewhere_as_the_metadata_says() -> None:
    view = ClusterView(0)
    hosted = HostedPartitions(view)
    assert code_of(hosted, TP) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    delta = MetadataDelta(EMPTY)
    delta.replay(TopicRecord(name=TOPIC, topic_id=TOPIC_ID))
    delta.replay(partition_record([1]))
    view.update(delta.apply(MetadataProvenance(1, 1)))
    assert code_of(hosted, TP) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_offline_partition_keeps_its_topic_id_and_loses_its_log(hosted: HostedPartitions) -> None:
    partition = hosted.online[TP]
    assert hosted.set_offline(TP) and not hosted.set_offline(TP)
    assert isinstance(partition.role, OfflineReplica)
    assert list(hosted.offline) == [TP] and hosted.offline_topic_id(TP) == TOPIC_ID
    assert code_of(hosted, TP) == KafkaStorageError.code


def test_a_damaged_partition_is_so_until_it_is_added_again(hosted: HostedPartitions) -> None:
    hosted.set_offline(TP)
    hosted.set_damaged(TP)
    assert hosted.is_damaged(TP) and "damaged" in str(hosted.error_for(TP))
    hosted.add(new_partition())
    assert not hosted.is_damaged(TP) and not hosted.offline


def test_a_removed_partition_is_forgotten_online_or_offline(hosted: HostedPartitions) -> None:
    hosted.remove(TP)
    assert TP not in hosted.online and not hosted.offline
    hosted.add(new_partition())
    hosted.set_offline(TP)
    hosted.remove(TP)
    assert not hosted.offline and hosted.offline_topic_id(TP) is None
