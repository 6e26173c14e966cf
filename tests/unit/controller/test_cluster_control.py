"""Brokers: registration, epochs, heartbeats, fencing, stopping."""

from typing import Any

import pytest

from odradek.controller.cluster_control import RegistrationState
from odradek.metadata.image.directory_id import LOST
from odradek.metadata.image.partition_registration import NO_LEADER, PartitionRegistration
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_registration_request import Feature
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from support.builders.controller import Bench, ManualClock, directory_of, make_controller, registration


@pytest.fixture
def bench() -> Bench:
    return Bench()


def state(bench: Bench, broker_id: int) -> RegistrationState:
    return bench.controller.controls.cluster.state(broker_id)


def only_partition(bench: Bench) -> PartitionRegistration:
    (topic,) = bench.controller.controls.registry.topics.values()
    return topic.partitions[0]


def test_the_life_of_a_broker(bench: Bench) -> None:
    assert state(bench, 1) is RegistrationState.OFFLINE
    bench.add_broker(1, unfence=False)
    bench.add_broker(2)
    assert state(bench, 1) is RegistrationState.FENCED
    reply = bench.ask(bench.beat(1, current_metadata_offset=0))
    assert reply.is_fenced and not reply.is_caught_up, "it has not read its own registration"
    reply = bench.ask(bench.beat(1))
    assert not reply.is_fenced and reply.is_caught_up
    assert state(bench, 1) is RegistrationState.ONLINE
    bench.create("a", [[1, 2]])
    reply = bench.ask(bench.beat(1, want_shut_down=True))
    assert state(bench, 1) is RegistrationState.STOPPING and not reply.should_shut_down
    assert only_partition(bench).leader == 2 and only_partition(bench).isr == (2,)
    assert not bench.ask(bench.beat(1, want_shut_down=True)).should_shut_down, "broker 2 has not read the change"
    bench.ask(bench.beat(2))
    assert bench.ask(bench.beat(1, want_shut_down=True)).should_shut_down
    assert state(bench, 1) is RegistrationState.FENCED


def test_a_broker_without_leaderships_may_go_at_once(bench: Bench) -> None:
    bench.add_broker(1)
    assert bench.ask(bench.beat(1, want_shut_down=True)).should_shut_down


def test_a_broker_that_stopped_cleanly_registers_again_at_once(bench: Bench) -> None:
    epoch = bench.add_broker(1)
    bench.ask(bench.beat(1, want_shut_down=True))
    assert bench.ask(registration(1, incarnation=2, previous_broker_epoch=epoch)).broker_epoch > epoch


def test_a_stale_epoch_is_refused(bench: Bench) -> None:
    epoch = bench.add_broker(1)
    for request in (
        BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch - 1),
        BrokerHeartbeatRequest(broker_id=7, broker_epoch=epoch),
    ):
        assert bench.refusal(request).code == ErrorCode.STALE_BROKER_EPOCH


def test_the_epoch_is_kept_by_the_same_incarnation_and_grows_with_a_new_one(bench: Bench) -> None:
    epoch = bench.add_broker(1)
    assert bench.ask(registration(1)).broker_epoch == epoch
    assert state(bench, 1) is RegistrationState.ONLINE
    refused = bench.refusal(registration(1, incarnation=2))
    assert refused.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    bench.tick(9_001)
    assert state(bench, 1) is RegistrationState.FENCED
    assert bench.ask(registration(1, incarnation=2)).broker_epoch > epoch


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [bytes(16)]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [directory_of(1), directory_of(1)]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [directory_of(2)]}, ErrorCode.INVALID_REGISTRATION),
        ({"features": []}, ErrorCode.INVALID_REGISTRATION),
        ({"is_migrating_zk_broker": True}, ErrorCode.BROKER_ID_NOT_REGISTERED),
        (
            {"features": [Feature(name="metadata.version", min_supported_version=7, max_supported_version=9)]},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
        (
            {"features": [Feature(name="metadata.version", min_supported_version=7, max_supported_version=30)]},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_registrations_that_are_refused(bench: Bench, fields: dict[str, Any], code: ErrorCode) -> None:
    bench.add_broker(2)
    assert ErrorCode(bench.refusal(registration(1, **fields)).code) is code


def test_a_silent_broker_is_fenced_after_its_session(bench: Bench) -> None:
    bench.add_broker(1)
    bench.add_broker(2)
    bench.create("a", [[1, 2]])
    bench.clock.now_ms += 8_000
    bench.ask(bench.beat(2))
    records = bench.tick(1_000)
    assert [type(r.message).__name__ for r in records[:2]] == [
        "PartitionChangeRecord",
        "BrokerRegistrationChangeRecord",
    ]
    assert state(bench, 1) is RegistrationState.FENCED and state(bench, 2) is RegistrationState.ONLINE
    assert only_partition(bench).leader == 2


def test_a_broken_connection_fences_after_a_short_grace(bench: Bench) -> None:
    epoch = bench.add_broker(1)
    bench.controller.connection_lost(1, epoch)
    assert bench.controller.deadline_ms == bench.clock.now_ms + 300
    bench.tick(299)
    assert state(bench, 1) is RegistrationState.ONLINE
    bench.tick(1)
    assert state(bench, 1) is RegistrationState.FENCED


def test_a_broker_that_connects_again_within_the_grace_stays(bench: Bench) -> None:
    epoch = bench.add_broker(1)
    bench.controller.connection_lost(1, epoch)
    bench.clock.now_ms += 200
    bench.ask(bench.beat(1))
    bench.tick(8_000)
    assert state(bench, 1) is RegistrationState.ONLINE


def test_a_dead_brokers_leaderships_are_one_batch_with_the_fencing_last(bench: Bench) -> None:
    for broker_id in (1, 2, 3):
        bench.add_broker(broker_id)
    bench.create("a", [[1, 2, 3]] * 50)
    bench.hold = True
    bench.clock.now_ms += 5_000
    for broker_id in (2, 3):
        bench.controller.handle(bench.beat(broker_id))
    bench.tick(4_000)
    fencing = next(batch for batch in bench.held if len(batch.records) > 1)
    names = [type(record.message).__name__ for record in fencing.records]
    assert names == ["PartitionChangeRecord"] * 50 + ["BrokerRegistrationChangeRecord"]


def test_an_offline_directory_takes_its_replicas_out(bench: Bench) -> None:
    bench.add_broker(1, log_dirs=[directory_of(1, 0), directory_of(1, 1)])
    bench.add_broker(2)
    bench.create("a", [[1, 2]])
    assert only_partition(bench).directories[0] == bytes(15) + b"\x01", "with two directories the broker chooses"
    bench.ask(bench.beat(1, offline_log_dirs=[directory_of(1, 1)]))
    assert only_partition(bench).leader == 1, "nothing lived there"
    assert bench.controller.controls.cluster.brokers[1].directories == (directory_of(1, 0),)


def test_a_replica_whose_directory_was_lost_is_elected_when_it_is_found(bench: Bench) -> None:
    epoch = bench.add_broker(1, log_dirs=[directory_of(1, 0), directory_of(1, 1)])
    bench.create("a", [[1]])
    [topic_id] = bench.controller.controls.registry.topics

    def assign(directory: bytes) -> None:
        topic = TopicData(topic_id=topic_id, partitions=[PartitionData(partition_index=0)])
        directories = [DirectoryData(id=directory, topics=[topic])]
        bench.ask(AssignReplicasToDirsRequest(broker_id=1, broker_epoch=epoch, directories=directories))

    assign(LOST)
    assert only_partition(bench).leader == NO_LEADER
    assign(directory_of(1, 1))
    assert only_partition(bench).leader == 1 and only_partition(bench).directories == (directory_of(1, 1),)


def test_unregistering(bench: Bench) -> None:
    bench.add_broker(1)
    bench.add_broker(2)
    bench.create("a", [[1, 2]])
    bench.ask(UnregisterBrokerRequest(broker_id=1))
    assert state(bench, 1) is RegistrationState.OFFLINE
    assert only_partition(bench).leader == 2
    assert bench.refusal(UnregisterBrokerRequest(broker_id=1)).code == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_an_earlier_process_of_the_same_node_is_known_to_be_gone() -> None:
    """A node that is broker and controller was killed and is back: it need not wait for its own session to end."""
    image = Bench()
    image.add_broker(1, incarnation=1)
    image.add_broker(2, incarnation=1)
    clock = ManualClock()
    own = registration(1, incarnation=2)
    controller = make_controller(1, clock, broker_incarnation_id=own.incarnation_id)
    controller.committed(image.log)
    bench = Bench(clock=clock)
    bench.controller = controller
    bench.take(controller.leader_changed(LeaderAndEpoch(1, 2), image.controller.next_write_offset))
    assert bench.refusal(registration(2, incarnation=2)).code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    epoch = bench.ask(own).broker_epoch
    assert controller.controls.cluster.brokers[1].epoch == epoch


def newly_active(*brokers: int) -> tuple[Bench, dict[int, int]]:
    """A controller that became active just now, and the epochs of brokers that it knows from the log alone."""
    before = Bench()
    epochs = {broker_id: before.add_broker(broker_id, incarnation=1) for broker_id in brokers}
    clock = ManualClock()
    bench = Bench(clock=clock)
    bench.controller = make_controller(1, clock)
    bench.controller.committed(before.log)
    bench.take(bench.controller.leader_changed(LeaderAndEpoch(1, 2), before.controller.next_write_offset))
    return bench, epochs


def test_a_new_active_controller_soon_lets_a_new_process_take_the_place_of_one_it_has_never_heard() -> None:
    """All nodes were killed and are back: none of them must wait for a session that nobody has."""
    bench, epochs = newly_active(1, 2)
    assert bench.refusal(registration(2, incarnation=2)).code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    bench.tick(300)
    assert state(bench, 2) is RegistrationState.ONLINE
    assert bench.ask(registration(2, incarnation=2)).broker_epoch > epochs[2]
    assert state(bench, 2) is RegistrationState.FENCED
    late = BrokerHeartbeatRequest(broker_id=2, broker_epoch=epochs[2])
    assert bench.refusal(late).code == ErrorCode.STALE_BROKER_EPOCH
    assert state(bench, 1) is RegistrationState.ONLINE


def test_a_process_that_the_new_active_controller_has_heard_is_not_pushed_out() -> None:
    bench, epochs = newly_active(1, 2)
    bench.ask(BrokerHeartbeatRequest(broker_id=2, broker_epoch=epochs[2], current_metadata_offset=100))
    bench.tick(8_000)
    assert bench.refusal(registration(2, incarnation=2)).code == ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_a_broker_in_the_same_process_is_as_alive_as_the_others_when_its_controller_becomes_active() -> None:
    image = Bench()
    image.add_broker(1, incarnation=1)
    own = registration(1, incarnation=1).incarnation_id
    clock = ManualClock()
    controller = make_controller(1, clock, broker_incarnation_id=own)
    controller.committed(image.log)
    controller.leader_changed(LeaderAndEpoch(1, 2), image.controller.next_write_offset)
    assert controller.tick(clock.now_ms) == []
    assert controller.controls.cluster.state(1) is RegistrationState.ONLINE
