"""One replica: what is appended can be read, by offset and by time, and refusals are Kafka's."""

from typing import Any

import pytest

from odradek.common.ids import TopicPartition
from odradek.log.values import Isolation
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.records.batch import read_batches
from odradek.replica.requests import EpochEntry, FetchEntry, FetchParams, ProduceEntry
from support.builders.logs import NOON_MS, batch, idempotent
from support.builders.replica import TOPIC, TOPIC_ID, TP, Cluster, change_record, partition_record


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.create_topic()
    return cluster


def values_of(cluster: Cluster, result: Any) -> list[bytes]:
    data = cluster.brokers[0].replicas.fetch.read_records(result)
    return [record.value or b"" for found in read_batches(data) for record in found.records()]


@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_what_is_produced_can_be_fetched(cluster: Cluster, acks: int) -> None:
    broker = cluster.brokers[0]
    [[result]] = broker.produce("a", "b", acks=acks)
    assert (result.error_code, result.base_offset, result.log_start_offset) == (0, 0, 0)
    [[again]] = broker.produce("c", acks=acks)
    assert again.base_offset == 2
    [[found]] = broker.fetch(0)
    assert (found.error_code, found.high_watermark, found.last_stable_offset) == (0, 3, 3)
    assert values_of(cluster, found) == [b"a", b"b", b"c"]
    assert found.aborted is None


def test_acks_that_do_not_exist_are_refused_for_all(cluster: Cluster) -> None:
    [[result]] = cluster.brokers[0].produce("a", acks=2)
    assert result.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert cluster.brokers[0].log.offsets.log_end_offset == 0


def test_one_bad_partition_does_not_spoil_the_others(cluster: Cluster) -> None:
    answers: list[Any] = []
    other = TopicPartition("nowhere", 0)
    damaged = bytearray(batch("x"))
    damaged[-1] ^= 1
    entries = [ProduceEntry(other, batch("x")), ProduceEntry(TP, bytes(damaged)), ProduceEntry(TP, batch("a"))]
    cluster.brokers[0].replicas.produce.append(entries, -1, 1_000, answers.append)
    assert [result.error_code for result in answers[0]] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.CORRUPT_MESSAGE,
        0,
    ]
    assert answers[0][2].base_offset == 0


def test_a_produce_with_another_topics_id_is_refused(cluster: Cluster) -> None:
    [[result]] = cluster.brokers[0].produce("a", topic_id=b"u" * 16)
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    [[result]] = cluster.brokers[0].produce("a", topic_id=TOPIC_ID)
    assert result.error_code == 0


def test_a_fetch_with_another_topics_id_is_refused(cluster: Cluster) -> None:
    [[result]] = cluster.brokers[0].fetch(0, topic_id=b"u" * 16)
    assert result.error_code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_duplicate_is_answered_as_the_first_time(cluster: Cluster) -> None:
    broker = cluster.brokers[0]
    first = broker.produce(records=idempotent(7, 0, "a"))
    broker.produce("b")
    again = broker.produce(records=idempotent(7, 0, "a"))
    assert first[0][0].base_offset == again[0][0].base_offset == 0
    assert broker.log.offsets.log_end_offset == 2


@pytest.mark.parametrize(
    ("offset", "code"), [(-1, ErrorCode.OFFSET_OUT_OF_RANGE), (2, ErrorCode.OFFSET_OUT_OF_RANGE), (1, 0)]
)
def test_offsets_out_of_range(cluster: Cluster, offset: int, code: int) -> None:
    cluster.brokers[0].produce("a")
    [[result]] = cluster.brokers[0].fetch(offset)
    assert result.error_code == code


@pytest.mark.parametrize(
    ("epoch", "code"), [(-1, 0), (0, 0), (1, ErrorCode.UNKNOWN_LEADER_EPOCH), (-2, ErrorCode.FENCED_LEADER_EPOCH)]
)
def test_leader_epochs_are_checked(cluster: Cluster, epoch: int, code: int) -> None:
    [[result]] = cluster.brokers[0].fetch(0, current_leader_epoch=epoch)
    assert result.error_code == code


def test_a_partition_of_another_broker() -> None:
    cluster = Cluster(size=2)
    cluster.create_topic(replicas=[1])
    [[produced]] = cluster.brokers[0].produce("a")
    [[fetched]] = cluster.brokers[0].fetch(0)
    assert produced.error_code == fetched.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_bytes_are_shared_among_partitions_in_their_order() -> None:
    cluster = Cluster()
    cluster.replay(TopicRecord(name=TOPIC, topic_id=TOPIC_ID), partition_record([0]), partition_record([0], number=1))
    broker = cluster.brokers[0]
    tps = [TopicPartition(TOPIC, number) for number in range(2)]
    for tp in tps:
        broker.produce("x" * 100, tp=tp)
    entries = [FetchEntry(tp, TOPIC_ID, 0, 1 << 20) for tp in tps]
    answers: list[Any] = []
    broker.replicas.fetch.fetch(FetchParams(0, 1, 10, Isolation.HIGH_WATERMARK), entries, answers.append)
    broker.replicas.fetch.fetch(FetchParams(0, 1, 1 << 20, Isolation.HIGH_WATERMARK), entries, answers.append)
    small, large = answers
    assert small[0].size_bytes > 100 and small[1].size_bytes == 0
    assert large[0].size_bytes == large[1].size_bytes > 100


def test_a_fetch_waits_for_records_and_gets_them(cluster: Cluster) -> None:
    broker = cluster.brokers[0]
    answers = broker.fetch(0, max_wait_ms=500)
    assert answers == [] and len(broker.replicas.purgatories.fetch) == 1
    broker.produce("a")
    assert values_of(cluster, answers[0][0]) == [b"a"]
    assert len(broker.replicas.purgatories.fetch) == 0


def test_a_fetch_that_finds_nothing_is_answered_when_its_time_is_over(cluster: Cluster) -> None:
    broker = cluster.brokers[0]
    answers = broker.fetch(0, max_wait_ms=500)
    assert broker.replicas.deadline_ms == 500
    broker.replicas.tick(499)
    assert answers == []
    broker.replicas.tick(500)
    [[result]] = answers
    assert (result.error_code, result.size_bytes, result.high_watermark) == (0, 0, 0)


def test_a_fetch_waits_for_as_many_bytes_as_it_wants(cluster: Cluster) -> None:
    broker = cluster.brokers[0]
    answers = broker.fetch(0, max_wait_ms=500, min_bytes=2 * len(batch("a")))
    broker.produce("a")
    assert answers == []
    broker.produce("b")
    assert values_of(cluster, answers[0][0]) == [b"a", b"b"]


def test_a_waiting_fetch_is_answered_when_its_topic_goes(cluster: Cluster) -> None:
    answers = cluster.brokers[0].fetch(0, max_wait_ms=500)
    cluster.delete_topic()
    assert answers[0][0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (-1, (-1, 4, 0)),
        (-2, (-1, 0, 0)),
        (-3, (NOON_MS + 9, 2, 0)),
        (-4, (-1, 0, 0)),
        (-5, (-1, -1, -1)),
        (-6, (-1, -1, -1)),
        (NOON_MS + 1, (NOON_MS + 5, 1, 0)),
        (NOON_MS + 10, (-1, -1, -1)),
    ],
)
def test_offsets_by_time(cluster: Cluster, timestamp: int, expected: tuple[int, int, int]) -> None:
    broker = cluster.brokers[0]
    for later_ms in (0, 5, 9, 7):
        broker.produce(records=batch("v", timestamp=NOON_MS + later_ms))
    result = broker.list_offset(timestamp)
    assert (result.error_code, result.timestamp, result.offset, result.leader_epoch) == (0, *expected)


def test_ends_of_epochs(cluster: Cluster) -> None:
    broker = cluster.brokers[0]
    broker.produce("a", "b")
    cluster.replay(change_record(leader=0))
    broker.produce("c")
    ask = broker.replicas.offsets.offsets_for_epoch
    assert [(found.leader_epoch, found.end_offset) for found in ask([EpochEntry(TP, 0), EpochEntry(TP, 1)])] == [
        (0, 2),
        (1, 3),
    ]
    assert ask([EpochEntry(TP, 9)])[0] == (0, -1, -1)
    assert ask([EpochEntry(TP, 0, 0)])[0].error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert ask([EpochEntry(TopicPartition("x", 0), 0)])[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_read_committed_stops_at_an_open_transaction() -> None:
    cluster = Cluster()
    cluster.create_topic()
    broker = cluster.brokers[0]
    broker.produce("plain")
    broker.produce(records=idempotent(7, 0, "open", is_transactional=True))
    broker.produce("after")
    [[everything]] = broker.fetch(0)
    [[committed]] = broker.fetch(0, isolation=Isolation.TXN_COMMITTED)
    assert len(values_of(cluster, everything)) == 3
    assert values_of(cluster, committed) == [b"plain"] and committed.aborted == ()
    assert broker.list_offset(-1, Isolation.TXN_COMMITTED).offset == 1


def test_the_disk_fails_under_an_append() -> None:
    cluster = Cluster(dirs=2)
    cluster.create_topic()
    broker = cluster.brokers[0]
    waiting = broker.fetch(0, max_wait_ms=500)
    broker.disk.fail(kind="write", path="*.log")
    [[failed]] = broker.produce("a")
    assert failed.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert waiting[0][0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    [[refused]] = broker.produce("b")
    assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(broker.failed_dirs) == 1
    assert sorted(info.error_code for info in broker.replicas.description.log_dirs()) == [0, 56]


def test_log_dirs_are_described(cluster: Cluster) -> None:
    cluster.brokers[0].produce("a")
    [info] = cluster.brokers[0].replicas.description.log_dirs()
    assert info.path == "/data0" and info.error_code == 0
    [replica] = info.replicas
    assert (replica.topic_partition, replica.offset_lag, replica.is_future) == (TP, 0, False)
    assert replica.size_bytes == len(batch("a"))
    assert cluster.brokers[0].replicas.description.log_dirs([])[0].replicas == ()
