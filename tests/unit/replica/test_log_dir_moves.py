"""Replicas on their way from one log directory to another."""

import pytest

from odradek.common.ids import TopicPartition
from odradek.log.manager.checkpoint_files import write_partition_metadata
from odradek.metadata.image.directory_id import UNASSIGNED
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.log_dir_moves import STEP_REPLICAS
from support.builders.logs import stored_values
from support.builders.replica import TOPIC_ID, TP, Broker, Cluster, change_record, directory_of, partition_record

#: Where the replica is to go: it begins in the other one.
TARGET = "/data1"
TARGET_ID = directory_of(0, 1)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(size=2, dirs=2)
    cluster.create_topic()
    cluster.brokers[0].assigned.clear()
    return cluster


@pytest.fixture
def broker(cluster: Cluster) -> Broker:
    for number in range(3):
        cluster.brokers[0].produce(f"value {number}", acks=1)
    return cluster.brokers[0]


def test_a_leader_moves_while_it_is_written_to(cluster: Cluster, broker: Broker) -> None:
    manager = broker.replicas
    assert manager.log_dir_moves.start(TP, TARGET) == 0
    broker.move()
    assert broker.assigned == [(TOPIC_ID, 0, TARGET_ID)] and broker.log.log_dir == "/data0"
    broker.produce("meanwhile", acks=1)
    manager.log_dir_moves.assignment_accepted(TP, TARGET_ID)
    broker.move()
    assert broker.log.log_dir == TARGET and not manager.log_dir_moves.moves
    assert manager.logs.log(TP, is_future=True) is None
    broker.produce("after", acks=1)
    cluster.replicate()
    expected = [b"value 0", b"value 1", b"value 2", b"meanwhile", b"after"]
    assert stored_values(broker.log) == stored_values(cluster.brokers[1].log) == expected
    assert broker.log.offsets.high_watermark == 5
    [[found]] = broker.fetch(0)
    assert found.high_watermark == 5 and manager.fetch.read_records(found)


def test_who_waits_while_a_replica_moves_is_answered(cluster: Cluster, broker: Broker) -> None:
    cluster.replicate()
    produced, fetched = broker.produce("x"), broker.fetch(3, max_wait_ms=500)
    broker.replicas.log_dir_moves.start(TP, TARGET)
    broker.move()
    broker.replicas.log_dir_moves.assignment_accepted(TP, TARGET_ID)
    broker.move()
    assert broker.log.log_dir == TARGET and produced == [] and fetched == []
    cluster.replicate()
    assert produced[0][0].error_code == 0 and fetched[0][0].size_bytes > 0


def test_a_follower_that_cuts_its_log_cuts_the_copy(cluster: Cluster, broker: Broker) -> None:
    broker.replicas.log_dir_moves.start(TP, TARGET)
    broker.move()
    cluster.replay(change_record(leader=1, isr=[1]))
    cluster.brokers[1].produce("other", acks=1)
    cluster.replicate()
    broker.replicas.log_dir_moves.assignment_accepted(TP, TARGET_ID)
    broker.move()
    assert broker.log.log_dir == TARGET and stored_values(broker.log) == [b"other"]


def test_sizes_and_lags_are_described(broker: Broker) -> None:
    broker.replicas.log_dir_moves.start(TP, TARGET)
    by_path = {info.path: info.replicas for info in broker.replicas.description.log_dirs()}
    assert [(replica.is_future, replica.offset_lag) for replica in by_path[TARGET]] == [(True, 3)]
    assert [replica.is_future for replica in by_path["/data0"]] == [False]


@pytest.mark.parametrize(
    ("tp", "path", "code"),
    [
        (TP, "/elsewhere", ErrorCode.LOG_DIR_NOT_FOUND),
        (TopicPartition("nowhere", 0), TARGET, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("x" * 240, 0), TARGET, ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TP, "/data0", ErrorCode.NONE),
    ],
)
def test_what_is_refused(broker: Broker, tp: TopicPartition, path: str, code: int) -> None:
    assert broker.replicas.log_dir_moves.start(tp, path) == code
    assert not broker.replicas.log_dir_moves.moves


def test_a_replica_that_comes_later_is_made_where_it_was_asked_for() -> None:
    cluster = Cluster(size=2, dirs=2)
    cluster.create_topic(replicas=[1])
    manager = cluster.brokers[0].replicas
    assert manager.log_dir_moves.start(TP, TARGET) == ErrorCode.REPLICA_NOT_AVAILABLE
    cluster.replay(change_record(replicas=[1, 0], adding_replicas=[0], directories=[directory_of(1), UNASSIGNED]))
    assert cluster.brokers[0].log.log_dir == TARGET
    assert cluster.brokers[0].assigned == [(TOPIC_ID, 0, TARGET_ID)]
    assert manager.log_dir_moves.start(TP, TARGET) == ErrorCode.NONE and not manager.log_dir_moves.moves


def test_a_move_back_is_no_move(broker: Broker) -> None:
    broker.replicas.log_dir_moves.start(TP, TARGET)
    broker.replicas.log_dir_moves.step()
    assert broker.replicas.log_dir_moves.start(TP, "/data0") == ErrorCode.NONE
    assert (
        not broker.replicas.log_dir_moves.moves and not broker.replicas.logs.future and broker.log.log_dir == "/data0"
    )


def test_a_move_that_is_called_back_is_told_to_the_controller(broker: Broker) -> None:
    broker.replicas.log_dir_moves.start(TP, TARGET)
    broker.move()
    broker.replicas.log_dir_moves.cancel(TP)
    assert broker.assigned == [(TOPIC_ID, 0, TARGET_ID), (TOPIC_ID, 0, directory_of(0))]
    assert broker.replicas.logs.log(TP, is_future=True) is None


def test_the_target_fails(broker: Broker) -> None:
    broker.replicas.log_dir_moves.start(TP, TARGET)
    broker.disk.fail(kind="write", path=f"{TARGET}/*.log")
    broker.replicas.log_dir_moves.step()
    assert not broker.replicas.log_dir_moves.moves and broker.failed_dirs == [TARGET_ID]
    assert broker.produce("still here", acks=1)[0][0].error_code == 0
    assert broker.replicas.log_dir_moves.start(TP, TARGET) == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_topic_that_is_deleted_takes_its_move_along(cluster: Cluster, broker: Broker) -> None:
    broker.replicas.log_dir_moves.start(TP, TARGET)
    broker.move()
    broker.assigned.clear()
    cluster.delete_topic()
    assert not broker.replicas.log_dir_moves.moves and not broker.assigned
    assert broker.replicas.logs.log(TP, is_future=True) is None


def test_a_move_goes_on_after_a_restart(cluster: Cluster, broker: Broker) -> None:
    broker.replicas.log_dir_moves.start(TP, TARGET)
    broker.replicas.log_dir_moves.step()
    cluster.replay(change_record(directories=[TARGET_ID, directory_of(1)]))
    cluster.restart(0)
    assert broker.log.log_dir == "/data0"
    broker.move()
    assert broker.log.log_dir == TARGET and len(stored_values(broker.log)) == 3


def test_a_future_log_that_is_alone_is_the_replica(cluster: Cluster, broker: Broker) -> None:
    """The crash was between the two renames, or the other disk is gone."""
    broker.replicas.log_dir_moves.start(TP, TARGET)
    broker.move()
    cluster.replay(change_record(directories=[TARGET_ID, directory_of(1)]))
    broker.disk.remove_tree("/data0/topic-0")
    cluster.restart(0)
    assert broker.log.directory == f"{TARGET}/topic-0" and len(stored_values(broker.log)) == 3
    assert not broker.replicas.logs.future and not broker.replicas.log_dir_moves.moves


def test_logs_of_others_are_set_aside_at_the_start(broker: Broker) -> None:
    broker.replicas.log_dir_moves.start(TP, TARGET)
    broker.move()
    elsewhere = Cluster(size=2, dirs=2)
    elsewhere.brokers[0].disk = broker.disk
    elsewhere.create_topic(replicas=[1])
    elsewhere.restart(0)
    logs = elsewhere.brokers[0].replicas.logs
    assert not logs.current and not logs.future
    names = [name for path in ("/data0", TARGET) for name in logs.files.list_dir(path) if name.startswith("topic")]
    assert len(names) == 2 and all(name.endswith("-stray") for name in names)


@pytest.mark.parametrize("deleted_dir", ["/data0", TARGET])
def test_the_log_of_a_deleted_topic_with_the_same_name_is_set_aside(
    cluster: Cluster, broker: Broker, deleted_dir: str
) -> None:
    """Its directory was offline when the topic was deleted and created again."""
    if deleted_dir == "/data0":
        broker.replicas.log_dir_moves.start(TP, TARGET)
        broker.move()
        broker.replicas.log_dir_moves.assignment_accepted(TP, TARGET_ID)
        broker.move()
        cluster.replay(change_record(directories=[TARGET_ID, directory_of(1)]))
    directory = broker.log.directory
    broker.disk.make_dirs(f"{deleted_dir}/topic-0")
    write_partition_metadata(broker.disk, f"{deleted_dir}/topic-0", bytes(15) + b"2")
    cluster.restart(0)
    assert broker.log.directory == directory and len(stored_values(broker.log)) == 3
    assert [name for name in broker.disk.list_dir(deleted_dir) if name.endswith("-stray")]


def test_the_limit_holds_the_copying_back(cluster: Cluster, broker: Broker) -> None:
    moves = broker.replicas.log_dir_moves
    moves.quota.set_rate(1)
    broker.replicas.log_dir_moves.start(TP, TARGET)
    copied = moves.step().copied_bytes
    assert copied > 0 and broker.assigned
    broker.produce("more", acks=1)
    assert moves.step() == (0, False)
    cluster.clock.now_ms += copied * 1_000
    assert moves.step().copied_bytes > 0


def test_a_step_is_short_however_much_there_is_to_move() -> None:
    cluster = Cluster(dirs=2)
    count = 3 * STEP_REPLICAS
    cluster.create_topic()
    cluster.replay(*(partition_record([0], number=number) for number in range(1, count)))
    [broker], tps = cluster.brokers, [TopicPartition(TP.topic, number) for number in range(count)]
    for tp in tps:
        broker.produce("value", acks=1, tp=tp)
    moves = broker.replicas.log_dir_moves
    other = {tp: "/data1" if broker.replicas.logs.current[tp].log_dir == "/data0" else "/data0" for tp in tps}
    assert [broker.replicas.log_dir_moves.start(tp, path) for tp, path in other.items()] == [0] * count
    moves.step()
    assert sum(move.future.offsets.log_end_offset for move in moves.moves.values()) == STEP_REPLICAS
    broker.move()
    for tp in tps:
        moves.assignment_accepted(tp, directory_of(0, int(other[tp][-1])))
    moves.step()
    assert len(moves.moves) == count - 1
    broker.move()
    assert {tp: broker.replicas.logs.current[tp].log_dir for tp in tps} == other
