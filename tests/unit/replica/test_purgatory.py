"""Operations wait for events and for time, are completed once, and leave nothing behind."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.ids import TopicPartition
from odradek.replica.purgatory import DelayedOperation, Purgatory

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


class Waits(DelayedOperation):
    """Until each of its keys is among the `happened`."""

    __slots__ = ("asked", "ends", "happened", "needs")

    def __init__(self, needs: Sequence[TopicPartition], happened: dict[TopicPartition, None]) -> None:
        super().__init__()
        self.needs = dict.fromkeys(needs)
        self.happened = happened
        self.asked = 0
        self.ends: list[str] = []

    def check(self, key: TopicPartition) -> bool:
        self.asked += 1
        if key in self.happened:
            self.needs.pop(key, None)
            if not self.needs:
                self.complete()
            return True
        return False

    def on_expire(self) -> None:
        self.ends.append("expired")

    def on_complete(self) -> None:
        self.ends.append("completed")


def test_completed_when_all_its_keys_have_happened() -> None:
    purgatory: Purgatory[Waits] = Purgatory()
    happened: dict[TopicPartition, None] = {}
    waits = Waits([A, B], happened)
    purgatory.watch(waits, [A, B], 100)
    purgatory.check(A)
    assert not waits.ends and len(purgatory) == 1
    happened[A] = None
    purgatory.check(A)
    happened[B] = None
    purgatory.check(B)
    assert waits.ends == ["completed"] and len(purgatory) == 0 and not purgatory.watched
    assert purgatory.deadline_ms is None and purgatory.expire(1_000) == 0


def test_expires_at_its_deadline_and_not_before() -> None:
    purgatory: Purgatory[Waits] = Purgatory()
    early, late = Waits([A], {}), Waits([A], {})
    purgatory.watch(late, [A], 200)
    purgatory.watch(early, [A], 100)
    assert purgatory.deadline_ms == 100
    assert purgatory.expire(99) == 0 and purgatory.expire(100) == 1
    assert early.ends == ["expired", "completed"] and not late.ends
    assert purgatory.deadline_ms == 200


def test_in_order_the_first_that_is_not_ready_ends_the_search() -> None:
    purgatory: Purgatory[Waits] = Purgatory(is_ordered=True)
    all_wait = [Waits([A], {}) for _ in range(1_000)]
    for waits in all_wait:
        purgatory.watch(waits, [A], 100)
    purgatory.check(A)
    assert [waits.asked for waits in all_wait[:3]] == [1, 0, 0]


def test_in_order_all_that_are_ready_are_completed() -> None:
    purgatory: Purgatory[Waits] = Purgatory(is_ordered=True)
    happened: dict[TopicPartition, None] = {A: None}
    ready, behind = [Waits([A], happened) for _ in range(50)], Waits([A], {})
    for waits in (*ready, behind):
        purgatory.watch(waits, [A], 100)
    purgatory.check(A)
    assert all(waits.ends == ["completed"] for waits in ready) and not behind.ends
    assert len(purgatory) == 1


def test_a_full_purgatory_lets_expire_at_once() -> None:
    purgatory: Purgatory[Waits] = Purgatory(max_operations=1)
    first, second = Waits([A], {}), Waits([A], {})
    purgatory.watch(first, [A], 100)
    purgatory.watch(second, [A], 100)
    assert not first.ends and second.ends == ["expired", "completed"]


def test_what_is_completed_leaves_no_deadlines_behind() -> None:
    purgatory: Purgatory[Waits] = Purgatory()
    for number in range(10_000):
        waits = Waits([A], {A: None})
        purgatory.watch(waits, [A], 1_000_000 + number)
        purgatory.check(A)
    assert len(purgatory._deadlines) < 100


@pytest.mark.parametrize("is_ordered", [False, True])
@given(steps=st.lists(st.tuples(st.sampled_from("wce"), st.integers(0, 3), st.integers(0, 50)), max_size=60))
def test_completed_once_whatever_happens(is_ordered: bool, steps: list[tuple[str, int, int]]) -> None:
    keys = [TopicPartition("t", number) for number in range(4)]
    purgatory: Purgatory[Waits] = Purgatory(is_ordered=is_ordered)
    happened: dict[TopicPartition, None] = {}
    everyone: list[Waits] = []
    for kind, number, time_ms in steps:
        if kind == "w":
            waits = Waits(keys[number : number + 2], happened)
            everyone.append(waits)
            purgatory.watch(waits, keys[number : number + 2], time_ms)
        elif kind == "c":
            happened[keys[number]] = None
            purgatory.check(keys[number])
        else:
            purgatory.expire(time_ms)
    purgatory.expire(1_000)
    assert all(waits.ends.count("completed") == 1 for waits in everyone)
    assert len(purgatory) == 0 and not purgatory.watched
