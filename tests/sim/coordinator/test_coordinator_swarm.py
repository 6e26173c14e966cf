"""Coordinators under faults, the same trace for the same seed in any process, and planted mistakes."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odradek.client.group.assignment_handover import AssignmentHandover
from odradek.client.group.consumer_heartbeat import HeartbeatFields, Heartbeats
from odradek.client.group.consumer_member import ConsumerMember as ConsumerClient
from odradek.client.group.core import Step
from odradek.client.group.leader_assignment import LeaderAssignment
from odradek.client.group.subscription import encode_assignment
from odradek.client.producer.batch_sequences import BatchSequences
from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.record_accumulator import RecordAccumulator
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.classic_member import ClassicMember
from odradek.coordinator.group.classic.sync import Syncs
from odradek.coordinator.group.consumer import member as coordinator_member
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.runtime import hosted_shard, loading, runtime
from odradek.coordinator.runtime.deadlines import Deadlines
from odradek.coordinator.runtime.hosted_shard import HostedShard, ShardState
from odradek.coordinator.runtime.runtime import CoordinatorRuntime
from odradek.coordinator.runtime.shard import Decision
from odradek.coordinator.transaction.ending import EndRequest, ProducerIds, decide
from odradek.coordinator.transaction.shard import TransactionShard
from odradek.coordinator.transaction.states import TransactionState
from odradek.coordinator.transaction.transaction import Transaction
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.group_metadata_value import GroupMetadataValue
from odradek.protocol.messages.sync_group_request import SyncGroupRequest
from odradek.protocol.messages.sync_group_response import SyncGroupResponse
from odradek.sim.coordinator.group_member import PARTITIONS, TOPIC
from odradek.sim.coordinator.registers import RegisterShard
from odradek.sim.coordinator.swarm import WORKLOADS, run_or_explain
from odradek.sim.world.results import SimulationFailed
from support import figures

SOURCE = Path(__file__).parents[3] / "src"
FACTOR = int(os.environ.get("ODRADEK_SOAK_FACTOR", "1"))
SEEDS = {
    "registers": 100 * FACTOR,
    "groups": 150 * FACTOR,
    "consumer_groups": 150 * FACTOR,
    "transactions": 300 * FACTOR,
}
SHARE = 50
SHARES = [(name, first) for name, seeds in SEEDS.items() for first in range(0, seeds, SHARE)]
REPLAYED = 5
PLANTED_SEEDS = 200
#: A decision that was loaded, acted upon and lost again: the markers said both.
SERVED_TOO_EARLY = (104, 429)
#: Two members had the same partition.
NAMED_TOO_LITTLE = 862

SCRIPT = """
import sys
from odradek.sim.coordinator.swarm import WORKLOADS, run
for name in WORKLOADS:
    for seed in range(int(sys.argv[1])):
        print(name, seed, run(name, seed).digest)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "first"), SHARES)
def test_what_was_acknowledged_is_there(name: str, first: int) -> None:
    runs = [run_or_explain(name, seed).counts for seed in range(first, first + SHARE)]
    figures.report(
        f"coordinator swarm, {name}",
        seeds=SHARE,
        events=sum(run["events"] for run in runs),
        elections=sum(run["elections"] for run in runs),
        crashes=sum(run["crashes"] for run in runs),
        acked=sum(run["acked"] for run in runs),
        lost=0,
    )


def digests(hash_seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", SCRIPT, str(REPLAYED)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_same_seed_same_trace_in_another_process() -> None:
    first, second = digests("1"), digests("2")
    assert len({line.split()[2] for line in first}) == REPLAYED * len(WORKLOADS), "the digest tells runs apart"
    assert first == second


def answer_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without waiting for the high watermark."""
    monkeypatch.setattr(HostedShard, "end_offset", property(lambda self: 0, lambda self, value: None), raising=False)


def answer_what_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = hosted_shard.finish
    monkeypatch.setattr(runtime, "finish", lambda decision, reply, error: finish(decision, reply, None))


def answer_what_moved_away(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = hosted_shard.finish
    monkeypatch.setattr(hosted_shard, "finish", lambda decision, reply, error: finish(decision, reply, None))


def keep_the_shard_whoever_led_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    load = CoordinatorRuntime.load

    def keep(self: CoordinatorRuntime[Any], partition: int, leader_epoch: int) -> bool:
        before = self._hosted.get(partition)
        if before is not None and before.state == ShardState.ACTIVE:
            before.epoch = leader_epoch
            return False
        return load(self, partition, leader_epoch)

    monkeypatch.setattr(CoordinatorRuntime, "load", keep)
    monkeypatch.setattr(CoordinatorRuntime, "unload", lambda *_: None)


def load_half_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SLICE_BYTES", 512)
    monkeypatch.setattr(loading.Loader, "step", lambda self, step=loading.Loader.step: step(self) or True)


def forget_markers_when_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "read_end_transaction", lambda batch: None)


def replay_what_others_have_in_transactions_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    replay = RegisterShard.replay
    monkeypatch.setattr(
        RegisterShard, "replay", lambda self, offset, _, epoch, record: replay(self, offset, -1, epoch, record)
    )


def never_run_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deadlines, "run", lambda self, now_ms: setattr(self, "_heap", []))


def answer_with_another_value(monkeypatch: pytest.MonkeyPatch) -> None:
    put = RegisterShard.put
    monkeypatch.setattr(
        RegisterShard, "put", lambda self, key, value: Decision(value - 1, put(self, key, value).records)
    )


def commit_in_any_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClassicGroup, "validate_offset_commit", lambda self, attempt: None)


def load_groups_without_their_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    replay = GroupStore.replay_group_metadata

    def forget(self: GroupStore, group_id: str, value: GroupMetadataValue | None) -> None:
        if value is not None:
            value.generation = 0
        replay(self, group_id, value)

    monkeypatch.setattr(GroupStore, "replay_group_metadata", forget)


def give_everybody_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = ClassicGroup.complete_sync

    def all_of_it(self: ClassicGroup, member: ClassicMember, response: SyncGroupResponse) -> bool:
        if not response.error_code:
            response.assignment = encode_assignment(TopicPartition(TOPIC, number) for number in range(PARTITIONS))
        return complete(self, member, response)

    monkeypatch.setattr(ClassicGroup, "complete_sync", all_of_it)


def serve_before_what_was_loaded_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = HostedShard.finish_loading

    def serve(self: HostedShard[Any]) -> None:
        finish(self)
        self.activate()

    monkeypatch.setattr(HostedShard, "finish_loading", serve)


def send_markers_before_the_decision_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    write = TransactionShard._write

    def hasty(self: TransactionShard, changes: dict[str, Transaction], answer: Any) -> Decision[Any]:
        for decided in changes.values():
            if decided.state.is_decided:
                self._send_markers(decided)
        return write(self, changes, answer)

    monkeypatch.setattr(TransactionShard, "_write", hasty)


def begin_with_the_epoch_before(monkeypatch: pytest.MonkeyPatch) -> None:
    begun_anew = Transaction.begun_anew

    def same(self: Transaction, expected_epoch: int | None, timeout_ms: int, now_ms: int) -> Transaction:
        new = begun_anew(self, expected_epoch, timeout_ms, now_ms)
        return replace(new, producer_epoch=max(0, self.producer_epoch))

    monkeypatch.setattr(Transaction, "begun_anew", same)


def forget_markers_of_the_coordinator_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TransactionShard, "on_loaded", lambda self: None)


def end_for_any_producer(monkeypatch: pytest.MonkeyPatch) -> None:
    def trust(current: Transaction, request: EndRequest, now_ms: int, new_id: ProducerIds) -> Transaction:
        if current.state is not TransactionState.ONGOING:
            raise ApiError("not begun", ErrorCode.INVALID_TXN_STATE)
        return decide(current, request.commit, request.version, now_ms, new_id)

    monkeypatch.setattr("odradek.coordinator.transaction.shard.next_after_end", trust)


def number_every_attempt_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that repeats a batch as if it were another one."""
    requeue = RecordAccumulator.requeue

    def forget(self: RecordAccumulator, batch: ProducerBatch, now_ms: float) -> None:
        assert self._transactions is not None
        self._transactions.sequences._table.remove_in_flight(batch)
        batch.base_sequence = -1
        requeue(self, batch, now_ms)

    monkeypatch.setattr(RecordAccumulator, "requeue", forget)


def commit_what_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client whose transaction does not heed what became of its records."""
    monkeypatch.setattr(BatchSequences, "_maybe_transition_to_error", lambda self, error: None)


def end_before_all_is_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    next_request = TransactionManager.next_request
    monkeypatch.setattr(TransactionManager, "next_request", lambda self, _: next_request(self, False))


def tell_assignments_before_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Syncs._write_assignment

    def tell(self: Syncs, group: ClassicGroup, request: SyncGroupRequest) -> Decision[None]:
        decision = write(self, group, request)
        assert decision.on_done is not None
        decision.on_done(None)
        return decision

    monkeypatch.setattr(Syncs, "_write_assignment", tell)


def keep_partitions_through_a_rebalance(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that joins the next generation with all that it had in the one before."""
    completion = AssignmentHandover.completion
    kept: dict[int, tuple[TopicPartition, ...]] = {}

    def keep(self: AssignmentHandover) -> Step | None:
        step = completion(self)
        return step and replace(step, assigned=tuple(dict.fromkeys((*step.assigned, *kept.get(id(self), ())))))

    def prepare(self: AssignmentHandover) -> Step:
        kept[id(self)] = self.owned
        self._identity_at_start = self._generation.identity
        return Step(False, None, None, (), None)

    monkeypatch.setattr(AssignmentHandover, "completion", keep)
    monkeypatch.setattr(AssignmentHandover, "preparation", prepare)


def lead_by_giving_everything_to_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = encode_assignment(TopicPartition(TOPIC, number) for number in range(PARTITIONS))
    monkeypatch.setattr(LeaderAssignment, "assign", lambda self, topics: dict.fromkeys(self._members, everything))


def keep_what_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that is fenced joins again at once, without a word to its application."""
    monkeypatch.setattr(ConsumerClient, "_fence", ConsumerClient._join)


def acknowledge_before_anything_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    make = Heartbeats.make

    def hasty(
        self: Heartbeats, epoch: int, saying: HeartbeatFields, *, is_joining: bool
    ) -> ConsumerGroupHeartbeatRequest:
        self.forget()
        return make(self, epoch, saying, is_joining=is_joining)

    monkeypatch.setattr(Heartbeats, "make", hasty)
    monkeypatch.setattr(
        HeartbeatFields, "partitions", lambda self: {key: [*ids] for key, ids in self.target.by_topic().items()}
    )


def name_only_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        HeartbeatFields, "partitions", lambda self: {key: [*ids] for key, ids in self.current.by_topic().items()}
    )


def give_what_others_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerGroup, "is_others", lambda self, member_id: lambda topic_id, number: False)


def take_members_at_their_word_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that does not wait until a member has given up what it must."""
    monkeypatch.setattr(coordinator_member, "_has_any", lambda reported, owned: False)


def commit_in_any_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerGroup, "validate_offset_commit", lambda self, attempt: None)


def load_members_without_what_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    load = loading.Loader.step
    replay = ConsumerGroup.replay_current
    loads = []

    def step(self: Any) -> bool:
        loads.append(self)
        try:
            return load(self)
        finally:
            loads.pop()

    def forget(self: ConsumerGroup, member_id: str, value: Any) -> None:
        if loads and value is not None:
            value.assigned_partitions = []
        replay(self, member_id, value)

    monkeypatch.setattr(loading.Loader, "step", step)
    monkeypatch.setattr(ConsumerGroup, "replay_current", forget)


@pytest.mark.parametrize(
    ("name", "plant"),
    [
        ("registers", answer_at_once),
        ("registers", answer_what_was_refused),
        ("registers", answer_what_moved_away),
        ("registers", keep_the_shard_whoever_led_meanwhile),
        ("registers", load_half_of_the_log),
        ("registers", forget_markers_when_loading),
        ("registers", replay_what_others_have_in_transactions_at_once),
        ("registers", never_run_timers),
        ("registers", answer_with_another_value),
        ("groups", answer_at_once),
        ("groups", load_half_of_the_log),
        ("groups", commit_in_any_generation),
        ("groups", load_groups_without_their_generation),
        ("groups", give_everybody_everything),
        ("groups", tell_assignments_before_they_are_written),
        ("groups", keep_partitions_through_a_rebalance),
        ("groups", lead_by_giving_everything_to_everybody),
        ("consumer_groups", answer_at_once),
        ("consumer_groups", load_half_of_the_log),
        ("consumer_groups", keep_what_was_lost),
        ("consumer_groups", acknowledge_before_anything_is_given_up),
        ("consumer_groups", give_what_others_have),
        ("consumer_groups", take_members_at_their_word_for_nothing),
        ("consumer_groups", commit_in_any_epoch),
        ("consumer_groups", load_members_without_what_they_have),
        ("transactions", answer_at_once),
        ("transactions", load_half_of_the_log),
        ("transactions", send_markers_before_the_decision_is_committed),
        ("transactions", begin_with_the_epoch_before),
        ("transactions", forget_markers_of_the_coordinator_before),
        ("transactions", end_for_any_producer),
        ("transactions", number_every_attempt_anew),
        ("transactions", commit_what_has_failed),
        ("transactions", end_before_all_is_acknowledged),
    ],
)
def test_a_planted_mistake_is_noticed(
    name: str, plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(SimulationFailed):
        for seed in range(PLANTED_SEEDS):
            run_or_explain(name, seed)


@pytest.mark.parametrize("seed", SERVED_TOO_EARLY)
def test_a_shard_that_serves_too_early_acts_on_what_may_be_lost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run_or_explain("transactions", seed)
    serve_before_what_was_loaded_is_committed(monkeypatch)
    with pytest.raises(SimulationFailed, match="committed and aborted"):
        run_or_explain("transactions", seed)


def test_a_member_names_what_it_may_come_to_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told to have a partition, said in a heartbeat that it had none, and took it while that was under way."""
    run_or_explain("consumer_groups", NAMED_TOO_LITTLE)
    name_only_what_is_there(monkeypatch)
    with pytest.raises(SimulationFailed):
        run_or_explain("consumer_groups", NAMED_TOO_LITTLE)
