from dataclasses import replace
from random import Random
from typing import Any

import pytest

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.runtime import CoordinatorRuntime
from odradek.coordinator.runtime.shard import ShardContext
from odradek.coordinator.transaction.ending import EndRequest
from odradek.coordinator.transaction.markers import MarkerOutbox
from odradek.coordinator.transaction.settings import TransactionSettings
from odradek.coordinator.transaction.shard import Identity, TransactionShard
from odradek.coordinator.transaction.states import TransactionState as State
from odradek.coordinator.transaction.transaction import MAX_EPOCH, Transaction
from odradek.metadata.image.delta import MetadataDelta
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from odradek.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from odradek.records.batch import read_batch
from odradek.sim.coordinator.log import SimulatedLog, SimulatedTopic
from support.builders.logs import HandClock
from support.builders.metadata import replayed
from support.builders.replica import TOPIC_ID, change_record, partition_record

NODE = 1
A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
SETTINGS = TransactionSettings()


class World:
    """A coordinator that leads its only partition; `a` has two partitions, on brokers 1 and 2."""

    def __init__(self, version: int = 2) -> None:
        self.topic = SimulatedTopic()
        self.partition = self.topic.partitions[0]
        self.clock = HandClock()
        self.version = version
        self.image = replayed(
            [
                FeatureLevelRecord(name="transaction.version", feature_level=version),
                TopicRecord(name="a", topic_id=TOPIC_ID),
                partition_record([1, 2], number=0),
                partition_record([2, 1], number=1),
            ]
        )
        self.next_id = 100
        self.lead()

    def lead(self) -> None:
        """A new process leads, and loads what there is."""
        self.partition.elect(NODE)
        self.markers = MarkerOutbox(self.clock, lambda: self.image)
        self.runtime = CoordinatorRuntime(
            "__transaction_state", SimulatedLog(self.topic, NODE), self._new_shard, self.clock, Random(0)
        )
        self.runtime.metadata_changed(MetadataDelta(self.image), self.image)
        assert self.runtime.load(0, self.partition.leader_epoch)
        while self.runtime.load_step(0):
            pass

    def change(self, *records: Message) -> None:
        self.image = replayed(records, self.image)

    def _new_shard(self, context: ShardContext) -> TransactionShard:
        return TransactionShard(context, SETTINGS, self._new_id, self.markers)

    def _new_id(self) -> int:
        self.next_id += 1
        return self.next_id

    def init(self, expected: Identity | None = None, timeout_ms: int = 60_000) -> Reply[Identity]:
        return self.runtime.write(0, lambda shard: shard.init_producer_id("t", timeout_ms, expected))

    def begun(self) -> Identity:
        return self.init().answer()

    def add(self, who: Identity, *partitions: TopicPartition) -> Reply[None]:
        return self.runtime.write(
            0, lambda shard: shard.add_partitions("t", who.producer_id, who.producer_epoch, partitions, self.version)
        )

    def end(self, who: Identity, commit: bool = True) -> Reply[Identity]:
        request = EndRequest(who.producer_id, who.producer_epoch, commit, self.version)
        return self.runtime.write(0, lambda shard: shard.end("t", request))

    def state(self) -> Transaction:
        return self.runtime.read(0, lambda shard: shard.describe("t")).answer()

    def advance(self, ms: int) -> None:
        self.clock.now_ms += ms
        now_ms = self.clock.monotonic_ms()
        while (deadline_ms := self.runtime.deadline_ms) is not None and deadline_ms <= now_ms:
            self.runtime.tick(now_ms)
        self.markers.tick(now_ms)

    def deliver(self, broker_id: int, error_code: int = 0) -> WriteTxnMarkersRequest:
        request = self.markers.next_request(broker_id)
        assert request is not None
        self.markers.handle_response(broker_id, answered(request, error_code))
        self.advance(0)
        return request


def answered(request: WriteTxnMarkersRequest, error_code: int) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=index, error_code=error_code)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def code_of(reply: Reply[Any]) -> int:
    assert reply.error is not None
    return reply.error.code


@pytest.fixture
def world() -> World:
    return World()


def test_a_transaction_from_its_begin_to_its_completion(world: World) -> None:
    who = world.begun()
    assert who == Identity(101, 0)
    world.add(who, A0, A1).answer()
    assert world.end(who).answer() == Identity(101, 1)
    assert world.state().state is State.PREPARE_COMMIT
    request = world.deliver(1)
    assert [(m.producer_id, m.producer_epoch, m.transaction_result) for m in request.markers] == [(101, 1, True)]
    assert world.state().state is State.PREPARE_COMMIT
    world.deliver(2)
    assert (world.state().state, world.state().partitions) == (State.COMPLETE_COMMIT, ())


def test_what_is_written_and_not_committed_is_seen_by_nobody(world: World) -> None:
    who = world.begun()
    world.partition.is_held = True
    adding = world.add(who, A0)
    assert not adding.is_done
    assert code_of(world.add(who, A1)) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert code_of(world.end(who)) == ErrorCode.CONCURRENT_TRANSACTIONS
    world.partition.is_held = False
    world.partition.commit()
    world.runtime.high_watermark_moved(0)
    assert adding.answer() is None
    assert world.state().partitions == (A0,)


def test_until_all_markers_are_written_every_request_is_to_be_retried(world: World) -> None:
    """Also with an epoch and a producer id that the coordinator will know only then: errors about those are final."""
    who = world.begun()
    world.add(who, A0).answer()
    following = world.end(who).answer()
    assert following.producer_epoch == who.producer_epoch + 1
    for producer in (who, following, Identity(999, 0)):
        assert code_of(world.add(producer, A1)) == ErrorCode.CONCURRENT_TRANSACTIONS
        assert code_of(world.end(producer)) == ErrorCode.CONCURRENT_TRANSACTIONS
        assert code_of(world.end(producer, commit=False)) == ErrorCode.CONCURRENT_TRANSACTIONS
        assert code_of(world.init(expected=producer)) == ErrorCode.CONCURRENT_TRANSACTIONS
    world.deliver(1)
    assert world.end(following, commit=False).answer().producer_epoch == following.producer_epoch + 1


def test_a_producer_that_names_an_old_epoch_when_there_is_no_next_one_is_refused() -> None:
    last = replace(Transaction.new("t", 101, 60_000, 0), producer_epoch=MAX_EPOCH - 1)
    with pytest.raises(ApiError) as refused:
        last.begun_anew(MAX_EPOCH - 5, 60_000, 0)
    assert refused.value.code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_new_producer_fences_the_old_one_and_its_transaction_is_aborted(world: World) -> None:
    old = world.begun()
    world.add(old, A0).answer()
    assert world.init().answer().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert code_of(world.init()) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.deliver(1).markers[0].transaction_result is False
    new = world.begun()
    assert new.producer_epoch > old.producer_epoch + 1
    assert code_of(world.add(old, A0)) == ErrorCode.PRODUCER_FENCED
    assert code_of(world.end(old)) == ErrorCode.PRODUCER_FENCED
    world.add(new, A0).answer()


def test_a_decision_outlives_the_coordinator(world: World) -> None:
    who = world.begun()
    world.add(who, A0).answer()
    world.end(who).answer()
    world.lead()
    assert world.state().state is State.PREPARE_COMMIT
    request = world.deliver(1)
    assert (request.markers[0].coordinator_epoch, request.markers[0].producer_epoch) == (2, 1)
    assert world.state().state is State.COMPLETE_COMMIT


def test_a_marker_is_sent_until_it_is_written_wherever_the_leader_is(world: World) -> None:
    who = world.begun()
    world.add(who, A0).answer()
    world.end(who).answer()
    world.deliver(1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    world.change(change_record(leader=2))
    world.advance(1_000)
    assert world.markers.next_request(2) is not None
    world.markers.handle_failure(2)
    world.change(change_record(leader=-1))
    world.advance(1_000)
    assert [world.markers.next_request(broker) for broker in (1, 2)] == [None, None]
    world.change(change_record(leader=1))
    world.advance(1_000)
    world.deliver(1)
    assert world.state().state is State.COMPLETE_COMMIT


def test_a_partition_that_is_gone_needs_no_marker(world: World) -> None:
    who = world.begun()
    world.add(who, TopicPartition("gone", 0)).answer()
    world.end(who, commit=False).answer()
    world.advance(0)
    assert world.state().state is State.COMPLETE_ABORT


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(world: World) -> None:
    who = world.init(timeout_ms=5_000).answer()
    world.add(who, A0).answer()
    world.advance(4_000)
    assert world.state().state is State.ONGOING
    world.advance(SETTINGS.abort_interval_ms)
    assert world.state().state is State.PREPARE_ABORT
    world.deliver(1)
    assert code_of(world.end(who)) == ErrorCode.INVALID_TXN_STATE
    assert code_of(world.add(who, A0)) == ErrorCode.PRODUCER_FENCED


def test_an_idle_id_is_forgotten_in_the_log_too(world: World) -> None:
    world.begun()
    world.advance(SETTINGS.transactional_id_expiration_ms + SETTINGS.expiry_interval_ms)
    for _ in range(2):
        with pytest.raises(ApiError) as refused:
            world.state()
        assert refused.value.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        world.lead()


def test_a_producer_that_asks_twice_gets_the_same_epoch(world: World) -> None:
    first = world.begun()
    again = world.init(expected=first).answer()
    assert again == Identity(101, 1)
    assert world.init(expected=first).answer() == again
    world.init().answer()
    assert code_of(world.init(expected=again)) == ErrorCode.PRODUCER_FENCED


def test_brokers_are_told_which_partitions_are_in_a_transaction(world: World) -> None:
    who = world.begun()
    world.add(who, A0).answer()
    found = world.runtime.read(0, lambda shard: shard.verify_partitions("t", 101, 0, (A0, A1))).answer()
    assert found == {A0: 0, A1: ErrorCode.TRANSACTION_ABORTABLE}
    assert code_of(world.runtime.read(0, lambda shard: shard.verify_partitions("t", 101, 1, (A0,)))) == (
        ErrorCode.PRODUCER_FENCED
    )


def test_the_oldest_version_keeps_its_epoch() -> None:
    world = World(version=0)
    who = world.begun()
    for _ in range(3):
        world.add(who, A0).answer()
        assert world.end(who).answer() == Identity()
        world.deliver(1)
        assert world.state().state is State.COMPLETE_COMMIT
    assert world.state().producer_epoch == 0


def test_many_that_are_late_together_are_aborted_one_by_one(world: World) -> None:
    """A batch of all of them may be refused as too large, and for ever."""
    names = [f"t{number}" for number in range(500)]

    def begin(name: str) -> None:
        who = world.runtime.write(0, lambda shard: shard.init_producer_id(name, 5_000)).answer()
        identity = (who.producer_id, who.producer_epoch)
        world.runtime.write(0, lambda shard: shard.add_partitions(name, *identity, [A0], 2)).answer()

    for name in names:
        begin(name)
    for _ in range(20):
        world.advance(1_000)
    states = world.runtime.read(0, lambda shard: [each.state for each in shard.transactions()]).answer()
    assert states == [State.PREPARE_ABORT] * len(names)
    assert max(read_batch(batch, 0).count for batch in world.partition.batches) == 1
