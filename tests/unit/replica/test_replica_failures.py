"""A replica whose log is damaged gives up, alone, and is fetched again once another one leads."""

import pytest

from odradek.common.failures import ApiError
from odradek.log.manager.log_changes import delete_logs
from odradek.log.values import CorruptLog
from odradek.metadata.image.directory_id import LOST
from odradek.protocol.error_codes import ErrorCode
from support.builders.logs import stored_values
from support.builders.replica import TOPIC_ID, TP, Broker, Cluster, change_record, directory_of

LOG = "/data0/topic-0/00000000000000000000.log"
LOST_IT = (TOPIC_ID, 0, LOST)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(size=3)
    cluster.create_topic()
    for value in ("a", "b", "c"):
        cluster.brokers[0].produce(value, acks=1)
    cluster.replicate()
    return cluster


def damage(broker: Broker) -> None:
    file = broker.disk.open(LOG)
    file.write(70, bytes([file.read(70, 1)[0] ^ 1]))
    file.sync()


def read(broker: Broker) -> int:
    """The error code of reading all, as a consumer is told it."""
    [[result]] = broker.fetch(0)
    if result.error_code:
        return result.error_code
    try:
        broker.replicas.fetch.read_records(result)
    except ApiError as error:
        return error.code
    return 0


def others_lead(cluster: Cluster) -> None:
    """As the controller decides when the directory of a leader's replica is lost."""
    directories = [LOST, directory_of(1), directory_of(2)]
    cluster.replay(change_record(isr=[1, 2], leader=1, directories=directories))


def test_a_leader_that_meets_damage_gives_up_and_tells_the_controller(cluster: Cluster) -> None:
    leader = cluster.brokers[0]
    waiting = leader.produce("d")
    damage(leader)
    assert read(leader) == ErrorCode.KAFKA_STORAGE_ERROR
    assert leader.assigned == [LOST_IT]
    assert [result.error_code for [result] in waiting] == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert read(leader) == ErrorCode.KAFKA_STORAGE_ERROR
    assert leader.assigned == [LOST_IT]
    assert not leader.failed_dirs


def test_it_is_fetched_again_from_the_next_leader(cluster: Cluster) -> None:
    damaged = cluster.brokers[0]
    damage(damaged)
    read(damaged)
    others_lead(cluster)
    cluster.replicate()
    assert stored_values(damaged.log) == [b"a", b"b", b"c"]
    assert read(cluster.brokers[1]) == 0
    assert damaged.assigned == [LOST_IT, (TOPIC_ID, 0, directory_of(0))]
    assert [name for name in damaged.disk.list_dir("/data0") if name.endswith("-stray")]


def test_the_only_replica_in_sync_keeps_what_it_has(cluster: Cluster) -> None:
    damaged = cluster.brokers[0]
    damage(damaged)
    read(damaged)
    cluster.replay(change_record(isr=[0], leader=-1, directories=[LOST, directory_of(1), directory_of(2)]))
    assert TP not in damaged.replicas.partitions.online
    assert damaged.disk.exists(LOG)


def test_damage_that_is_found_at_the_start(cluster: Cluster) -> None:
    damaged = cluster.brokers[0]
    damaged.log.flusher.flush()
    damaged.replicas.logs.write_recovery_points("/data0")
    damage(damaged)
    cluster.restart(0)
    assert TP in damaged.replicas.logs.damaged
    assert damaged.assigned == [LOST_IT]
    others_lead(cluster)
    cluster.replicate()
    assert stored_values(damaged.log) == [b"a", b"b", b"c"]


def test_a_damaged_follower_begins_anew_too(cluster: Cluster) -> None:
    follower = cluster.brokers[2]
    damage(follower)
    assert follower.fetch(0, current_leader_epoch=0, may_read_follower=True)[0][0].error_code == 0
    with pytest.raises(CorruptLog):
        follower.log.reader.fetch(follower.log.reader.read(0, 1 << 20))
    cluster.clock.now_ms += 60_000
    follower.replicas.tick(cluster.clock.monotonic_ms())
    assert follower.assigned == [LOST_IT]
    cluster.replay(change_record(isr=[0, 1], directories=[directory_of(0), directory_of(1), LOST]))
    cluster.replicate()
    assert stored_values(follower.log) == [b"a", b"b", b"c"]


def test_a_damaged_log_can_be_deleted(cluster: Cluster) -> None:
    damaged = cluster.brokers[0]
    damage(damaged)
    read(damaged)
    cluster.delete_topic()
    assert not damaged.disk.exists(LOG)
    assert TP not in damaged.replicas.partitions.offline and not damaged.replicas.partitions.is_damaged(TP)
    assert delete_logs(damaged.replicas.logs, (TP,)) == {}
