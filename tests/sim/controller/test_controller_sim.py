"""Random operations, failing brokers and failing controllers: RELIABILITY's controller part, and bugs it must find."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from odradek.controller.configuration_control import ConfigurationControl
from odradek.controller.decision import ControllerDecision
from odradek.controller.leader_election import LeaderElection
from odradek.controller.partition_change_builder import PartitionChangeBuilder
from odradek.controller.partition_index import PartitionIndex
from odradek.controller.producer_id_control import ProducerIdControl
from odradek.controller.quorum_controller import OperationResult, QuorumController
from odradek.controller.rules.election import ElectionCandidates
from odradek.controller.topic_control import TopicControl
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.sim.controller.swarm import run_or_explain
from odradek.sim.world.results import SimulationFailed
from support.figures import report

FACTOR = int(os.environ.get("ODRADEK_SOAK_FACTOR", "1"))
SEEDS = 300 * FACTOR
REPLAYED_SEEDS = 50
#: A planted bug must be caught within so many.
PLANTED_SEEDS = 200

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_random_operations_and_failures_keep_every_invariant() -> None:
    runs = [run_or_explain(seed).counts for seed in range(SEEDS)]
    report(
        "controller simulation",
        seeds=len(runs),
        operations=sum(run["operations"] for run in runs),
        records=sum(run["records"] for run in runs),
        failovers=sum(run["failovers"] for run in runs),
        fenced=sum(run["fenced"] for run in runs),
        violations=0,
    )
    assert sum(run["failovers"] for run in runs) > SEEDS
    assert sum(run["fenced"] for run in runs) > SEEDS


@pytest.mark.slow
def test_a_seed_is_the_same_run_whatever_the_hashes_of_strings() -> None:
    outputs = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"}
        command = [sys.executable, "-m", "odradek.sim.controller.swarm", "1000", str(REPLAYED_SEEDS)]
        completed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT)
        outputs.append(completed.stdout.splitlines())
    assert len(outputs[0]) == REPLAYED_SEEDS
    different = [command(int(first.split()[0])) for first, second in zip(*outputs, strict=True) if first != second]
    assert not different, different
    report("controller replayability", seeds=REPLAYED_SEEDS, different=0)


# Planted bugs: each breaks one rule, and the name of the check that must notice is beside it.


def fence_before_moving_leaders(patch: pytest.MonkeyPatch) -> None:
    original = LeaderElection.fence

    def fence(self: LeaderElection, broker_id: int) -> list[MetadataRecord]:
        *updates, change = original(self, broker_id)
        return [change, *updates]

    patch.setattr(LeaderElection, "fence", fence)


def elect_the_dead(patch: pytest.MonkeyPatch) -> None:
    def valid(self: Any, replica: int) -> bool:
        return replica in self.isr or (not self.isr and replica in self.elr)

    patch.setattr(ElectionCandidates, "is_valid_leader", valid)


def elect_outside_the_isr(patch: pytest.MonkeyPatch) -> None:
    def valid(self: Any, replica: int) -> bool:
        return bool(self.is_acceptable(replica))

    patch.setattr(ElectionCandidates, "is_valid_leader", valid)


def always_allow_unclean(patch: pytest.MonkeyPatch) -> None:
    original = LeaderElection._updates

    def updates(self: LeaderElection, *args: Any, **kwargs: Any) -> list[MetadataRecord]:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(ConfigurationControl, "is_unclean_election_enabled", lambda *_: True)
            return original(self, *args, **kwargs)

    patch.setattr(LeaderElection, "_updates", updates)


def keep_uncommitted_state(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(QuorumController, "_revert", lambda self: None)


def answer_before_commit(patch: pytest.MonkeyPatch) -> None:
    def park(self: Any, submission_id: int, response: Any) -> None:
        self._results.append(OperationResult(submission_id, response, None))

    patch.setattr(QuorumController, "_park", park)


def change_state_while_deciding(patch: pytest.MonkeyPatch) -> None:
    original = TopicControl._create_topic

    def create(self: TopicControl, *args: Any) -> Any:
        records, result = original(self, *args)
        self._configuration.settings[ConfigResource(2, args[0].name)] = {"retention.ms": "1"}
        return records, result

    patch.setattr(TopicControl, "_create_topic", create)


def forget_to_remove_settings(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ConfigurationControl, "remove_topic", lambda self, name: None)


def hand_out_a_block_twice(patch: pytest.MonkeyPatch) -> None:
    original = ProducerIdControl.allocate

    def allocate(self: ProducerIdControl, request: Any) -> ControllerDecision[Any]:
        decision = original(self, request)
        return ControllerDecision(decision.records[:0], decision.response)

    patch.setattr(ProducerIdControl, "allocate", allocate)


def keep_the_partition_epoch(patch: pytest.MonkeyPatch) -> None:
    original = PartitionRegistration.merge

    def merge(self: PartitionRegistration, record: Any) -> PartitionRegistration:
        return original(self, record)._replace(partition_epoch=self.partition_epoch)

    patch.setattr(PartitionRegistration, "merge", merge)


def leader_without_a_new_epoch(patch: pytest.MonkeyPatch) -> None:
    original = PartitionRegistration.merge

    def merge(self: PartitionRegistration, record: Any) -> PartitionRegistration:
        return original(self, record)._replace(leader_epoch=self.leader_epoch)

    patch.setattr(PartitionRegistration, "merge", merge)


def overlook_a_partition(patch: pytest.MonkeyPatch) -> None:
    """One partition of a dead broker keeps it."""
    original = PartitionIndex.with_broker_in_isr
    patch.setattr(PartitionIndex, "with_broker_in_isr", lambda self, broker_id: original(self, broker_id)[1:])


def keep_removed_replicas_in_the_isr(patch: pytest.MonkeyPatch) -> None:
    original = PartitionChangeBuilder._complete_reassignment

    def complete(self: Any) -> None:
        isr = self.isr
        original(self)
        self.isr = isr

    patch.setattr(PartitionChangeBuilder, "_complete_reassignment", complete)


PLANTED: Sequence[tuple[Callable[[pytest.MonkeyPatch], None], str]] = (
    (fence_before_moving_leaders, "a fenced broker leads"),
    (elect_the_dead, "a fenced broker leads|outside the isr"),
    (elect_outside_the_isr, "unclean|outside the isr"),
    (always_allow_unclean, "unclean election"),
    (keep_uncommitted_state, "replay|created twice|does not exist|does not continue|next offset|not registered"),
    (answer_before_commit, "acknowledged and is lost|allocated twice"),
    (change_state_while_deciding, "replay|does not exist"),
    (forget_to_remove_settings, "not what the controller holds|image"),
    (hand_out_a_block_twice, "allocated twice"),
    (keep_the_partition_epoch, "partition epoch did not grow"),
    (leader_without_a_new_epoch, "no new epoch"),
    (overlook_a_partition, "a fenced broker leads"),
    (keep_removed_replicas_in_the_isr, "isr beyond replicas"),
)


@pytest.mark.parametrize(("plant", "message"), PLANTED, ids=[plant.__name__ for plant, _ in PLANTED])
def test_planted_bugs_are_caught(
    plant: Callable[[pytest.MonkeyPatch], None], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    for seed in range(PLANTED_SEEDS):
        try:
            run_or_explain(seed)
        except SimulationFailed as failure:
            assert re.search(message, str(failure)), str(failure)
            report("controller planted bug", bug=plant.__name__, seeds=seed + 1)
            return
    pytest.fail(f"{plant.__name__} was not caught within {PLANTED_SEEDS} seeds")
