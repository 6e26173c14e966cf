"""A plan is balanced, keeps its promises, and moves no more than it must."""

import random

import pytest

from odradek.client.admin.reassignment_plan import plan_reassignment
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError

NO_RACKS = {1: None, 2: None, 3: None}


def assignment(*replicas: tuple[int, ...]) -> dict[TopicPartition, tuple[int, ...]]:
    return {TopicPartition("orders", index): each for index, each in enumerate(replicas)}


def loads(plan: dict[TopicPartition, tuple[int, ...]], brokers: dict[int, str | None]) -> dict[int, int]:
    return {each: sum(each in replicas for replicas in plan.values()) for each in brokers}


def moved(before: dict[TopicPartition, tuple[int, ...]], after: dict[TopicPartition, tuple[int, ...]]) -> int:
    return sum(len(set(after[each]) - set(before[each])) for each in before)


def test_what_is_spread_evenly_stays() -> None:
    spread = assignment((1, 2), (2, 3), (3, 1))
    assert plan_reassignment(spread, NO_RACKS) == spread


def test_a_broker_that_goes_gives_its_replicas_to_the_others() -> None:
    before = assignment((1, 2), (2, 3), (3, 1))
    after = plan_reassignment(before, {1: None, 2: None})
    assert {tuple(sorted(each)) for each in after.values()} == {(1, 2)}
    assert moved(before, after) == 2


def test_a_broker_that_comes_gets_its_share_and_no_more_is_moved() -> None:
    before = assignment(*[(1, 2)] * 6)
    after = plan_reassignment(before, NO_RACKS)
    assert loads(after, NO_RACKS) == {1: 4, 2: 4, 3: 4}
    assert moved(before, after) == 4
    leaders = [each[0] for each in after.values()]
    assert sorted(leaders.count(each) for each in NO_RACKS) == [2, 2, 2]


def test_replicas_are_on_as_many_racks_as_there_are() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    after = plan_reassignment(assignment(*[(9, 8)] * 8), racks)
    assert all(racks[one] != racks[other] for one, other in after.values())
    assert set(loads(after, dict(racks)).values()) == {4}


def test_too_few_brokers() -> None:
    with pytest.raises(InputError, match="orders-0 has 3 replicas, which need as many brokers, but 2 are available"):
        plan_reassignment(assignment((1, 2, 3)), {1: None, 2: None})


@pytest.mark.parametrize("seed", range(50))
def test_any_assignment_becomes_an_even_one(seed: int) -> None:
    chance = random.Random(seed)
    brokers: dict[int, str | None] = dict.fromkeys(range(1, chance.randint(3, 8)))
    everybody = list(range(1, 12))
    factor = chance.randint(1, len(brokers))
    before = assignment(*(tuple(chance.sample(everybody, factor)) for _ in range(chance.randint(1, 60))))
    after = plan_reassignment(before, brokers)
    for replicas in after.values():
        assert len(set(replicas)) == factor and set(replicas) <= set(brokers)
    counts = loads(after, brokers).values()
    assert max(counts) - min(counts) <= 1
    leaders = [replicas[0] for replicas in after.values()]
    led = [leaders.count(each) for each in brokers]
    assert max(led) - min(led) <= max(2, len(before) // len(brokers))
    assert plan_reassignment(after, brokers) == after, "a plan that is carried out leaves nothing to do"
