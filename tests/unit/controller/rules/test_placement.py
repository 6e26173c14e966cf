"""Placement over racks: spread, balance, and what cannot be placed."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.controller.rules.placement import InvalidReplicationFactor, StripedReplicaPlacer, UsableBroker


def place(brokers: list[UsableBroker], partitions: int, factor: int, seed: int = 0) -> list[list[int]]:
    return StripedReplicaPlacer(Random(seed)).place(partitions, factor, brokers)


def test_each_rack_has_a_replica_and_leaders_are_spread() -> None:
    brokers = [UsableBroker(number, f"r{number % 3}", fenced=False) for number in range(6)]
    placed = place(brokers, 600, 3)
    assert all(len({replica % 3 for replica in replicas}) == 3 for replicas in placed)
    leaders = Counter(replicas[0] for replicas in placed)
    assert max(leaders.values()) - min(leaders.values()) <= 60
    every = Counter(replica for replicas in placed for replica in replicas)
    assert max(every.values()) - min(every.values()) <= 60


@given(
    st.lists(st.tuples(st.sampled_from([None, "a", "b", "c"]), st.booleans()), min_size=1, max_size=9),
    st.integers(1, 9),
    st.integers(1, 20),
    st.integers(0, 1000),
)
def test_placements_are_sound(racks: list[tuple[str | None, bool]], factor: int, partitions: int, seed: int) -> None:
    brokers = [UsableBroker(number, rack, fenced) for number, (rack, fenced) in enumerate(racks)]
    fenced = {broker.id for broker in brokers if broker.fenced}
    if factor > len(brokers) or len(fenced) == len(brokers):
        with pytest.raises(InvalidReplicationFactor):
            place(brokers, partitions, factor, seed)
        return
    placed = place(brokers, partitions, factor, seed)
    assert len(placed) == partitions
    for replicas in placed:
        assert len(set(replicas)) == factor == len(replicas)
        assert replicas[0] not in fenced, "the preferred leader is never a fenced broker"


def test_the_same_seed_places_the_same() -> None:
    brokers = [UsableBroker(number, None, fenced=False) for number in range(5)]
    assert place(brokers, 50, 3, 7) == place(brokers, 50, 3, 7) != place(brokers, 50, 3, 8)


@pytest.mark.parametrize(("factor", "said"), [(0, "must be positive"), (3, "only 2 broker"), (1, "currently fenced")])
def test_what_cannot_be_placed(factor: int, said: str) -> None:
    brokers = [UsableBroker(number, None, fenced=factor == 1) for number in range(2)]
    with pytest.raises(InvalidReplicationFactor, match=said):
        place(brokers, 1, factor)
