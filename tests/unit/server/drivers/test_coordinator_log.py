"""The log of a coordinator on replicas of three brokers, without a loop."""

import pytest

from odradek.common.failures import ApiError
from odradek.coordinator.runtime.serde import build_batch
from odradek.coordinator.runtime.shard import NOBODY, CoordinatorRecord
from odradek.log.log_config import LogConfig
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.group_metadata_key import GroupMetadataKey
from odradek.records.batch import read_batches
from odradek.server.drivers.coordinator_log import ReplicaLog
from support.builders.replica import TOPIC, TP, Cluster, change_record

THREE = tuple(CoordinatorRecord(GroupMetadataKey(group=name)) for name in "abc")


class World:
    def __init__(self) -> None:
        self.cluster = Cluster(3, LogConfig(min_insync_replicas=2))
        self.cluster.create_topic()
        self.log = ReplicaLog(self.cluster.brokers[0].replicas, TOPIC)
        self.told: list[int] = []
        self.log.on_high_watermark = self.told.append

    def append(self) -> int:
        return self.log.append(0, build_batch("group-coordinator", THREE, 1_700_000_000_000), NOBODY)


@pytest.fixture
def world() -> World:
    return World()


def code_of(error: pytest.ExceptionInfo[ApiError]) -> ErrorCode:
    return ErrorCode(error.value.code)


def test_an_append_is_answered_at_once_and_committed_later(world: World) -> None:
    assert world.append() == 3
    assert world.append() == 6
    assert (world.log.start_offset(0), world.log.end_offset(0), world.log.high_watermark(0)) == (0, 6, 0)
    world.log.watch(0, 6)
    assert world.told == []
    world.cluster.replicate()
    assert world.told == [0]
    assert world.log.high_watermark(0) == 6


def test_what_was_appended_is_read_in_whole_batches(world: World) -> None:
    world.append()
    world.append()
    assert [batch.base_offset for batch in read_batches(world.log.read(0, 0, 1 << 20))] == [0, 3]
    assert [batch.base_offset for batch in read_batches(world.log.read(0, 0, 1))] == [0]
    assert [batch.base_offset for batch in read_batches(world.log.read(0, 3, 1))] == [3]
    assert world.log.read(0, 6, 1) == b""


def test_too_few_in_sync_refuse(world: World) -> None:
    world.cluster.replay(change_record(isr=[0]))
    with pytest.raises(ApiError) as caught:
        world.append()
    assert code_of(caught) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.log.end_offset(0) == 0


def test_whoever_watches_is_told_when_the_leadership_goes(world: World) -> None:
    world.append()
    world.log.watch(0, 3)
    world.cluster.replay(change_record(leader=1))
    assert world.told == [0]
    assert not world.log.is_led(0)
    for ask in (world.append, lambda: world.log.high_watermark(0), lambda: world.log.read(0, 0, 1)):
        with pytest.raises(ApiError) as caught:
            ask()
        assert code_of(caught) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_disk_that_fails_is_no_log_any_more(world: World) -> None:
    world.append()
    world.log.watch(0, 3)
    world.cluster.brokers[0].replicas.failures.take_offline(TP)
    assert world.told == [0]
    with pytest.raises(ApiError) as caught:
        world.append()
    assert code_of(caught) == ErrorCode.KAFKA_STORAGE_ERROR


def test_there_is_no_partition_of_that_number(world: World) -> None:
    with pytest.raises(ApiError) as caught:
        world.log.high_watermark(7)
    assert code_of(caught) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
