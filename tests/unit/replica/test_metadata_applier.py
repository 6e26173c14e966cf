"""What this broker's replicas become when the metadata changes."""

from typing import Any

import pytest

from odradek.common.ids import TopicPartition
from odradek.log.log_config import LogConfig
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.directory_id import LOST, MIGRATING, UNASSIGNED
from odradek.metadata.image.image import MetadataProvenance
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.remove_topic_record import RemoveTopicRecord
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.replica.startup_logs import is_stray
from support.builders.logs import stored_values
from support.builders.replica import TOPIC, TOPIC_ID, TP, Cluster, change_record, directory_of, partition_record


def config(name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=2, resource_name=TOPIC, name=name, value=value)


def test_a_topic_is_created_and_deleted() -> None:
    cluster = Cluster(size=2)
    cluster.create_topic()
    leader, follower = cluster.brokers
    assert leader.replicas.partitions.online[TP].is_leader and not follower.replicas.partitions.online[TP].is_leader
    assert list(follower.replicas.fetchers.by_source) == [0]
    cluster.delete_topic()
    assert not leader.replicas.partitions.online and not follower.replicas.partitions.online
    assert not follower.replicas.fetchers.by_source
    assert leader.replicas.logs.log(TP) is None


def test_a_replica_that_was_moved_away_is_deleted() -> None:
    cluster = Cluster(size=3)
    cluster.create_topic(replicas=[0, 1])
    cluster.replay(change_record(replicas=[0, 2], isr=[0], directories=[directory_of(0), directory_of(2)]))
    assert TP not in cluster.brokers[1].replicas.partitions.online
    assert cluster.brokers[1].replicas.logs.log(TP) is None
    cluster.replicate()
    assert TP in cluster.brokers[2].replicas.partitions.online


def test_a_name_that_is_taken_again_at_once_is_another_topic() -> None:
    cluster = Cluster()
    cluster.create_topic()
    cluster.brokers[0].produce("old")
    other = b"u" * 16
    cluster.replay(
        RemoveTopicRecord(topic_id=TOPIC_ID),
        TopicRecord(name=TOPIC, topic_id=other),
        partition_record([0], topic_id=other),
    )
    partition = cluster.brokers[0].replicas.partitions.online[TP]
    assert partition.topic_id == other and stored_values(partition.local_log()) == []


def test_an_older_partition_epoch_is_old_news() -> None:
    cluster = Cluster()
    cluster.create_topic(partition_epoch=5, leader_epoch=5)
    partition = cluster.brokers[0].replicas.partitions.online[TP]
    registration = cluster.image.topics.partition(TOPIC_ID, 0)
    assert registration is not None
    assert not partition.become_follower(registration._replace(partition_epoch=4, leader_epoch=9), False)
    assert partition.is_leader and partition.leader_epoch == 5


def test_a_replica_is_made_where_the_controller_says_and_reported_where_not() -> None:
    cluster = Cluster(dirs=2)
    cluster.create_topic(directories=[directory_of(0, 1)])
    broker = cluster.brokers[0]
    assert broker.log.log_dir == "/data1" and not broker.assigned


@pytest.mark.parametrize("assigned", [UNASSIGNED, MIGRATING, LOST, b"somewhere else !"])
def test_a_directory_that_is_not_known_is_chosen_and_reported(assigned: bytes) -> None:
    cluster = Cluster()
    cluster.create_topic(directories=[assigned])
    broker = cluster.brokers[0]
    assert broker.log.log_dir == "/data0"
    assert broker.assigned == [(TOPIC_ID, 0, directory_of(0))]


@pytest.mark.parametrize("assigned", [LOST, MIGRATING, directory_of(0, 1)])
def test_what_may_be_on_a_failed_disk_is_not_made_anew(assigned: bytes) -> None:
    cluster = Cluster(dirs=2)
    broker = cluster.brokers[0]
    cluster.create_topic(directories=[directory_of(0, 1)])
    broker.disk.fail(kind="write", path="*.log")
    broker.produce("a")
    assert broker.failed_dirs == [directory_of(0, 1)]
    cluster.replay(partition_record([0], number=1, directories=[assigned]), change_record(leader=0))
    codes = [broker.produce("a", tp=TP._replace(partition=number))[0][0].error_code for number in range(2)]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert list(broker.replicas.partitions.offline) == [TP, TP._replace(partition=1)]


@pytest.mark.parametrize("assigned", [UNASSIGNED, MIGRATING])
def test_after_a_start_a_replica_that_may_be_in_a_failed_directory_is_not_made_anew(assigned: bytes) -> None:
    """The broker stopped before the controller knew where the replica is."""
    cluster = Cluster(dirs=2)
    broker = cluster.brokers[0]
    cluster.create_topic(directories=[assigned])
    broker.produce("a")
    failed = broker.log.log_dir
    broker.disk = broker.disk.crash("all")
    broker.disk.fail(kind="read", path=f"{failed}/meta.properties")
    broker.start()
    broker.assigned.clear()
    cluster.tell(broker)
    assert list(broker.replicas.logs.offline) == [failed]
    assert list(broker.replicas.partitions.offline) == [TP] and TP not in broker.replicas.logs.current
    assert broker.assigned == [(TOPIC_ID, 0, LOST)]
    cluster.replay(partition_record([0], number=1, directories=[UNASSIGNED]))
    assert TP._replace(partition=1) in broker.replicas.logs.current, "a new one is made in the other directory"


def test_a_restarted_broker_has_what_it_had() -> None:
    cluster = Cluster()
    cluster.create_topic()
    cluster.brokers[0].produce("a")
    cluster.restart(0)
    assert stored_values(cluster.brokers[0].log) == [b"a"]
    [[result]] = cluster.brokers[0].produce("b")
    assert result.base_offset == 1


def test_stray_logs_are_known() -> None:
    cluster = Cluster(size=2)
    cluster.create_topic(replicas=[0])
    log = cluster.brokers[0].log
    assert not is_stray(0, cluster.image, log)
    assert is_stray(1, cluster.image, log)
    cluster.delete_topic()
    assert is_stray(0, cluster.image, log)


def test_settings_of_a_topic_take_effect_at_once() -> None:
    cluster = Cluster(size=2)
    cluster.replay(config("min.insync.replicas", "2"), config("retention.ms", "5"))
    cluster.create_topic(isr=[0])
    leader = cluster.brokers[0]
    assert leader.log.config.value == LogConfig(min_insync_replicas=2, retention_ms=5)
    assert leader.produce("a")[0][0].error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    leader.produce("b", acks=1)
    waiting: list[Any] = leader.fetch(0, max_wait_ms=500)
    assert waiting == []
    cluster.replay(config("min.insync.replicas", None), config("retention.ms", None))
    assert leader.log.config.value == LogConfig() and leader.log.offsets.high_watermark == 1
    assert waiting[0][0].high_watermark == 1
    assert leader.produce("c")[0][0].error_code == 0


def test_a_broker_that_stops_does_not_fetch_what_it_has_left() -> None:
    cluster = Cluster(size=2)
    cluster.create_topic()
    follower = cluster.brokers[1].replicas
    follower.metadata.begin_controlled_shutdown()
    cluster.replay(change_record(isr=[0]))
    assert not follower.fetchers.by_source


def test_a_partition_without_a_leader_is_not_fetched() -> None:
    cluster = Cluster(size=2)
    cluster.create_topic()
    cluster.replay(change_record(leader=-1))
    assert not cluster.brokers[1].replicas.fetchers.by_source
    assert cluster.brokers[0].produce("a")[0][0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.replay(change_record(leader=0))
    assert list(cluster.brokers[1].replicas.fetchers.by_source) == [0]


def test_partitions_have_their_turn_one_by_one() -> None:
    """Whoever asks for one that is not made yet is told to come back."""
    cluster = Cluster(size=1)
    manager = cluster.brokers[0].replicas
    delta = MetadataDelta(cluster.image)
    delta.replay(TopicRecord(name=TOPIC, topic_id=TOPIC_ID))
    for number in range(3):
        delta.replay(partition_record([0], number=number))
    image = delta.apply(MetadataProvenance(cluster.image.offset + 1, 1))
    made = []
    for _ in manager.metadata.apply_in_steps(delta, image):
        made.append(len(manager.partitions.online))
        missing = [tp for number in range(3) if (tp := TopicPartition(TOPIC, number)) not in manager.partitions.online]
        assert [manager.partitions.error_for(tp).code for tp in missing] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * len(
            missing
        )
    assert made == [1, 2, 3]


def test_new_logs_are_made_without_a_sync() -> None:
    cluster = Cluster(size=1)
    disk = cluster.brokers[0].disk
    syncs: list[str] = []
    disk.sync_dir = syncs.append  # type: ignore[assignment, method-assign]
    cluster.create_topic()
    assert disk.list_dir("/data0/topic-0") == ["partition.metadata"]
    cluster.brokers[0].produce("a")
    assert syncs == []
