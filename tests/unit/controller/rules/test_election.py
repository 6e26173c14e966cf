"""Rules of elections, eligible leader replicas and completed reassignments, without records."""

from collections.abc import Sequence

import pytest

from odradek.controller.rules.election import (
    ElectedLeader,
    Election,
    ElectionCandidates,
    completed_reassignment,
    eligible_leader_replicas,
)


def elect(
    election: Election = Election.ONLINE,
    *,
    leader: int = 1,
    isr: Sequence[int] = (1, 2),
    elr: Sequence[int] = (),
    last_known_elr: Sequence[int] = (),
    alive: Sequence[int] = (1, 2, 3),
    is_elr_enabled: bool = True,
) -> ElectedLeader:
    candidates = ElectionCandidates(
        leader=leader,
        replicas=(2, 1, 3),
        isr=isr,
        elr=elr,
        last_known_elr=last_known_elr,
        is_elr_enabled=is_elr_enabled,
        is_acceptable=lambda replica: replica in alive,
    )
    return candidates.elect(election)


def test_a_live_leader_stays_unless_the_preferred_replica_is_elected() -> None:
    assert elect() == ElectedLeader(1)
    assert elect(Election.PREFERRED) == ElectedLeader(2)


def test_a_dead_leader_is_replaced_by_a_live_member_of_the_isr() -> None:
    assert elect(alive=(2, 3)) == ElectedLeader(2)


def test_an_eligible_replica_leads_only_if_the_isr_is_empty() -> None:
    assert elect(isr=(1,), elr=(3,), alive=(3,)) == ElectedLeader(-1)
    assert elect(leader=-1, isr=(), elr=(3,), alive=(3,)) == ElectedLeader(3)


@pytest.mark.parametrize(("is_elr_enabled", "elected"), [(True, ElectedLeader(3, True)), (False, ElectedLeader(-1))])
def test_the_last_known_leader_is_elected_without_isr_and_elr(is_elr_enabled: bool, elected: ElectedLeader) -> None:
    assert elect(leader=-1, isr=(), last_known_elr=(3,), is_elr_enabled=is_elr_enabled) == elected


def test_only_an_unclean_election_elects_a_replica_outside_the_isr() -> None:
    assert elect(alive=(3,)) == ElectedLeader(-1)
    assert elect(Election.UNCLEAN, alive=(3,)) == ElectedLeader(3, is_unclean=True)


def test_replicas_that_leave_a_small_isr_stay_eligible_unless_they_stopped_uncleanly() -> None:
    assert eligible_leader_replicas(
        (3, 2, 1), replicas=(1, 2, 3), isr=(1,), min_isr=2, unclean_shutdown_replicas=(3,)
    ) == [2]
    assert eligible_leader_replicas((3, 2, 1), (1, 2, 3), isr=(1, 2), min_isr=2, unclean_shutdown_replicas=()) == []


def test_a_reassignment_completes_when_added_replicas_are_in_sync() -> None:
    assert completed_reassignment((1, 2, 3), removing=(), adding=(), isr=(1, 2, 3)) is None
    assert completed_reassignment((3, 2, 1), removing=(1,), adding=(3,), isr=(1, 2)) is None
    assert completed_reassignment((3, 2, 1), removing=(1,), adding=(3,), isr=(1, 2, 3)) == ([3, 2], [2, 3])
