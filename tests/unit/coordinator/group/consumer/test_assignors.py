from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.coordinator.group.consumer.assignors import (
    ASSIGNORS,
    Assignment,
    Subscriber,
    assign_ranges,
    assign_uniformly,
)

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16
COUNTS = {A: 6, B: 3, C: 5}


def member(name: str, *topics: bytes, had: Assignment | None = None, instance_id: str | None = None) -> Subscriber:
    return Subscriber(name, instance_id, tuple(sorted(topics)), had or {})


def sizes(targets: Mapping[str, Assignment]) -> dict[str, int]:
    return {name: sum(map(len, target.values())) for name, target in targets.items()}


def test_ranges_are_for_each_topic_and_the_first_get_one_more() -> None:
    targets = assign_ranges([member("m1", A, C), member("m0", A, C), member("m2", A)], COUNTS)
    assert targets == {
        "m0": {A: (0, 1), C: (0, 1, 2)},
        "m1": {A: (2, 3), C: (3, 4)},
        "m2": {A: (4, 5)},
    }


def test_ranges_go_to_static_members_first_by_their_instances() -> None:
    members = [member("x", A), member("y", A, instance_id="2"), member("z", A, instance_id="1")]
    targets = assign_ranges(members, COUNTS)
    assert [targets[name][A][0] for name in ("z", "y", "x")] == [0, 2, 4]


def test_a_newcomer_gets_its_share_and_the_others_keep_the_rest() -> None:
    first = assign_uniformly([member("m0", A, C), member("m1", A, C)], COUNTS)
    assert sorted(sizes(first).values()) == [5, 6]
    members = [member(name, A, C, had=first[name]) for name in ("m0", "m1")]
    second = assign_uniformly([*members, member("m2", A, C)], COUNTS)
    assert sorted(sizes(second).values()) == [3, 4, 4]
    for name in ("m0", "m1"):
        kept = {(topic, number) for topic, numbers in second[name].items() for number in numbers}
        had = {(topic, number) for topic, numbers in first[name].items() for number in numbers}
        assert kept <= had


def test_nothing_moves_if_nothing_has_changed() -> None:
    first = assign_uniformly([member(f"m{n}", A, B, C) for n in range(4)], COUNTS)
    again = assign_uniformly([member(name, A, B, C, had=target) for name, target in first.items()], COUNTS)
    assert again == first


def test_who_wants_less_leaves_more_to_the_others() -> None:
    targets = assign_uniformly([member("m0", A, B, C), member("m1", B), member("m2", A)], COUNTS)
    assert sizes(targets)["m1"] == 3
    assert sorted(sizes(targets).values()) == [3, 5, 6]


members_strategy = st.lists(
    st.tuples(st.lists(st.sampled_from([A, B, C]), unique=True), st.booleans()), min_size=1, max_size=8
)


@pytest.mark.parametrize("name", ASSIGNORS)
@given(drawn=members_strategy, rounds=st.integers(1, 3))
def test_each_wanted_partition_has_one_owner_that_wants_it(
    name: str, drawn: list[tuple[list[bytes], bool]], rounds: int
) -> None:
    members = [
        member(f"m{n}", *topics, instance_id=f"i{n}" if is_static else None)
        for n, (topics, is_static) in enumerate(drawn)
    ]
    for _ in range(rounds):
        targets = ASSIGNORS[name](members, COUNTS)
        owners = [
            (topic, number) for target in targets.values() for topic, numbers in target.items() for number in numbers
        ]
        wanted = {topic for each in members for topic in each.topic_ids}
        assert sorted(owners) == sorted((topic, number) for topic in wanted for number in range(COUNTS[topic]))
        for each in members:
            assert set(targets[each.member_id]) <= set(each.topic_ids)
        members = [
            Subscriber(each.member_id, each.instance_id, each.topic_ids, targets[each.member_id])
            for each in members[:-1] or members
        ]


@given(count=st.integers(1, 9), partitions=st.integers(0, 20), leaving=st.integers(0, 3))
def test_shares_differ_by_one_at_most_also_when_members_leave(count: int, partitions: int, leaving: int) -> None:
    counts = {A: partitions}
    targets = assign_uniformly([member(f"m{n}", A) for n in range(count + leaving)], counts)
    left = [member(f"m{n}", A, had=targets[f"m{n}"]) for n in range(count)]
    found = sizes(assign_uniformly(left, counts)).values()
    assert max(found) - min(found) <= 1
    assert sum(found) == partitions
