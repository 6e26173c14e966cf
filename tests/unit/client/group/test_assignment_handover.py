"""Steps by which partitions pass to the application and back."""

import pytest

from odradek.client.group.assignment_handover import AssignmentHandover
from odradek.client.group.generation import Generation, RejoinTimer
from odradek.client.group.subscription import encode_assignment
from odradek.common.failures import ApiError
from unit.client.group.members import partitions


class Handover:
    """A handover of a member of generation 1 that subscribes to the topic t."""

    def __init__(self, *, is_cooperative: bool = False) -> None:
        self.generation, self.rejoin = Generation(), RejoinTimer()
        self.errors: list[ApiError] = []
        self.rejoin.subscribe(("t",))
        self.handover = AssignmentHandover(
            self.generation, self.rejoin, {}, self.rejoin.includes, self.errors.append, is_cooperative=is_cooperative
        )
        self.generation.join("m", 1, "range")
        self.generation.complete()
        self.rejoin.start()
        self.rejoin.complete()

    def assign(self, *indexes: int) -> None:
        self.handover.assign(encode_assignment(partitions(*indexes)))
        step = self.handover.completion()
        assert step is not None
        self.handover.complete(step)


def test_a_new_assignment_adds_and_revokes() -> None:
    member = Handover()
    member.assign(0, 1)
    member.handover.assign(encode_assignment(partitions(1, 2)))
    step = member.handover.completion()
    assert step is not None and step.added == partitions(2) and step.revoked == partitions(0)
    assert member.handover.holds(step)
    member.handover.complete(step)
    assert member.handover.owned == partitions(1, 2) and not member.handover.has_assignment
    assert member.rejoin.is_requested, "what was revoked is assigned in another rebalance"
    assert member.handover.assigned_as == member.generation.identity


@pytest.mark.parametrize(("is_cooperative", "retained"), [(False, ()), (True, partitions(0))])
def test_the_preparation_of_a_join_revokes_by_protocol(is_cooperative: bool, retained: object) -> None:
    member = Handover(is_cooperative=is_cooperative)
    member.assign(0)
    step = member.handover.preparation()
    assert step.assigned == retained and (step.revoked is None) == is_cooperative
    member.handover.complete(step)
    assert member.handover.is_prepared


def test_a_member_without_generation_has_lost_its_partitions() -> None:
    member = Handover()
    member.assign(0)
    member.generation.reset(forget_member_id=True)
    step = member.handover.preparation()
    assert step.lost == partitions(0) and step.revoked is None


def test_a_step_does_not_hold_after_the_generation() -> None:
    member = Handover()
    member.assign(0)
    step = member.handover.preparation()
    member.generation.reset(forget_member_id=False)
    assert not member.handover.holds(step)
    member.handover.complete(step)
    assert not member.handover.is_prepared


def test_an_assignment_that_cannot_be_read_is_reported_and_dropped() -> None:
    member = Handover()
    member.handover.assign(b"")
    assert member.handover.completion() is None and not member.handover.has_assignment
    assert "cannot be read" in member.errors[0].message and member.rejoin.is_requested


def test_an_assignment_of_another_subscription_is_dropped() -> None:
    member = Handover()
    member.handover.assign(encode_assignment(partitions(0, topic="other")))
    assert member.handover.completion() is None and member.rejoin.is_requested
