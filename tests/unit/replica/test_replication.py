"""Three replicas: followers copy their leader, the high watermark follows them, and the ISR says who counts."""

from dataclasses import replace
from typing import Any

import pytest

from odradek.log.log_config import LogConfig
from odradek.log.values import Isolation
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import alter_partition_response as answers
from odradek.protocol.messages.fence_broker_record import FenceBrokerRecord
from odradek.replica.requests import DeleteRecordsEntry
from odradek.replica.settings import ReplicaSettings
from support.builders.logs import stored_values
from support.builders.replica import TOPIC_ID, TP, Broker, Cluster, broker_record, change_record

LAG_MS = ReplicaSettings().replica_lag_time_max_ms


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(size=3, config=LogConfig(min_insync_replicas=2))
    cluster.create_topic()
    return cluster


def asked_isr(broker: Broker) -> list[int]:
    """What a leader asks the controller for."""
    request = broker.replicas.alter_partition.next_request(broker.clock.monotonic_ms())
    assert request is not None
    [topic] = request.topics
    [partition] = topic.partitions
    return [state.broker_id for state in partition.new_isr_with_epochs]


def answer(broker: Broker, isr: list[int] | None = None, *, epoch: int = 1, error: int = 0, code: int = 0) -> None:
    data = answers.PartitionData(
        partition_index=0, error_code=error, leader_id=broker.id, isr=isr or [], partition_epoch=epoch
    )
    response = answers.AlterPartitionResponse(
        error_code=code, topics=[answers.TopicData(topic_id=TOPIC_ID, partitions=[data])]
    )
    broker.replicas.alter_partition.handle_response(response, broker.clock.monotonic_ms())


def isr_of(broker: Broker) -> tuple[int, ...]:
    return broker.replicas.partitions.online[TP].leader().isr_state.isr


def test_followers_copy_the_leader_byte_for_byte(cluster: Cluster) -> None:
    leader = cluster.brokers[0]
    for number in range(5):
        leader.produce(f"value {number}", acks=1)
    cluster.replicate()
    contents = [bytes(broker.disk.read_file("/data0/topic-0/00000000000000000000.log")) for broker in cluster.brokers]
    assert contents[0] == contents[1] == contents[2] and contents[0]
    assert [broker.log.offsets.high_watermark for broker in cluster.brokers] == [5, 5, 5]


def test_acks_all_waits_for_every_member_of_the_isr(cluster: Cluster) -> None:
    leader = cluster.brokers[0]
    produced = leader.produce("a")
    assert leader.fetch(0)[0][0].high_watermark == 0
    cluster.fetch_once(1)
    cluster.fetch_once(1)
    assert produced == []
    cluster.fetch_once(2)
    cluster.fetch_once(2)
    [[result]] = produced
    assert (result.error_code, result.base_offset) == (0, 0)
    assert leader.fetch(0)[0][0].high_watermark == 1


def test_acks_all_times_out_and_the_record_stays(cluster: Cluster) -> None:
    leader = cluster.brokers[0]
    produced = leader.produce("a")
    leader.replicas.tick(1_000)
    assert produced[0][0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert leader.log.offsets.log_end_offset == 1


def test_many_that_wait_are_answered_in_their_order(cluster: Cluster) -> None:
    leader = cluster.brokers[0]
    produced = [leader.produce(str(number)) for number in range(100)]
    cluster.replicate()
    assert [found[0][0].base_offset for found in produced] == list(range(100))
    assert len(leader.replicas.purgatories.produce) == 0


def test_too_few_in_sync_refuse_acks_all_before_anything_is_written(cluster: Cluster) -> None:
    leader = cluster.brokers[0]
    cluster.replay(change_record(isr=[0]))
    [[result]] = leader.produce("a")
    assert result.error_code == ErrorCode.NOT_ENOUGH_REPLICAS and leader.log.offsets.log_end_offset == 0
    [[result]] = leader.produce("a", acks=1)
    assert result.error_code == 0
    assert leader.log.offsets.high_watermark == 0, "the high watermark waits for enough replicas"


def test_an_isr_that_shrank_below_the_minimum_leaves_acks_all_waiting(cluster: Cluster) -> None:
    """The high watermark does not pass an append that fewer than `min.insync.replicas` have."""
    produced = cluster.brokers[0].produce("a")
    cluster.replay(change_record(isr=[0]))
    assert produced == []
    cluster.brokers[0].replicas.tick(1_000)
    assert produced[0][0].error_code == ErrorCode.REQUEST_TIMED_OUT


def test_a_new_leader_takes_over_and_the_old_one_answers_no_more(cluster: Cluster) -> None:
    waiting = cluster.brokers[0].produce("a")
    fetching = cluster.brokers[0].fetch(0, max_wait_ms=500)
    cluster.fetch_once(1)
    cluster.replay(change_record(leader=1, isr=[1, 2]))
    assert waiting[0][0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetching == [], "a consumer may read from a follower"
    [[refused]] = cluster.brokers[0].produce("b")
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    produced = cluster.brokers[1].produce("c")
    cluster.replicate()
    assert produced[0][0].base_offset == 1
    assert [stored_values(broker.log) for broker in cluster.brokers] == [[b"a", b"c"]] * 3
    assert fetching[0][0].high_watermark >= 1


def test_what_a_deposed_leader_alone_had_is_cut(cluster: Cluster) -> None:
    old = cluster.brokers[0]
    old.produce("shared", acks=1)
    cluster.replicate()
    old.produce("lost one", acks=1)
    old.produce("lost two", acks=1)
    cluster.replay(change_record(leader=1, isr=[1, 2]))
    cluster.brokers[1].produce("kept", acks=1)
    cluster.replicate(8)
    assert stored_values(old.log) == [b"shared", b"kept"]
    assert old.log.offsets.high_watermark == 2


def test_logs_that_diverge_over_several_epochs_agree_in_the_end(cluster: Cluster) -> None:
    for leader in (0, 1, 0, 2, 1):
        cluster.replay(change_record(leader=leader, isr=[0, 1, 2]))
        for number in range(leader + 1):
            cluster.brokers[leader].produce(f"{leader} {number}", acks=1)
    cluster.replicate(12)
    first, *others = [stored_values(broker.log) for broker in cluster.brokers]
    assert first and others == [first, first]
    assert len({tuple(broker.log.epochs.entries()) for broker in cluster.brokers}) == 1


def test_a_follower_that_stays_behind_leaves_the_isr(cluster: Cluster) -> None:
    leader = cluster.brokers[0]
    produced = leader.produce("a")
    for _ in range(4):
        cluster.clock.now_ms += LAG_MS // 3
        cluster.fetch_once(1)
        leader.replicas.tick(cluster.clock.monotonic_ms())
    assert asked_isr(leader) == [0, 1]
    assert leader.log.offsets.high_watermark == 0, "until the controller has agreed, broker 2 counts"
    answer(leader, [0, 1])
    assert isr_of(leader) == (0, 1) and leader.log.offsets.high_watermark == 1
    assert produced[0][0].error_code == ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize("error", [0, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_a_response_that_comes_after_the_leadership_has_moved_changes_nothing(cluster: Cluster, error: int) -> None:
    deposed = cluster.brokers[0]
    deposed.produce("a")
    for _ in range(4):
        cluster.clock.now_ms += LAG_MS // 3
        cluster.fetch_once(1)
        deposed.replicas.tick(cluster.clock.monotonic_ms())
    assert asked_isr(deposed) == [0, 1]
    leader = deposed.replicas.partitions.online[TP].leader()
    cluster.replay(change_record(leader=1, isr=[0, 1]))
    answer(deposed, [0, 1], error=error)
    assert deposed.log.offsets.high_watermark == 0 and not leader.isr_state.is_inflight
    assert deposed.replicas.alter_partition.next_request(cluster.clock.monotonic_ms()) is None


def test_a_follower_that_has_caught_up_joins_the_isr() -> None:
    cluster = Cluster(size=3)
    cluster.create_topic(isr=[0, 1])
    leader = cluster.brokers[0]
    leader.produce("a", acks=1)
    cluster.fetch_once(1)
    cluster.fetch_once(1)
    assert leader.log.offsets.high_watermark == 1
    cluster.fetch_once(2)
    assert not leader.replicas.alter_partition.has_requests, "it has nothing yet"
    cluster.fetch_once(2)
    assert asked_isr(leader) == [0, 1, 2]
    leader.produce("b", acks=1)
    cluster.fetch_once(1)
    cluster.fetch_once(1)
    assert leader.log.offsets.high_watermark == 1, "broker 2 counts from the moment it was asked for"
    answer(leader, [0, 1, 2])
    cluster.replicate()
    assert leader.log.offsets.high_watermark == 2


@pytest.mark.parametrize("reason", ["fenced", "stopping", "registered anew"])
def test_who_may_not_join_the_isr(reason: str) -> None:
    cluster = Cluster(size=3)
    cluster.create_topic(isr=[0, 1])
    leader = cluster.brokers[0]
    records = {
        "fenced": FenceBrokerRecord(id=2, epoch=102),
        "stopping": broker_record(2, in_controlled_shutdown=True),
        "registered anew": broker_record(2, epoch=900),
    }
    cluster.replay(records[reason])
    cluster.replicate()
    assert not leader.replicas.alter_partition.has_requests


def test_a_fetch_of_an_earlier_registration_is_no_progress(cluster: Cluster) -> None:
    leader = cluster.brokers[0]
    cluster.replay(broker_record(2, epoch=900))
    [[result]] = leader.fetch(0, replica_id=2, replica_epoch=102, isolation=Isolation.LOG_END, current_leader_epoch=0)
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_broker_that_is_no_replica_cannot_follow() -> None:
    cluster = Cluster(size=3)
    cluster.create_topic(replicas=[0, 1])
    [[result]] = cluster.brokers[0].fetch(0, replica_id=2, current_leader_epoch=0)
    assert result.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


class TestAnswersOfTheController:
    @pytest.fixture
    def leader(self, cluster: Cluster) -> Broker:
        """Has asked for an ISR without broker 2."""
        leader = cluster.brokers[0]
        for _ in range(4):
            cluster.clock.now_ms += LAG_MS // 3
            cluster.fetch_once(1)
            leader.replicas.tick(cluster.clock.monotonic_ms())
        assert asked_isr(leader) == [0, 1]
        return leader

    def state(self, leader: Broker) -> Any:
        return leader.replicas.partitions.online[TP].leader().isr_state

    @pytest.mark.parametrize("error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
    def test_refused_for_now(self, leader: Broker, error: int) -> None:
        answer(leader, error=error)
        assert not self.state(leader).is_inflight and isr_of(leader) == (0, 1, 2)

    @pytest.mark.parametrize(
        "error",
        [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.UNKNOWN_TOPIC_ID,
            ErrorCode.FENCED_LEADER_EPOCH,
            ErrorCode.INVALID_UPDATE_VERSION,
            ErrorCode.INVALID_REQUEST,
            ErrorCode.NEW_LEADER_ELECTED,
        ],
    )
    def test_refused_until_there_is_new_metadata(self, cluster: Cluster, leader: Broker, error: int) -> None:
        answer(leader, error=error)
        assert self.state(leader).is_inflight
        assert not leader.replicas.alter_partition.has_requests
        cluster.replay(change_record(isr=[0, 1]))
        assert not self.state(leader).is_inflight and isr_of(leader) == (0, 1)

    def test_anything_else_is_asked_again(self, leader: Broker) -> None:
        answer(leader, error=ErrorCode.UNKNOWN_SERVER_ERROR)
        assert asked_isr(leader) == [0, 1]

    def test_a_request_that_failed_is_sent_again_after_a_pause(self, leader: Broker) -> None:
        outbox = leader.replicas.alter_partition
        now_ms = leader.clock.monotonic_ms()
        answer(leader, code=ErrorCode.STALE_BROKER_EPOCH)
        assert outbox.next_request(now_ms) is None and outbox.deadline_ms == now_ms + 50
        leader.clock.now_ms += 50
        assert asked_isr(leader) == [0, 1]

    def test_metadata_that_an_answer_has_overtaken_leaves_what_was_asked_since(
        self, cluster: Cluster, leader: Broker
    ) -> None:
        answer(leader, [0, 1], epoch=1)
        cluster.clock.now_ms += 1_000
        cluster.fetch_once(2)
        cluster.fetch_once(2)
        assert asked_isr(leader) == [0, 1, 2]
        cluster.replay(change_record(isr=[0, 1]))
        assert self.state(leader).is_inflight and self.state(leader).maximal == (0, 1, 2)
        answer(leader, [0, 1, 2], epoch=2)
        assert isr_of(leader) == (0, 1, 2)

    def test_an_answer_that_the_metadata_log_has_overtaken_changes_nothing(
        self, cluster: Cluster, leader: Broker
    ) -> None:
        cluster.replay(change_record(isr=[0, 1]))
        cluster.replay(change_record(isr=[0, 1, 2]))
        answer(leader, [0, 1], epoch=1)
        assert isr_of(leader) == (0, 1, 2)


def test_a_follower_out_of_range_starts_where_the_leader_starts(cluster: Cluster) -> None:
    leader = cluster.brokers[0]
    cluster.replay(change_record(isr=[0, 1]))
    leader.produce("a", acks=1)
    leader.produce("b", acks=1)
    for _ in range(3):
        cluster.fetch_once(1)
    done: list[Any] = []
    leader.replicas.deletion.delete([DeleteRecordsEntry(TP, -1)], 1_000, done.append)
    leader.produce("c", acks=1)
    cluster.replicate(8)
    assert cluster.brokers[2].log.offsets.log_start_offset == 2
    assert stored_values(cluster.brokers[2].log) == [b"c"]
    assert done[0][0] == (0, 2), "answered when all live replicas have followed"


def test_records_are_deleted_up_to_the_high_watermark_only(cluster: Cluster) -> None:
    leader = cluster.brokers[0]
    leader.produce("a", acks=1)
    done: list[Any] = []
    leader.replicas.deletion.delete([DeleteRecordsEntry(TP, 1)], 1_000, done.append)
    assert done[0][0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    cluster.brokers[1].replicas.deletion.delete([DeleteRecordsEntry(TP, 0)], 1_000, done.append)
    assert done[1][0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_replica_without_any_epoch_is_cut_to_its_high_watermark(cluster: Cluster) -> None:
    follower = cluster.brokers[1]
    cluster.brokers[0].produce("a", acks=1)
    cluster.fetch_once(1)
    follower.log.epochs.clear_and_flush()
    assert follower.log.offsets.log_end_offset == 1 and follower.log.offsets.high_watermark == 0
    cluster.replay(change_record(leader=0))
    assert follower.log.offsets.log_end_offset == 0
    cluster.replicate()
    assert stored_values(follower.log) == [b"a"]


def test_a_source_that_is_down_is_asked_again_after_a_pause(cluster: Cluster) -> None:
    manager = cluster.brokers[1].replicas
    [fetcher] = manager.fetchers.by_source.values()
    now_ms = cluster.clock.monotonic_ms()
    assert fetcher.next_request(now_ms) is not None and fetcher.next_request(now_ms) is None
    fetcher.handle_failure(now_ms)
    assert not fetcher.is_ready(now_ms) and fetcher.deadline_ms == now_ms + 1_000
    cluster.replay(broker_record(0, epoch=901))
    assert fetcher.is_ready(now_ms), "another process is there"


def test_consumers_are_sent_to_a_replica_in_their_rack() -> None:
    settings = replace(ReplicaSettings(), is_rack_aware=True)
    cluster = Cluster(size=3, racks=["a", "b", "c"], settings=settings)
    cluster.create_topic()
    leader = cluster.brokers[0]
    leader.produce("v", acks=1)
    cluster.replicate()
    assert leader.fetch(0, client_rack="b")[0][0].preferred_read_replica == 1
    assert leader.fetch(0, client_rack="a")[0][0].preferred_read_replica == -1
    assert leader.fetch(0, client_rack="d")[0][0].preferred_read_replica == -1
    [[found]] = cluster.brokers[1].fetch(0, client_rack="b")
    assert found.size_bytes > 0
    [[refused]] = cluster.brokers[1].fetch(0, may_read_follower=False)
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_offsets_are_not_available_until_a_new_leader_knows_how_far_it_is(cluster: Cluster) -> None:
    cluster.brokers[0].produce("a", acks=1)
    cluster.fetch_once(1)
    cluster.replay(change_record(leader=1, isr=[1, 2]))
    assert cluster.brokers[1].list_offset(-1).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert cluster.brokers[1].list_offset(-2).error_code == 0
    assert cluster.brokers[1].list_offset(-1, replica_id=2).offset == 1
    cluster.replicate(6)
    assert cluster.brokers[1].list_offset(-1).offset == 1
