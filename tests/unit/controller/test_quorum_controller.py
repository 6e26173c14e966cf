"""The core: parked answers, lost leadership, activation, standby, time."""

from typing import Any

import pytest

from odradek.common.failures import Fault
from odradek.controller.decision import ControllerDecision
from odradek.controller.quorum_controller import QuorumController
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.publishing.loader import MetadataBatch
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.begin_transaction_record import BeginTransactionRecord
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from odradek.protocol.messages.no_op_record import NoOpRecord
from odradek.protocol.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.raft.config import MAX_BATCH_BYTES
from support.builders.controller import Bench, ManualClock, as_batch, bootstrap_records, make_controller, topic


def names(records: list[MetadataRecord]) -> list[str]:
    return [type(record.message).__name__ for record in records]


def held_bench() -> Bench:
    bench = Bench()
    bench.add_broker(1)
    bench.hold = True
    return bench


def create(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[topic(name)])


def test_an_answer_waits_for_its_records() -> None:
    bench = held_bench()
    one, two = (bench.controller.handle(create(name)) for name in "ab")
    bench.take([*one.appends, *two.appends])
    assert bench.controller.take_results() == []
    first, *rest = bench.held
    bench.controller.committed([first], None)
    assert [answer.id for answer in bench.controller.take_results()] == [one.id]
    bench.controller.committed(rest, None)
    assert [answer.id for answer in bench.controller.take_results()] == [two.id]


def test_an_answer_without_records_waits_for_what_it_rests_on() -> None:
    bench = held_bench()
    bench.take(bench.controller.handle(create("a")).appends)
    asked = bench.controller.handle(ListPartitionReassignmentsRequest())
    assert asked.appends == [] and bench.controller.take_results() == []
    bench.commit()
    assert [answer.id for answer in bench.controller.take_results()][-1] == asked.id


def test_a_lost_leadership_refuses_what_waits_and_reverts_what_is_not_committed() -> None:
    bench = held_bench()
    committed = bench.controller.controls.durable_state()
    submission = bench.controller.handle(create("a"))
    assert bench.controller.controls.durable_state() != committed
    bench.controller.leader_changed(LeaderAndEpoch(2, 2), 0)
    (answer,) = bench.controller.take_results()
    assert answer.id == submission.id and answer.error is not None
    assert answer.error.code == ErrorCode.NOT_CONTROLLER
    assert bench.controller.controls.durable_state() == committed
    assert bench.controller.deadline_ms is None and not bench.controller.tick(10**9)
    refused = bench.controller.handle(create("b"))
    (answer,) = bench.controller.take_results()
    assert answer.id == refused.id and answer.error is not None
    assert "appears to be node 2" in answer.error.message


def test_records_of_a_deposed_leader_that_were_committed_after_all_are_replayed() -> None:
    bench = held_bench()
    appends = bench.controller.handle(create("a")).appends
    bench.controller.leader_changed(LeaderAndEpoch(2, 2), 0)
    bench.controller.committed([as_batch(append) for append in appends], None)
    assert list(bench.controller.controls.registry.ids_by_name) == ["a"]


def test_a_new_cluster_is_written_as_one_transaction() -> None:
    bench = Bench()
    assert names([r for batch in bench.log for r in batch.records]) == [
        "BeginTransactionRecord",
        *["FeatureLevelRecord"] * 4,
        "ConfigRecord",
        "EndTransactionRecord",
    ]
    features = bench.controller.controls.features
    assert features.metadata_version is MetadataVersion.IBP_4_3_IV0 and features.is_elr_enabled


def test_an_old_level_has_no_transactions() -> None:
    bench = Bench(options={"bootstrap": bootstrap_records(MetadataVersion.IBP_3_3_IV3)})
    assert names([r for batch in bench.log for r in batch.records]) == ["FeatureLevelRecord"]


def test_a_transaction_left_open_is_aborted_and_the_cluster_begun_again() -> None:
    clock = ManualClock()
    controller = make_controller(1, clock)
    half = [MetadataRecord(BeginTransactionRecord(), 0), *bootstrap_records()[:2]]
    controller.committed([MetadataBatch(0, 2, 1, 0, 10, half)], None)
    assert not controller.controls.features.is_bootstrapped
    appends = controller.leader_changed(LeaderAndEpoch(1, 2), 3)
    assert names(list(appends[0].records))[:2] == ["AbortTransactionRecord", "BeginTransactionRecord"]
    assert controller.controls.features.is_bootstrapped
    controller.committed([as_batch(append) for append in appends], None)
    assert controller.loader.image.features.metadata_version is MetadataVersion.IBP_4_3_IV0


def test_a_deposed_leader_remembers_a_committed_transaction_that_is_open() -> None:
    clock = ManualClock()
    controller = make_controller(1, clock)
    half = [MetadataRecord(BeginTransactionRecord(), 0), *bootstrap_records()[:2]]
    controller.committed([MetadataBatch(0, 2, 1, 0, 10, half)], None)
    controller.leader_changed(LeaderAndEpoch(1, 2), 3)
    controller.leader_changed(LeaderAndEpoch(2, 3), 3)
    assert controller.controls.open_transaction is not None and len(controller.controls.open_transaction) == 2


def test_an_unchanged_leader_takes_the_new_epoch() -> None:
    bench = held_bench()
    assert bench.controller.leader_changed(LeaderAndEpoch(1, 5), 99) == ()
    assert bench.controller.handle(create("a")).appends[0].epoch == 5


def test_offsets_follow_control_records_of_raft() -> None:
    bench = held_bench()
    end = bench.controller.next_write_offset
    bench.controller.log_end_moved(end + 2)
    assert bench.controller.handle(create("a")).appends[0].base_offset == end + 2


def test_a_standby_is_what_the_active_was() -> None:
    bench = Bench()
    for broker_id in range(3):
        bench.add_broker(broker_id)
    bench.create("a", [[0, 1], [1, 2]])
    standby = make_controller(2, bench.clock)
    standby.committed(bench.log, None)
    assert standby.controls.durable_state() == bench.controller.controls.durable_state()
    from_snapshot = make_controller(3, bench.clock)
    image = bench.controller.loader.image
    from_snapshot.load_snapshot(image.provenance, list(image.records()), None)
    assert from_snapshot.controls.durable_state() == bench.controller.controls.durable_state()
    assert from_snapshot.next_write_offset == bench.controller.next_write_offset


def test_a_new_leader_believes_that_everybody_was_just_heard() -> None:
    bench = Bench()
    bench.add_broker(1)
    standby = make_controller(2, bench.clock)
    standby.committed(bench.log, None)
    bench.clock.now_ms += 100_000
    standby.leader_changed(LeaderAndEpoch(2, 2), bench.controller.next_write_offset)
    assert names([r for append in standby.tick(bench.clock.now_ms + 8_999) for r in append.records]) == ["NoOpRecord"]
    assert "BrokerRegistrationChangeRecord" in names(
        [r for append in standby.tick(bench.clock.now_ms + 9_000) for r in append.records]
    )


def test_idle_records_come_by_the_clock() -> None:
    bench = Bench()
    assert bench.controller.deadline_ms == bench.clock.now_ms + 500
    assert bench.tick(499) == []
    assert names(bench.tick(1)) == ["NoOpRecord"]
    assert bench.controller.deadline_ms == bench.clock.now_ms + 500


def test_leaders_return_to_their_preferred_replicas() -> None:
    bench = Bench(options={"max_idle_interval_ms": None})
    for broker_id in (1, 2):
        bench.add_broker(broker_id)
    topic_id = bench.create("a", [[1, 2]] * 3)
    partitions = bench.controller.controls.registry.topics[topic_id].partitions
    bench.ask(bench.beat(1, want_fence=True))
    assert {(p.leader, p.isr) for p in partitions.values()} == {(2, (2,))}
    bench.ask(bench.beat(1))
    for number in range(2):
        bench.ask(bench.isr(topic_id, number, [2, 1]))
    bench.clock.now_ms += 300_000
    for broker_id in (1, 2):
        bench.ask(bench.beat(broker_id))
    assert names(bench.tick()) == ["PartitionChangeRecord"] * 2
    assert [partitions[number].leader for number in range(3)] == [1, 1, 2], "the third is not in sync with 1 yet"


def test_a_request_that_comes_too_late_is_not_decided() -> None:
    bench = held_bench()
    bench.controller.handle(create("a"), deadline_ms=bench.clock.now_ms - 1)
    (answer,) = bench.controller.take_results()
    assert answer.error is not None and answer.error.code == ErrorCode.REQUEST_TIMED_OUT
    assert bench.controller.performance.timed_out == 1


def test_large_decisions_are_split_unless_they_must_not_be() -> None:
    bench = held_bench()
    records = [MetadataRecord(NoOpRecord(), 0)] * 25_000
    submission = bench.controller.submit("many", lambda _: ControllerDecision(records, None))
    assert [len(append.records) for append in submission.appends] == [10_000, 10_000, 5_000]
    bench.controller.submit("many at once", lambda _: ControllerDecision(records, None, is_atomic=True))
    (answer,) = bench.controller.take_results()
    assert answer.error is not None and answer.error.code == ErrorCode.POLICY_VIOLATION


def test_decisions_of_many_bytes_are_split_or_refused_before_anything_is_replayed() -> None:
    bench = held_bench()
    before = bench.controller.controls.durable_state()
    records = [
        MetadataRecord(ConfigRecord(resource_type=2, resource_name=str(i), name="k", value="v" * 32_000), 0)
        for i in range(300)
    ]
    bench.controller.submit("many bytes at once", lambda _: ControllerDecision(records, None, is_atomic=True))
    (answer,) = bench.controller.take_results()
    assert answer.error is not None and answer.error.code == ErrorCode.POLICY_VIOLATION
    assert bench.controller.is_active and bench.controller.controls.durable_state() == before
    appends = bench.controller.submit("many bytes", lambda _: ControllerDecision(records, None)).appends
    assert [record for append in appends for record in append.records] == records
    assert len(appends) == 2 and all(sum(map(len, append.values)) < MAX_BATCH_BYTES for append in appends)


def test_a_record_that_is_too_large_is_refused_before_it_is_replayed() -> None:
    bench = held_bench()
    listeners = [BrokerEndpoint(name=str(i), host="h" * 32_000) for i in range(300)]
    record = RegisterBrokerRecord(broker_id=9, end_points=listeners)
    assert (
        bench.controller.submit("large", lambda _: ControllerDecision([MetadataRecord(record, 3)], None)).appends == ()
    )
    (answer,) = bench.controller.take_results()
    assert answer.error is not None and answer.error.code == ErrorCode.POLICY_VIOLATION
    assert bench.controller.is_active and 9 not in bench.controller.controls.cluster.brokers


def test_an_exception_in_a_decision_fails_its_request_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    bench = held_bench()
    before = bench.controller.controls.durable_state()

    def decide(_: Any) -> ControllerDecision[None]:
        raise KeyError("a value of the request")

    assert bench.controller.submit("broken", decide).appends == ()
    (answer,) = bench.controller.take_results()
    assert answer.error is not None and answer.error.code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert bench.controller.is_active and bench.controller.controls.durable_state() == before
    assert "broken failed unexpectedly" in caplog.text and "KeyError" in caplog.text


def test_a_fault_in_a_decision_is_not_an_answer() -> None:
    def decide(_: Any) -> ControllerDecision[None]:
        raise Fault("an invariant")

    with pytest.raises(Fault):
        held_bench().controller.submit("broken", decide)


class SlowClock(ManualClock):
    def monotonic_ms(self) -> int:
        self.now_ms += 1_500
        return self.now_ms


def test_waiting_and_slow_operations_are_measured() -> None:
    controller = make_controller(1, SlowClock())
    controller.leader_changed(LeaderAndEpoch(1, 1), 0)
    slow: list[Any] = []
    controller.performance.always_log_ms = 1_000
    controller.submit(
        "slow", lambda _: ControllerDecision([], None), created_ms=controller._clock.monotonic_ms() - 4_000
    )
    slow = controller.slow_events
    assert [(event.name, event.queue_ms, event.elapsed_ms) for event in slow] == [("slow", 5_500, 1_500)]
    assert controller.performance.average_queue_ms == 5_500


def test_an_active_controller_loads_no_snapshot() -> None:
    bench = Bench()
    image = bench.controller.loader.image
    with pytest.raises(Exception, match="loads no snapshot"):
        bench.controller.load_snapshot(image.provenance, [], None)


def test_a_record_that_contradicts_the_state_is_a_fault() -> None:
    controller: QuorumController = make_controller(2, ManualClock())
    twice = [MetadataRecord(TopicRecord(name="a", topic_id=b"a" * 16), 0)] * 2
    with pytest.raises(Exception, match="created twice"):
        controller.committed([MetadataBatch(0, 1, 1, 0, 10, twice)], None)
